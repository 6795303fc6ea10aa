//! Other ways of reading the same bytes.

use std::path::Path;
use std::process::Command;

use quick_xml::NsReader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::Event;
use quick_xml::name::{Namespace, ResolveResult};
use sitebell::read::resourcesync::document::{RS, SITEMAP};

use crate::common::Failure;

#[derive(Default)]
struct Change {
    loc: String,
    change: String,
    datetime: String,
}

/// What a good programmer writes with quick-xml in ten minutes: three fields of each entry, in a list, unchecked.
pub fn plain_loop(bytes: &[u8]) -> Result<usize, Failure> {
    const IN_SITEMAP: ResolveResult<'static> = ResolveResult::Bound(Namespace(SITEMAP));
    const IN_RS: ResolveResult<'static> = ResolveResult::Bound(Namespace(RS));
    let mut reader = NsReader::from_reader(bytes);
    let mut changes = Vec::new();
    let mut change = Change::default();
    let mut in_loc = false;
    loop {
        match reader.read_resolved_event()? {
            (IN_SITEMAP, Event::Start(tag)) => match tag.local_name().as_ref() {
                "url" => change = Change::default(),
                "loc" => in_loc = true,
                _ => {}
            },
            (IN_RS, Event::Empty(tag)) if tag.local_name().as_ref() == "md" => {
                for attribute in tag.attributes() {
                    let attribute = attribute?;
                    match attribute.key.as_ref() {
                        "change" => change.change = unescape(&attribute.value)?.into_owned(),
                        "datetime" => change.datetime = unescape(&attribute.value)?.into_owned(),
                        _ => {}
                    }
                }
            }
            (_, Event::Text(text)) if in_loc => change.loc.push_str(&text),
            (_, Event::GeneralRef(reference)) if in_loc => {
                if let Some(character) = reference.resolve_char_ref()? {
                    change.loc.push(character);
                } else {
                    let text = resolve_predefined_entity(&reference);
                    change.loc.push_str(text.ok_or("an unknown entity")?);
                }
            }
            (IN_SITEMAP, Event::End(tag)) => match tag.local_name().as_ref() {
                "url" => changes.push(std::mem::take(&mut change)),
                "loc" => in_loc = false,
                _ => {}
            },
            (_, Event::Eof) => return Ok(changes.len()),
            _ => {}
        }
    }
}

/// The seconds that one of the readers in `benches/peers.py` takes.
pub fn python(python: &Path, name: &str, file: &Path) -> Result<f64, Failure> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers.py");
    let child = Command::new(python)
        .arg(script)
        .arg(name)
        .arg(file)
        .output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into());
    }
    let medians: serde_json::Value = serde_json::from_slice(&child.stdout)?;
    Ok(medians[name].as_f64().ok_or("no median was printed")?)
}
