//! What a sitemap says about SCP files: sections, snapshots and deltas.

use url::Url;

use crate::moment::Moment;
use crate::problem::Code;
use crate::read::address;
use crate::read::list::{List, Offer, Section, Sink, read_lastmod};
use crate::read::xml::Tag;
use crate::site::Format;
use crate::text::quote;

/// Of the elements in a sitemap that announce SCP.
pub const NAMESPACE: &str = "https://scp-protocol.org/schemas/sitemap/1.0";
/// The section that holds all others, where there are any.
const ALL: &str = "all";
/// A section has a name and a feed of its own; nobody wants thousands.
const MAX_SECTIONS: usize = 100;
/// Deltas of one section.
const MAX_OFFERS: usize = 1_000;

/// Takes one element.
pub fn announce(tag: &Tag<'_>, list: &mut List, sink: &mut Sink<'_>) {
    let value = |wanted: &str| {
        let mut attributes = tag.plain_attributes();
        attributes.find_map(|(name, value)| (name == wanted).then(|| value.trim().to_owned()))
    };
    let name = match tag.name() {
        "section" => value("name"),
        "collection" | "delta" => value("section"),
        _ => return,
    };
    let is_name = |name: &String| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    let Some(name) = name.filter(is_name) else {
        return sink.note(Code::ScpAnnouncement, 1, || {
            format!("<{}> names no section", tag.name())
        });
    };
    let Some(section) = section(list, &name) else {
        return;
    };
    let offers = match tag.name() {
        "collection" => &mut section.snapshots,
        "delta" => &mut section.deltas,
        _ => return,
    };
    match offer(&value, sink.url) {
        Some(offer) if tag.name() == "collection" || offer.since.is_some() => {
            if offers.len() < MAX_OFFERS {
                offers.push(offer);
            }
        }
        _ => sink.note(Code::ScpAnnouncement, 1, || {
            format!(
                "a <{}> of the section {} lacks what is needed to read it",
                tag.name(),
                quote(&name)
            )
        }),
    }
}

fn section<'a>(list: &'a mut List, name: &str) -> Option<&'a mut Section> {
    let place = match list
        .sections
        .iter()
        .position(|section| section.name == name)
    {
        Some(place) => place,
        None if list.sections.len() == MAX_SECTIONS => return None,
        None => {
            list.sections.push(Section {
                format: Format::Scp,
                name: name.to_owned(),
                has_all: name == ALL,
                snapshots: Vec::new(),
                deltas: Vec::new(),
            });
            list.sections.len() - 1
        }
    };
    list.sections.get_mut(place)
}

fn offer(value: &dyn Fn(&str) -> Option<String>, base: &Url) -> Option<Offer> {
    let time = |name: &str| {
        let moment = read_lastmod(&value(name)?).moment();
        moment.as_ref().map(Moment::to_string)
    };
    Some(Offer {
        url: address::resolve_url(&value("url")?, base).ok()?.into(),
        generated: time("generated")?,
        expires: time("expires"),
        since: time("since"),
    })
}
