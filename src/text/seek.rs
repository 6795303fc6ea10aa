//! The first of a few bytes, in text where it is mostly near: a search that is made for long distances takes longer to
//! begin than these take to end.

use memchr::{memchr, memchr2, memchr3};

/// So many times eight bytes are near.
const STEPS: usize = 4;

/// Where this byte is first.
#[inline]
pub fn first_of_one(bytes: &[u8], byte: u8) -> Option<usize> {
    let far = |far: usize| Some(far + memchr(byte, &bytes[far..])?);
    near(bytes, [byte]).map_or_else(far, Some)
}

/// Where one of these is first.
#[inline]
pub fn first_of_two(bytes: &[u8], [one, two]: [u8; 2]) -> Option<usize> {
    let far = |far: usize| Some(far + memchr2(one, two, &bytes[far..])?);
    near(bytes, [one, two]).map_or_else(far, Some)
}

/// Where one of these is first.
#[inline]
pub fn first_of_three(bytes: &[u8], [one, two, three]: [u8; 3]) -> Option<usize> {
    let far = |far: usize| Some(far + memchr3(one, two, three, &bytes[far..])?);
    near(bytes, [one, two, three]).map_or_else(far, Some)
}

/// Where one of these is first, or how far none of them is.
#[inline]
fn near<const N: usize>(bytes: &[u8], wanted: [u8; N]) -> Result<usize, usize> {
    let wanted = wanted.map(|byte| u64::from_le_bytes([byte; 8]));
    let (chunks, _) = bytes.as_chunks::<8>();
    let chunks = &chunks[..chunks.len().min(STEPS)];
    for (number, chunk) in chunks.iter().enumerate() {
        let chunk = u64::from_le_bytes(*chunk);
        let found = (wanted.iter()).fold(0, |found, byte| found | zeros(chunk ^ byte));
        if found != 0 {
            return Ok(8 * number + found.trailing_zeros() as usize / 8);
        }
    }
    Err(8 * chunks.len())
}

/// The highest bit of every byte that is zero; a byte behind one of these may be marked, too.
#[inline]
fn zeros(bytes: u64) -> u64 {
    bytes.wrapping_sub(u64::from_le_bytes([1; 8])) & !bytes & u64::from_le_bytes([0x80; 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_one_is_found_wherever_it_is(
            bytes in prop::collection::vec(prop::sample::select(b"aaaaaaaa`b\x00\x80\xff".to_vec()), 0..80),
            wanted in prop::sample::subsequence(b"`ab\x00\x80\xffc".to_vec(), 3),
        ) {
            let first = |of: &[u8]| bytes.iter().position(|byte| of.contains(byte));
            let [one, two, three] = [wanted[0], wanted[1], wanted[2]];
            prop_assert_eq!(first_of_one(&bytes, one), first(&[one]));
            prop_assert_eq!(first_of_two(&bytes, [one, two]), first(&[one, two]));
            prop_assert_eq!(first_of_three(&bytes, [one, two, three]), first(&[one, two, three]));
        }
    }
}
