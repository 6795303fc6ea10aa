//! The tables of the address guard: every range with its edges, every spelling, every form of hiding.

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn allowing(rules: &[&str]) -> Guard {
    Guard {
        allow: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
    }
}

fn is_refused(text: &str) -> bool {
    Guard::default().check_addr(ip(text), 80).is_err()
}

#[test]
fn the_edges_of_every_ipv4_range_are_refused_and_their_neighbours_are_not() {
    // range, neighbour below, first, last, neighbour above; "-" where the neighbour belongs to another range.
    let table = [
        ["-", "0.0.0.0", "0.255.255.255", "1.0.0.0"],
        ["9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
        [
            "100.63.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "100.128.0.0",
        ],
        [
            "126.255.255.255",
            "127.0.0.0",
            "127.255.255.255",
            "128.0.0.0",
        ],
        [
            "169.253.255.255",
            "169.254.0.0",
            "169.254.255.255",
            "169.255.0.0",
        ],
        [
            "172.15.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "172.32.0.0",
        ],
        ["191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
        ["192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
        [
            "192.88.98.255",
            "192.88.99.0",
            "192.88.99.255",
            "192.88.100.0",
        ],
        [
            "192.167.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "192.169.0.0",
        ],
        [
            "198.17.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.20.0.0",
        ],
        [
            "198.51.99.255",
            "198.51.100.0",
            "198.51.100.255",
            "198.51.101.0",
        ],
        [
            "203.0.112.255",
            "203.0.113.0",
            "203.0.113.255",
            "203.0.114.0",
        ],
        ["223.255.255.255", "224.0.0.0", "239.255.255.255", "-"],
        ["-", "240.0.0.0", "255.255.255.255", "-"],
    ];
    for [below, first, last, above] in table {
        assert!(
            is_refused(first) && is_refused(last),
            "{first} to {last} must be refused"
        );
        for neighbour in [below, above].into_iter().filter(|text| *text != "-") {
            assert!(!is_refused(neighbour), "{neighbour} is public");
        }
    }
}

#[test]
fn the_edges_of_every_ipv6_range_are_refused_and_public_neighbours_are_not() {
    let end = "ffff:ffff:ffff:ffff:ffff:ffff";
    let refused = [
        "::".to_owned(),
        "::1".to_owned(),
        "::2".to_owned(),
        format!("1fff:ffff:{end}"),
        "100::".to_owned(),
        "100::ffff:ffff:ffff:ffff".to_owned(),
        "100:0:0:1::".to_owned(),
        "2001::".to_owned(),
        format!("2001:1ff:{end}"),
        "2001:db8::".to_owned(),
        format!("2001:db8:{end}"),
        "2002::".to_owned(),
        format!("2002:ffff:{end}"),
        "3fff::".to_owned(),
        format!("3fff:fff:{end}"),
        "4000::".to_owned(),
        "5f00::".to_owned(),
        format!("5f00:ffff:{end}"),
        "fc00::".to_owned(),
        format!("fdff:ffff:{end}"),
        "fe80::".to_owned(),
        format!("febf:ffff:{end}"),
        "fec0::".to_owned(),
        format!("feff:ffff:{end}"),
        "ff00::".to_owned(),
        format!("ffff:ffff:{end}"),
        "64:ff9b:1::".to_owned(),
        format!("64:ff9b:1:{}", "ffff:ffff:ffff:ffff:ffff"),
        "64:ff9a::808:808".to_owned(),
        "64:ff9b::1:808:808".to_owned(),
    ];
    for text in &refused {
        assert!(is_refused(text), "{text} must be refused");
    }
    let public = [
        "2000::".to_owned(),
        format!("2000:ffff:{end}"),
        "2001:200::".to_owned(),
        format!("2001:db7:{end}"),
        "2001:db9::".to_owned(),
        format!("2001:ffff:{end}"),
        "2003::".to_owned(),
        format!("3ffe:ffff:{end}"),
        "3fff:1000::".to_owned(),
        format!("3fff:ffff:{end}"),
        "2606:4700::1111".to_owned(),
    ];
    for text in &public {
        assert!(!is_refused(text), "{text} is public");
    }
}

#[test]
fn an_ipv4_address_inside_of_an_ipv6_address_is_taken_out_and_judged() {
    // private, metadata service, public, in hexadecimal groups; and whether the form may carry a public address.
    let (private, metadata, public) = ("a00:1", "a9fe:a9fe", "808:808");
    let forms: [(&str, &str, bool); 9] = [
        ("mapped", "::ffff:{}", true),
        ("compatible", "::{}", false),
        ("NAT64", "64:ff9b::{}", true),
        ("local NAT64", "64:ff9b:1::{}", false),
        ("6to4", "2002:{}::1", false),
        ("Teredo", "2001:0:4136:e378:8000:63bf:{}", false),
        ("ISATAP", "2606:4700::5efe:{}", true),
        ("ISATAP, universal bit", "2606:4700::200:5efe:{}", true),
        ("ISATAP, link-local", "fe80::5efe:{}", false),
    ];
    for (name, form, may_be_public) in forms {
        assert!(
            is_refused(&form.replace("{}", private)),
            "{name} with a private address"
        );
        assert!(
            is_refused(&form.replace("{}", metadata)),
            "{name} with the metadata service"
        );
        assert_eq!(
            is_refused(&form.replace("{}", public)),
            !may_be_public,
            "{name} with a public address"
        );
    }
}

#[test]
fn odd_spellings_of_loopback_are_all_refused() {
    let table = [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "0x7F.0.0.1",
        "①②⑦.⓪.⓪.①",
        "%31%32%37.0.0.1",
        "127.0.0.1.",
        "127。0。0。1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "0",
        "0.0.0.0",
        "[::]",
        "LOCALHOST",
        "localhost.",
        "ⓛocalhost",
        "loc%61lhost",
        "127.0.0.1:80",
        "[::1]:8080",
        "169.254.169.254",
    ];
    for host in table {
        let url = url(&format!("http://{host}/"));
        assert!(
            Guard::default().check_url(&url).is_err(),
            "{host} became {url} and was let through"
        );
    }
}

#[test]
fn zone_identifiers_do_not_even_parse() {
    for text in [
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1%25lo]/",
    ] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}

#[test]
fn text_that_parsers_disagree_about_is_judged_by_where_it_would_go() {
    for text in [
        "http://127.0.0.1\\@example.org/",
        "http:\\\\127.0.0.1/",
        "http://example.org@127.0.0.1/",
        "http://example.org:80@127.0.0.1:80/",
        "http:127.0.0.1/",
        "http:/127.0.0.1/",
        "ht\ntp://127.0.0.1/",
        "http://127.0.\t0.1/",
        " http://127.0.0.1/ ",
    ] {
        match Url::parse(text) {
            Ok(url) => assert!(
                Guard::default().check_url(&url).is_err(),
                "{text:?} became {url}"
            ),
            Err(_) => continue,
        }
    }
}

#[test]
fn names_for_use_inside_one_network_are_refused() {
    for host in [
        "localhost",
        "a.localhost",
        "printer.local",
        "db.internal",
        "metadata.google.internal",
        "x.onion",
        "intranet",
        "router",
        "localhost.",
        "a.localhost.",
        "printer.local.",
        "db.internal.",
        "x.onion.",
        "intranet.",
        "Db.Internal",
    ] {
        let refusal = Guard::default()
            .check_url(&url(&format!("http://{host}/")))
            .unwrap_err();
        assert!(
            matches!(refusal, Refusal::LocalName { .. }),
            "{host}: {refusal}"
        );
    }
    for host in [
        "example.org",
        "example.org.",
        "local.example.org",
        "localhost.example.org",
        "xn--bcher-kva.example",
    ] {
        assert_eq!(
            Guard::default().check_url(&url(&format!("https://{host}/"))),
            Ok(()),
            "{host}"
        );
    }
}

#[test]
fn a_local_name_is_let_through_only_to_allowed_networks() {
    let guard = allowing(&["127.0.0.0/8:8080"]);
    assert_eq!(guard.check_url(&url("http://localhost:8080/")), Ok(()));
    assert_eq!(
        guard.check_resolved("localhost", ip("127.0.0.1"), 8080),
        Ok(())
    );
    for (address, port) in [
        ("127.0.0.1", 8081),
        ("8.8.8.8", 8080),
        ("::1", 8080),
        ("10.0.0.1", 8080),
    ] {
        assert!(
            guard
                .check_resolved("localhost", ip(address), port)
                .is_err(),
            "{address}:{port}"
        );
    }
    assert!(
        guard.check_url(&url("http://x.onion:8080/")).is_err(),
        "onion names never reach the resolver"
    );
}

#[test]
fn only_the_ports_of_websites_are_read() {
    for port in [80, 443, 1024, 3000, 8000, 8080, 8443, 9000, 49152, 65535] {
        assert!(is_web_port(port), "{port}");
    }
    for port in [
        0, 1, 21, 22, 23, 25, 53, 79, 81, 110, 442, 444, 445, 1023, 3306, 5432, 6379, 6667, 9200,
        11211, 27017,
    ] {
        assert!(!is_web_port(port), "{port}");
        for host in ["8.8.8.8", "[2606:4700::1]", "example.org"] {
            let refusal = Guard::default()
                .check_url(&url(&format!("http://{host}:{port}/")))
                .unwrap_err();
            assert!(
                matches!(refusal, Refusal::Port { .. }),
                "{host}:{port}: {refusal}"
            );
        }
    }
    assert!(
        BLOCKED_PORTS.is_sorted(),
        "the list is kept in order, so that people find their port"
    );
}

#[test]
fn schemes_credentials_and_missing_hosts_are_refused() {
    let refusal = |text: &str| Guard::default().check_url(&url(text)).unwrap_err();
    for text in [
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "data:,x",
        "javascript:1",
        "ws://a.b/",
    ] {
        assert!(matches!(refusal(text), Refusal::Scheme { .. }), "{text}");
    }
    for text in [
        "http://u:p@example.org/",
        "http://u@example.org/",
        "https://:p@example.org/",
        "http://a@b@example.org/",
    ] {
        let refusal = refusal(text);
        assert_eq!(
            refusal,
            Refusal::Credentials {
                host: "example.org".into()
            },
            "{text}"
        );
        assert!(!refusal.to_string().contains("u:p"));
    }
}

#[test]
fn an_allowed_port_opens_itself_and_not_its_neighbour() {
    let guard = allowing(&["127.0.0.0/8:8080", "10.0.0.0/8", "[::1]/128:9200"]);
    for (address, port) in [
        ("127.0.0.1", 8080),
        ("127.255.0.9", 8080),
        ("10.1.2.3", 80),
        ("10.1.2.3", 6379),
        ("::1", 9200),
    ] {
        assert_eq!(
            guard.check_addr(ip(address), port),
            Ok(()),
            "{address}:{port}"
        );
    }
    for (address, port) in [
        ("127.0.0.1", 8081),
        ("127.0.0.1", 80),
        ("11.0.0.1", 6379),
        ("::1", 9201),
        ("::2", 9200),
    ] {
        assert!(
            guard.check_addr(ip(address), port).is_err(),
            "{address}:{port}"
        );
    }
    // A rule opens a blocked port for the addresses it names, and for no public one.
    assert_eq!(guard.check_url(&url("http://example.org:6379/")), Ok(()));
    assert!(matches!(
        guard.check_resolved("example.org", ip("8.8.8.8"), 6379),
        Err(Refusal::Port { .. })
    ));
    assert_eq!(
        guard.check_resolved("example.org", ip("10.0.0.1"), 6379),
        Ok(())
    );
}

#[test]
fn a_refusal_of_a_name_does_not_tell_the_address_behind_it() {
    let refusal = Guard::default()
        .check_resolved("example.org", ip("10.1.2.3"), 80)
        .unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "example.org leads to an address that is not on the public internet"
    );
}

#[test]
fn networks_are_read_with_and_without_prefix_and_port() {
    let table = [
        ("127.0.0.0/8:8080", "127.0.0.0/8:8080"),
        ("127.0.0.1:8080", "127.0.0.1/32:8080"),
        ("127.0.0.1", "127.0.0.1/32"),
        ("127.0.0.1/8", "127.0.0.0/8"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("[::1]/128:8080", "[::1]/128:8080"),
        ("[::1]:8080", "[::1]/128:8080"),
        ("[::1]", "::1/128"),
        ("::1/128", "::1/128"),
        ("::1/128:8080", "[::1]/128:8080"),
        ("::1", "::1/128"),
        ("fd00::/8", "fd00::/8"),
        (" 10.0.0.0/8 ", "10.0.0.0/8"),
    ];
    for (text, shown) in table {
        assert_eq!(text.parse::<AllowNet>().unwrap().to_string(), shown);
    }
}

#[test]
fn what_is_not_a_network_gets_a_clear_sentence() {
    for text in [
        "",
        "localhost",
        "127.0.0.1:",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:+80",
        "127.0.0.1/33",
        "127.0.0.1/",
        "127.0.0.1/+8",
        "10/8",
        "[::1",
        "[127.0.0.1]:80",
        "::1/129",
        "127.0.0.1x",
        "127.0.0.1:80:80",
        "*",
    ] {
        let error = text.parse::<AllowNet>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{text}` is not a network")),
            "{error}"
        );
    }
}
