//! Checksums of pages as numbers. They are in the store, so they never change.
//!
//! A site may tell the checksums of a page by several algorithms, in any order, and another one some day. One of them is
//! remembered, the one by the strongest algorithm; a page is as it was if that is among those that are told now.

use super::short_hash;

/// From the weakest to the strongest. What has another name is weaker than all of them.
const ALGORITHMS: [&str; 6] = ["md5", "sha-1", "sha256", "sha-256", "sha-384", "sha-512"];

/// The checksum that is remembered of all that a text tells. Never 0, which means that there is none.
pub(super) fn sum_of(text: &str) -> u32 {
    // Nearly all are written so. All bytes are looked at, several at once, which takes less than to stop at the first odd one.
    let is_odd = |byte: u8| byte.is_ascii_whitespace() | byte.is_ascii_uppercase();
    if !text.bytes().fold(false, |any, byte| any | is_odd(byte)) {
        return number_of(text);
    }
    let strongest = sums(text).max_by_key(|sum| (strength_of(sum), sum.clone()));
    strongest.map_or_else(|| number_of(text), |sum| number_of(&sum))
}

/// All checksums that a text tells, and the whole text as one, which is what earlier versions remembered.
pub(super) fn all_sums_of(text: &str) -> Box<[u32]> {
    let sums = sums(text).map(|sum| number_of(&sum));
    sums.chain([number_of(text)]).collect()
}

fn number_of(sum: &str) -> u32 {
    short_hash(sum) | 1
}

/// The checksums of a list such as `md5:… sha-256:…`, each written in one way. None if it is no such list.
fn sums(text: &str) -> impl Iterator<Item = String> {
    let is_list = text.split_ascii_whitespace().all(|sum| sum.contains(':'));
    let list = if is_list { text } else { "" };
    list.split_ascii_whitespace().map(in_one_way)
}

/// In hexadecimal digits case means nothing, and in any other writing much.
fn in_one_way(sum: &str) -> String {
    let (algorithm, digest) = sum.split_once(':').unwrap_or((sum, ""));
    let algorithm = algorithm.to_ascii_lowercase();
    match digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => format!("{algorithm}:{}", digest.to_ascii_lowercase()),
        false => format!("{algorithm}:{digest}"),
    }
}

fn strength_of(sum: &str) -> Option<usize> {
    let (algorithm, _) = sum.split_once(':')?;
    ALGORITHMS.iter().position(|known| *known == algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_of_several_is_remembered_in_whatever_order_they_come() {
        let strongest = sum_of("sha-256:22");
        for text in [
            "sha-256:22 md5:11",
            "MD5:11\tSHA-256:22",
            " crc:zz sha-256:22 ",
        ] {
            assert_eq!(sum_of(text), strongest, "{text}");
            assert!(all_sums_of(text).contains(&strongest));
        }
        assert_eq!(sum_of("a:1 b:2"), sum_of("b:2 a:1"));
    }

    #[test]
    fn what_is_remembered_of_a_single_one_is_what_ever_was() {
        for text in ["md5:1e0d5cb8", "1", "v1.2", "0d:x"] {
            assert_eq!(sum_of(text), short_hash(text) | 1, "{text}");
        }
        for text in ["Zm94", "a b", "", "sha-256:Zm94 md5:11"] {
            assert!(
                all_sums_of(text).contains(&(short_hash(text) | 1)),
                "{text}"
            );
            assert_ne!(sum_of(text), 0);
        }
    }
}
