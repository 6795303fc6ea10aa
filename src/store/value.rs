//! Our values as columns, and back.

use chrono::{DateTime, Utc};
use rusqlite::Row;
use url::Url;

use super::error::StoreError;

/// An instant as a column: microseconds. Nanoseconds are cut off, towards the past.
pub(super) fn micros(instant: DateTime<Utc>) -> i64 {
    instant.timestamp_micros()
}

/// The instant in a column.
pub(super) fn instant(row: &Row<'_>, column: &'static str) -> Result<DateTime<Utc>, StoreError> {
    some(optional_instant(row, column)?, column)
}

/// The instant in a column that may be empty.
pub(super) fn optional_instant(
    row: &Row<'_>,
    column: &'static str,
) -> Result<Option<DateTime<Utc>>, StoreError> {
    let micros: Option<i64> = row.get(column)?;
    (micros.map(|micros| some(DateTime::from_timestamp_micros(micros), column))).transpose()
}

/// The address in a column.
pub(super) fn url(row: &Row<'_>, column: &'static str) -> Result<Url, StoreError> {
    some(optional_url(row, column)?, column)
}

/// The address in a column that may be empty.
pub(super) fn optional_url(row: &Row<'_>, column: &'static str) -> Result<Option<Url>, StoreError> {
    parsed(row, column, |text| Url::parse(text).ok())
}

/// What a text in a column means, where there is one.
pub(super) fn parsed<T>(
    row: &Row<'_>,
    column: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let text = row.get_ref(column)?.as_str_or_null();
    let text = text.map_err(|_| StoreError::Unreadable(column))?;
    text.map(|text| some(parse(text), column)).transpose()
}

/// A number that cannot be negative.
pub(super) fn natural<T: TryFrom<i64>>(
    row: &Row<'_>,
    column: &'static str,
) -> Result<T, StoreError> {
    T::try_from(row.get(column)?).map_err(|_| StoreError::Unreadable(column))
}

/// A number as a column; what no database can hold is as good as the largest that it can.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn some<T>(value: Option<T>, column: &'static str) -> Result<T, StoreError> {
    value.ok_or(StoreError::Unreadable(column))
}
