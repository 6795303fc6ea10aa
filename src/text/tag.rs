//! Who mints a tag URI (RFC 4151): the name of a host, written as such an id allows.

use url::{Host, Url};

/// The authority of the ids that are minted for an address. RFC 4151 knows letters, digits, and hyphens between them;
/// names of hosts have more in practice. Two hosts may become one by this, so an id needs something else that tells them
/// apart.
pub fn authority(url: &Url) -> String {
    let host = match url.host() {
        // Brackets and colons are not allowed there.
        Some(Host::Ipv6(address)) => format!("{:032x}.ip6", address.to_bits()),
        Some(host) => host.to_string(),
        None => String::new(),
    };
    let labels = host.split('.').map(|label| {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let label: String = label.chars().map(allowed).collect();
        label.trim_matches('-').to_owned()
    });
    let labels: Vec<String> = labels.filter(|label| !label.is_empty()).collect();
    match labels.is_empty() {
        true => "localhost".to_owned(),
        false => labels.join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_has_letters_digits_and_hyphens_between_them() {
        for (address, expected) in [
            ("https://den.example/", "den.example"),
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
            ("https://my_den.example/", "my-den.example"),
            ("https://_den-.example./", "den.example"),
            ("https://a~!b.example/", "a--b.example"),
            ("http://127.0.0.1:8080/", "127.0.0.1"),
            ("http://[::1]/", "00000000000000000000000000000001.ip6"),
            ("https://__/", "localhost"),
            ("data:text/plain,a", "localhost"),
        ] {
            assert_eq!(authority(&address.parse().unwrap()), expected);
        }
    }
}
