//! JSON from strangers: what nobody wants is passed over while it is read, and is never in memory.
//!
//! A text has to be in memory before anybody can say whether it is wanted, so none may be longer than [`MAX_TEXT_BYTES`].

use std::borrow::Cow;
use std::fmt;
use std::io::{self, ErrorKind, Read};

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// The longest text, as it is written: as long as anything may be in XML.
pub const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// A value of which only what is plain is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Plain<'a> {
    /// `null`, or not there at all.
    #[default]
    Nothing,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text, which need not be copied where it stands in memory as it is meant.
    Text(Cow<'a, str>),
    /// A list or an object, whatever is in it.
    Other,
}

impl Plain<'_> {
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Plain::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Plain<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let mut value = Plain::Nothing;
        To(&mut value).deserialize(source)?;
        Ok(value)
    }
}

impl<'de> Take<'de> for Plain<'de> {
    fn plain(&mut self, value: Plain<'de>) {
        *self = value;
    }

    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        *self = Plain::Other;
        pass_over_list(values)
    }

    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        *self = Plain::Other;
        pass_over_object(members)
    }
}

/// Takes a value as it comes. What it does not ask for is passed over.
pub trait Take<'de> {
    /// The value is a plain one.
    fn plain(&mut self, _value: Plain<'de>) {}

    /// The value is a list.
    fn list<A: SeqAccess<'de>>(&mut self, values: &mut A) -> Result<(), A::Error> {
        pass_over_list(values)
    }

    /// The value is an object.
    fn object<A: MapAccess<'de>>(&mut self, members: &mut A) -> Result<(), A::Error> {
        pass_over_object(members)
    }
}

/// Takes nothing of a list.
pub fn pass_over_list<'de, A: SeqAccess<'de>>(values: &mut A) -> Result<(), A::Error> {
    while values.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Takes nothing of an object.
pub fn pass_over_object<'de, A: MapAccess<'de>>(members: &mut A) -> Result<(), A::Error> {
    while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// The next value goes into this.
pub struct To<'t, T>(pub &'t mut T);

impl<'de, T: Take<'de>> DeserializeSeed<'de> for To<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de, T: Take<'de>> Visitor<'de> for To<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.plain(Plain::Nothing);
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.0.plain(Plain::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.0.plain(Plain::Number(number));
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.0.plain(Plain::Text(Cow::Borrowed(text)));
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<(), E> {
        self.0.plain(Plain::Text(Cow::Owned(text)));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        self.0.list(&mut values)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.0.object(&mut members)
    }
}

/// JSON on its way to a parser, which breaks off at a text that is too long.
pub struct ShortTexts<R> {
    source: R,
    /// How long the text is so far, within one.
    length: Option<usize>,
    is_escaped: bool,
}

impl<R> ShortTexts<R> {
    /// From its first byte.
    pub fn new(source: R) -> Self {
        ShortTexts {
            source,
            length: None,
            is_escaped: false,
        }
    }

    fn see(&mut self, byte: u8) -> io::Result<()> {
        let Some(length) = self.length else {
            self.length = (byte == b'"').then_some(0);
            return Ok(());
        };
        let ends = byte == b'"' && !self.is_escaped;
        self.is_escaped = byte == b'\\' && !self.is_escaped;
        self.length = (!ends).then_some(length + 1);
        if self.length > Some(MAX_TEXT_BYTES) {
            let message =
                format!("a text is longer than {MAX_TEXT_BYTES} bytes, the most that is read here");
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(())
    }
}

impl<R: Read> Read for ShortTexts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        (buffer[..count].iter()).try_for_each(|byte| self.see(*byte))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_value_only_what_is_plain_is_kept() {
        let text = r#"[null, true, 2, -2, 0.5, "a", "\u0061", [1, {}], {"a": [2]}]"#;
        let all: Vec<Plain<'_>> = serde_json::from_str(text).unwrap();
        let texts = [Plain::Text("a".into()), Plain::Text("a".into())];
        let numbers = [2.0, -2.0, 0.5].map(Plain::Number);
        let wanted = [
            &[Plain::Nothing, Plain::Bool(true)],
            &numbers[..],
            &texts,
            &[Plain::Other, Plain::Other],
        ];
        assert_eq!(all, wanted.concat());
    }

    #[test]
    fn a_text_that_is_too_long_ends_the_document() {
        let longest = "\\\"".repeat(MAX_TEXT_BYTES / 2);
        let read = |text: String| {
            let mut all = String::new();
            let read = ShortTexts::new(text.as_bytes()).read_to_string(&mut all);
            read.map_err(|error| error.kind())
        };
        assert!(read(format!("[\"{longest}\", \"{longest}\"]")).is_ok());
        assert!(read(format!("[{}]", " ".repeat(2 * MAX_TEXT_BYTES))).is_ok());
        for text in [
            format!("\"{longest}a\""),
            format!("{{\"a\": \"{longest}\\n"),
        ] {
            assert_eq!(read(text), Err(ErrorKind::FileTooLarge));
        }
    }
}
