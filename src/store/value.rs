//! Our values as columns, and back.

use chrono::{DateTime, Utc};
use rusqlite::Row;
use rusqlite::types::FromSql;
use url::Url;

use super::error::StoreError;
use crate::text::address::parse_near;

/// Where a value is in a row. By its name, which is looked for among those of all columns; or, where rows are read by the
/// thousand, by its place in a statement of [`columns`].
pub(super) trait Column: Copy {
    /// Its name.
    fn name(self) -> &'static str;
    /// Its place.
    fn place(self, row: &Row<'_>) -> rusqlite::Result<usize>;
}

impl Column for &'static str {
    fn name(self) -> &'static str {
        self
    }

    fn place(self, row: &Row<'_>) -> rusqlite::Result<usize> {
        row.as_ref().column_index(self)
    }
}

/// A statement that asks for some columns, and a name for the place of each. The statement is put together when this is
/// compiled, because it is asked thousands of times.
macro_rules! columns {
    ($(#[doc = $doc:literal])* $list:ident: $first:ident $(, $rest:ident)*; $of:literal) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)] // Named as in the schema.
        enum $list { $first $(, $rest)* }

        impl $list {
            const SELECT: &'static str =
                concat!("SELECT ", stringify!($first) $(, ", ", stringify!($rest))*, " ", $of);
        }

        impl $crate::store::value::Column for $list {
            fn name(self) -> &'static str {
                match self {
                    $list::$first => stringify!($first),
                    $($list::$rest => stringify!($rest),)*
                }
            }

            fn place(self, _: &rusqlite::Row<'_>) -> rusqlite::Result<usize> {
                Ok(self as usize)
            }
        }
    };
}
pub(super) use columns;

/// What is in a column.
pub(super) fn get<T: FromSql>(row: &Row<'_>, column: impl Column) -> rusqlite::Result<T> {
    row.get(column.place(row)?)
}

/// An instant as a column: microseconds. Nanoseconds are cut off, towards the past.
pub(super) fn micros(instant: DateTime<Utc>) -> i64 {
    instant.timestamp_micros()
}

/// The instant in a column.
pub(super) fn instant(row: &Row<'_>, column: impl Column) -> Result<DateTime<Utc>, StoreError> {
    some(optional_instant(row, column)?, column)
}

/// The instant in a column that may be empty.
pub(super) fn optional_instant(
    row: &Row<'_>,
    column: impl Column,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let micros: Option<i64> = get(row, column)?;
    (micros.map(|micros| some(DateTime::from_timestamp_micros(micros), column))).transpose()
}

/// The address in a column.
pub(super) fn url(row: &Row<'_>, column: impl Column) -> Result<Url, StoreError> {
    some(optional_url(row, column)?, column)
}

/// The address in a column that may be empty.
pub(super) fn optional_url(row: &Row<'_>, column: impl Column) -> Result<Option<Url>, StoreError> {
    parsed(row, column, |text| Url::parse(text).ok())
}

/// The same, with less work if it is at the same origin as `near`.
pub(super) fn url_near(row: &Row<'_>, column: impl Column, near: &Url) -> Result<Url, StoreError> {
    some(optional_url_near(row, column, near)?, column)
}

/// The same, with less work if it is at the same origin as `near`, as nearly all that is kept of a site is.
pub(super) fn optional_url_near(
    row: &Row<'_>,
    column: impl Column,
    near: &Url,
) -> Result<Option<Url>, StoreError> {
    parsed(row, column, |text| parse_near(text, near))
}

/// What a text in a column means, where there is one.
pub(super) fn parsed<T>(
    row: &Row<'_>,
    column: impl Column,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let text = row.get_ref(column.place(row)?)?.as_str_or_null();
    let text = text.map_err(|_| StoreError::Unreadable(column.name()))?;
    text.map(|text| some(parse(text), column)).transpose()
}

/// A number that cannot be negative.
pub(super) fn natural<T: TryFrom<i64>>(
    row: &Row<'_>,
    column: impl Column,
) -> Result<T, StoreError> {
    T::try_from(get(row, column)?).map_err(|_| StoreError::Unreadable(column.name()))
}

/// A number as a column; what no database can hold is as good as the largest that it can.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn some<T>(value: Option<T>, column: impl Column) -> Result<T, StoreError> {
    value.ok_or(StoreError::Unreadable(column.name()))
}
