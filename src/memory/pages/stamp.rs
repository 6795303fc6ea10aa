//! When a page was last modified, in eight bytes.

use crate::moment::Moment;

/// When a page was last modified: seconds, milliseconds and form. Numbers and moments have one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stamp(pub i64);

impl Stamp {
    /// Nobody knows when.
    pub const NONE: Stamp = Stamp(i64::MIN);

    /// The stamp of a moment; milliseconds are precise enough.
    pub fn of(moment: Option<Moment>) -> Stamp {
        let Some(moment) = moment else {
            return Stamp::NONE;
        };
        let (seconds, form) = moment.to_parts();
        let millis = (form >> 15) / 1_000_000;
        // Fractions finer than that would be shown with zeros.
        let rank = (form & 0xF).min(7);
        let form = (form & 0x7FF0) | rank;
        Stamp(seconds << 25 | (millis << 15 | form).cast_signed())
    }

    /// The moment, if there is one.
    pub fn moment(self) -> Option<Moment> {
        if self == Stamp::NONE {
            return None;
        }
        let bits = (self.0 & 0x1FF_FFFF).cast_unsigned();
        let nanos = (bits >> 15) * 1_000_000;
        Moment::from_parts(self.0 >> 25, nanos << 15 | (bits & 0x7FFF))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stamp_is_the_moment_that_it_came_from() {
        for text in [
            "2026",
            "2026-01",
            "2026-01-02",
            "2026-01-02T03:04Z",
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.250Z",
            "2026-01-02T03:04:05-11:30",
            "0001-01-01",
            "9999-12-31T23:59:59.999+14:00",
        ] {
            let moment = Moment::parse(text).unwrap();
            assert_eq!(Stamp::of(Some(moment)).moment(), Some(moment), "{text}");
        }
        let fine = Moment::parse("2026-01-02T03:04:05.1234567Z").unwrap();
        assert_eq!(
            Stamp::of(Some(fine)).moment().unwrap().to_string(),
            "2026-01-02T03:04:05.123Z"
        );
        assert_eq!(Stamp::of(None).moment(), None);
    }

    proptest! {
        #[test]
        fn later_stamps_are_greater(one in -60_000_000_000_i64..250_000_000_000, other in -60_000_000_000_i64..250_000_000_000) {
            let stamp = |seconds| Stamp::of(Moment::from_parts(seconds, 4));
            prop_assert_eq!(one.cmp(&other), stamp(one).cmp(&stamp(other)));
        }
    }
}
