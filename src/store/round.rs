//! Rounds: what sites are asked when nothing is expected to be new.

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use url::Url;

use super::value::{self, columns, micros};
use super::{StoreError, check, json};
use crate::memory::{Round, RoundMemory, RoundRecord, Stop, Validators};
use crate::site::{CollectionId, SiteId, SiteUrl};
use crate::text::address::parse_near;

columns! {
    /// Of a round and its site.
    Memory: url, scheme_given, interval_secs, round_at, read_at, documents, covered, problems;
    "FROM rounds JOIN sites ON sites.id = rounds.site WHERE rounds.site = ?1"
}

/// A document of a round. The address that gave the validators is left out if it is the one that is asked for.
#[derive(Serialize, Deserialize)]
struct StopForm {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
}

/// The round of a site, if it has one.
pub(super) fn of(db: &Connection, id: SiteId) -> Result<Option<RoundMemory>, StoreError> {
    let mut statement = db.prepare_cached(Memory::SELECT)?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let url = value::url(row, Memory::url)?;
    let unreadable = || StoreError::Unreadable("documents");
    let documents = value::parsed(row, Memory::documents, |text| stops(text, &url))?;
    let covered: Option<Vec<i64>> = value::parsed(row, Memory::covered, json::read)?;
    let round = Round {
        documents: documents.ok_or_else(unreadable)?,
        read_at: value::instant(row, Memory::read_at)?,
        covered: covered.into_iter().flatten().map(CollectionId).collect(),
        problems: check::problems_from(row, Memory::problems)?,
    };
    Ok(Some(RoundMemory {
        id,
        interval_secs: value::natural(row, Memory::interval_secs)?,
        url: SiteUrl::kept(url, value::get(row, Memory::scheme_given)?),
        gone_at: value::optional_instant(row, Memory::round_at)?,
        round,
    }))
}

pub(super) fn save(db: &Connection, site: SiteId, record: &RoundRecord) -> Result<(), StoreError> {
    let round = match record {
        RoundRecord::None | RoundRecord::Gone => return Ok(()),
        RoundRecord::New(round) => forms(&round.documents).map(|documents| (round, documents)),
        RoundRecord::Dropped => None,
    };
    settle(db, site)?;
    let Some((round, documents)) = round else {
        db.prepare_cached("DELETE FROM rounds WHERE site = ?1")?
            .execute([site.0])?;
        return Ok(());
    };
    let covered: Vec<i64> = round.covered.iter().map(|id| id.0).collect();
    db.prepare_cached(
        "INSERT INTO rounds (site, read_at, documents, covered, problems) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (site) DO UPDATE SET read_at = ?2, documents = ?3, covered = ?4, problems = ?5",
    )?
    .execute((
        site.0,
        micros(round.read_at),
        json::written(&documents),
        json::written(&covered),
        check::problems_as_column(&round.problems),
    ))?;
    Ok(())
}

/// Notes of each collection how far it was covered by the round that ends.
fn settle(db: &Connection, site: SiteId) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE collections SET covered_until = round_at
         FROM sites, rounds, json_each(rounds.covered) AS covered
         WHERE sites.id = ?1 AND rounds.site = ?1 AND collections.id = covered.value
           AND collections.site = ?1 AND covered_until < round_at",
    )?
    .execute([site.0])?;
    Ok(())
}

/// None if one of them cannot be written: validators are bytes, though hardly ever other than text.
fn forms(stops: &[Stop]) -> Option<Vec<StopForm>> {
    let text = |bytes: &Option<Vec<u8>>| match bytes {
        Some(bytes) => String::from_utf8(bytes.clone()).map(Some),
        None => Ok(None),
    };
    let forms = stops.iter().map(|Stop { url, validators }| {
        Some(StopForm {
            url: url.to_string(),
            at: (validators.url != *url).then(|| validators.url.to_string()),
            etag: text(&validators.etag).ok()?,
            last_modified: text(&validators.last_modified).ok()?,
        })
    });
    forms.collect()
}

/// `near` is the address of the site.
fn stops(text: &str, near: &Url) -> Option<Vec<Stop>> {
    let forms: Vec<StopForm> = json::read(text)?;
    let stops = forms.into_iter().map(|form| {
        let url = parse_near(&form.url, near)?;
        let at = match form.at {
            Some(at) => parse_near(&at, near)?,
            None => url.clone(),
        };
        Some(Stop {
            validators: Validators {
                url: at,
                etag: form.etag.map(String::into_bytes),
                last_modified: form.last_modified.map(String::into_bytes),
            },
            url,
        })
    });
    stops.collect()
}
