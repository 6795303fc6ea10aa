//! Documents of every kind, made up for the properties.
//!
//! Only what a careful author could mean: addresses as [`url::Url`] writes them, spans that do not end before they
//! begin. What authors should not write is in `tests/data` and in the mutations of `properties`.

use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use sitebell::change::{ChangeKind, Details, Link};
use sitebell::moment::Moment;
use sitebell::read::resourcesync::{Capability, Document, Entry};
use url::Url;

/// Any document with up to `entries` entries.
pub fn any_document(entries: usize) -> impl Strategy<Value = Document> {
    (any_kind(), any::<bool>())
        .prop_flat_map(move |(capability, is_index)| {
            let entry = any_entry(capability.clone(), is_index);
            (
                Just(capability),
                Just(is_index),
                any_span(),
                any_span(),
                prop::collection::vec(any_link(), 0..4),
                prop::collection::vec(entry, 0..=entries),
            )
        })
        .prop_map(
            |(capability, is_index, span, snapshot, links, entries)| Document {
                capability,
                is_index,
                from: span.0,
                until: span.1,
                at: snapshot.0,
                completed: snapshot.1,
                links,
                entries,
            },
        )
}

/// A Change List whose entries are all changes.
pub fn any_change_list() -> impl Strategy<Value = Document> {
    let entries = prop::collection::vec(any_change(), 0..8);
    (any_span(), entries).prop_map(|(span, entries)| Document {
        capability: Capability::ChangeList,
        from: span.0,
        until: span.1,
        entries,
        ..Document::default()
    })
}

fn any_kind() -> impl Strategy<Value = Capability> {
    let other = [
        "resourcedump",
        "changedump-manifest",
        "resourcelist-archive",
        "a \"b\" <c>",
    ];
    prop_oneof![
        3 => Just(Capability::ChangeList),
        1 => Just(Capability::Description),
        1 => Just(Capability::CapabilityList),
        1 => Just(Capability::ResourceList),
        1 => Just(Capability::ChangeListArchive),
        1 => Just(Capability::ChangeNotification),
        1 => select(other.to_vec()).prop_map(|name| Capability::Other(name.to_owned())),
    ]
}

fn any_entry(of_kind: Capability, is_index: bool) -> BoxedStrategy<Entry> {
    match of_kind {
        Capability::ChangeList if !is_index => {
            // An index may be written as a list by mistake, and its entries are then told apart.
            let child = any_child().prop_map(|mut entry| {
                entry.capability = Some(Capability::ChangeList);
                entry
            });
            prop_oneof![5 => any_change(), 1 => child].boxed()
        }
        _ => prop_oneof![any_child(), any_change()].boxed(),
    }
}

fn any_change() -> impl Strategy<Value = Entry> {
    let kind = select(&[
        ChangeKind::Created,
        ChangeKind::Updated,
        ChangeKind::Deleted,
    ]);
    let path = of("/[a-z]{1,8}");
    (
        any_address(),
        kind,
        any_moment(),
        of(any_moment()),
        path,
        any_details(),
    )
        .prop_map(|(loc, kind, datetime, lastmod, path, details)| Entry {
            loc,
            lastmod,
            change: Some(kind),
            datetime: Some(datetime),
            path,
            details,
            ..Entry::default()
        })
}

fn any_child() -> impl Strategy<Value = Entry> {
    (
        any_address(),
        of(any_kind()),
        any_span(),
        any_span(),
        any_details(),
    )
        .prop_map(|(loc, capability, span, snapshot, details)| Entry {
            loc,
            capability,
            from: span.0,
            until: span.1,
            at: snapshot.0,
            completed: snapshot.1,
            details,
            ..Entry::default()
        })
}

fn any_details() -> impl Strategy<Value = Details> {
    let links = prop::collection::vec(any_link(), 0..3);
    (
        of(any::<u64>()),
        of(any_text()),
        of(any_text()),
        of(any_text()),
        of(any_note()),
        links,
    )
        .prop_map(
            |(length, media_type, encoding, hash, note, links)| Details {
                length,
                media_type,
                encoding,
                hash,
                note,
                links,
            },
        )
}

/// Words as an author writes them: on one line, with anything in it that means something in XML.
fn any_note() -> impl Strategy<Value = String> {
    "[a-zé<&>\"'\\]]{1,9}( [a-z狐]{1,5}){0,3}"
}

fn any_link() -> impl Strategy<Value = Link> {
    let relations = [
        "up",
        "index",
        "describes",
        "describedby",
        "duplicate",
        "memento",
        "hub",
        "http://www.openarchives.org/rs/terms/patch",
        "urn:X-Unheard-Of:Ü",
    ];
    let about = (
        of(any::<u64>()),
        of(any_text()),
        of(any_text()),
        of(any_text()),
    );
    (
        select(relations.to_vec()),
        any_address(),
        of(1..=999_999u32),
        of(any_moment()),
        about,
    )
        .prop_map(
            |(rel, href, pri, modified, (length, media_type, encoding, hash))| Link {
                rel: rel.to_owned(),
                href,
                pri,
                modified,
                length,
                media_type,
                encoding,
                hash,
            },
        )
}

/// Text that XML can carry, without white space at its ends.
fn any_text() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        3 => r#"[a-zA-Z0-9:/;=+ .&<>"'\[\]-]{1,20}"#,
        1 => "[\\PC\n\t]{1,8}",
    ];
    text.prop_map(|text| text.trim().to_owned())
        .prop_filter("something must be left", |text| {
            !text.is_empty() && !text.contains(['\u{FFFE}', '\u{FFFF}'])
        })
}

fn any_address() -> impl Strategy<Value = String> {
    let plain = r"https?://[a-z]{1,8}\.example/[a-zA-Z0-9/._~-]{0,20}(\?[a-z0-9=&;%+]{0,12})?(#[a-z]{0,3})?";
    let odd = r"https?://[a-zäß]{1,8}\.example(:8080)?/[\PC]{0,12}";
    prop_oneof![4 => plain, 1 => odd].prop_filter_map("not an address", |text| {
        let url = Url::parse(&text).ok()?;
        (url.username().is_empty() && url.password().is_none()).then(|| url.to_string())
    })
}

/// A beginning and an end, of which either may be missing.
fn any_span() -> impl Strategy<Value = (Option<Moment>, Option<Moment>)> {
    (of(any_moment()), of(any_moment())).prop_map(|span| match span {
        (Some(from), Some(until)) if until.comes_before(&from) => (Some(until), Some(from)),
        span => span,
    })
}

pub fn any_moment() -> impl Strategy<Value = Moment> {
    let zone = prop_oneof![Just("Z".to_owned()), "[+-](0[0-9]|1[0-3]):[0-5][0-9]"];
    let date = (1..=9999u32, 1..=12u32, 1..=28u32);
    let time = (0..24u32, 0..60u32, 0..60u32, "[0-9]{1,9}");
    (0..6u8, date, time, zone).prop_map(|(precision, date, time, zone)| {
        let ((year, month, day), (hour, minute, second, fraction)) = (date, time);
        let text = match precision {
            0 => format!("{year:04}"),
            1 => format!("{year:04}-{month:02}"),
            2 => format!("{year:04}-{month:02}-{day:02}"),
            3 => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}{zone}"),
            4 => format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"),
            _ => format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction}{zone}"
            ),
        };
        Moment::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    })
}
