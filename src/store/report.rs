//! Reports for authors that somebody wanted to keep. They stay until they are removed, so there are not too many.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row};

use super::value::{self, micros, natural};
use super::{Store, StoreError};
use crate::account::AccountId;

/// Reports that one account may keep.
pub const ACCOUNT_REPORTS: u32 = 100;
/// Reports on one site that visitors without an account may keep, all of them together.
pub const VISITORS_SITE_REPORTS: u32 = 20;

/// A report that is to be kept.
#[derive(Debug, Clone)]
pub struct NewReport {
    /// A part of its address, which nobody guesses.
    pub name: String,
    /// When it was made.
    pub made_at: DateTime<Utc>,
    /// The address of the site that it is about.
    pub site: String,
    /// Who keeps it; none for a visitor without an account.
    pub kept_by: Option<AccountId>,
    /// The same for reports that say the same.
    pub print: [u8; 32],
    /// What it says.
    pub content: Vec<u8>,
}

/// A report that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReport {
    /// When it was made.
    pub made_at: DateTime<Utc>,
    /// Who keeps it; none for a visitor without an account.
    pub kept_by: Option<AccountId>,
    /// What it says.
    pub content: Vec<u8>,
}

/// What is shown of a report in a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// Its place in the list.
    pub id: i64,
    /// A part of its address.
    pub name: String,
    /// When it was made.
    pub made_at: DateTime<Utc>,
    /// The address of the site that it is about.
    pub site: String,
    /// The name of who keeps it; none for a visitor without an account.
    pub kept_by: Option<String>,
}

/// Why a report is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRoom {
    /// The account keeps as many as it may.
    Account,
    /// Visitors keep as many of this site as they may.
    Site,
    /// Visitors keep as many as they may.
    Visitors,
    /// There are as many as there may be.
    All,
}

impl Store {
    /// Keeps a report, and says under which name: one that says the same may be kept already, by the same account or by
    /// visitors. No more than `most` are kept, and visitors take up at most half of that.
    pub async fn keep_report(
        &self,
        report: NewReport,
        most: u32,
    ) -> Result<Result<String, NoRoom>, StoreError> {
        self.write(move |db| {
            let sql = "SELECT name FROM kept_reports WHERE print = ?1 AND kept_by IS ?2";
            let kept_by = report.kept_by.map(|account| account.0);
            let same = (db.prepare_cached(sql)?)
                .query_row((report.print, kept_by), |row| row.get("name"))
                .optional()?;
            if let Some(name) = same {
                return Ok(Ok(name));
            }
            if let Some(reason) = no_room(db, &report, most)? {
                return Ok(Err(reason));
            }
            let sql = "INSERT INTO kept_reports (name, made_at, site, kept_by, print, content)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            db.prepare_cached(sql)?.execute((
                &report.name,
                micros(report.made_at),
                &report.site,
                kept_by,
                report.print,
                &report.content,
            ))?;
            Ok(Ok(report.name.clone()))
        })
        .await
    }

    /// The report of that name.
    pub async fn report(&self, name: &str) -> Result<Option<KeptReport>, StoreError> {
        let name = name.to_owned();
        self.read(move |db| {
            let sql = "SELECT made_at, kept_by, content FROM kept_reports WHERE name = ?1";
            let mut statement = db.prepare_cached(sql)?;
            let mut rows = statement.query([&name])?;
            match rows.next()? {
                Some(row) => Ok(Some(KeptReport {
                    made_at: value::instant(row, "made_at")?,
                    kept_by: row.get::<_, Option<i64>>("kept_by")?.map(AccountId),
                    content: row.get("content")?,
                })),
                None => Ok(None),
            }
        })
        .await
    }

    /// Removes a report; false if there is none.
    pub async fn remove_report(&self, name: &str) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.write(move |db| {
            let mut statement = db.prepare_cached("DELETE FROM kept_reports WHERE name = ?1")?;
            Ok(statement.execute([&name])? > 0)
        })
        .await
    }

    /// The reports that an account keeps, or all of them, the newest first: so many, after the one with this id.
    pub async fn reports(
        &self,
        kept_by: Option<AccountId>,
        after: Option<i64>,
        most: u32,
    ) -> Result<Vec<ReportLine>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT r.id, r.name, r.made_at, r.site, a.name AS keeper
                 FROM kept_reports r LEFT JOIN accounts a ON a.id = r.kept_by
                 WHERE (?1 IS NULL OR r.kept_by = ?1) AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3",
            )?;
            let kept_by = kept_by.map(|account| account.0);
            let mut rows = statement.query((kept_by, after.unwrap_or(i64::MAX), most))?;
            let mut lines = Vec::new();
            while let Some(row) = rows.next()? {
                lines.push(line(row)?);
            }
            Ok(lines)
        })
        .await
    }
}

fn line(row: &Row<'_>) -> Result<ReportLine, StoreError> {
    Ok(ReportLine {
        id: row.get("id")?,
        name: row.get("name")?,
        made_at: value::instant(row, "made_at")?,
        site: row.get("site")?,
        kept_by: row.get("keeper")?,
    })
}

fn no_room(db: &Connection, report: &NewReport, most: u32) -> Result<Option<NoRoom>, StoreError> {
    let count = |sql: &str, parameters: &[&dyn rusqlite::ToSql]| -> Result<u32, StoreError> {
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        match rows.next()? {
            Some(row) => natural(row, "n"),
            None => Ok(0),
        }
    };
    let all = || count("SELECT count(*) AS n FROM kept_reports", &[]);
    if let Some(account) = report.kept_by {
        let sql = "SELECT count(*) AS n FROM kept_reports WHERE kept_by = ?1";
        if count(sql, &[&account.0])? >= ACCOUNT_REPORTS {
            return Ok(Some(NoRoom::Account));
        }
        return Ok((all()? >= most).then_some(NoRoom::All));
    }
    let sql = "SELECT count(*) AS n FROM kept_reports WHERE kept_by IS NULL AND site = ?1";
    if count(sql, &[&report.site])? >= VISITORS_SITE_REPORTS {
        return Ok(Some(NoRoom::Site));
    }
    let sql = "SELECT count(*) AS n FROM kept_reports WHERE kept_by IS NULL";
    if count(sql, &[])? >= most / 2 {
        return Ok(Some(NoRoom::Visitors));
    }
    Ok((all()? >= most).then_some(NoRoom::All))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::file::open;
    use crate::store::migrate::MIGRATIONS;

    #[tokio::test]
    async fn reports_that_were_kept_for_a_time_stay_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let before = (MIGRATIONS.iter()).position(|sql| sql.contains("CREATE TABLE kept_reports"));
        let db = open(folder.path(), &MIGRATIONS[..before.unwrap()]).unwrap();
        let content = "{\"url\":\"https://fox.example/\"}";
        db.execute(
            "INSERT INTO reports (name, made_at, content) VALUES ('abc', 7000000, ?1)",
            [content],
        )
        .unwrap();
        drop(db);
        let store = Store::open(folder.path()).await.unwrap();
        let report = store.report("abc").await.unwrap().unwrap();
        assert_eq!(report.content, content.as_bytes());
        assert_eq!((report.made_at.timestamp(), report.kept_by), (7, None));
        let lines = store.reports(None, None, 10).await.unwrap();
        assert_eq!(lines[0].site, "https://fox.example/");
        assert!(store.remove_report("abc").await.unwrap());
        assert_eq!(store.report("abc").await.unwrap(), None);
    }

    #[tokio::test]
    async fn no_keeper_takes_up_the_room_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let now = "2026-03-10T12:00:00Z".parse().unwrap();
        let kit = store.add_account("kit", "", "", false, now).await.unwrap();
        let keep = async |n: u16, site: &str, kept_by| {
            let mut print = [0; 32];
            print[..2].copy_from_slice(&n.to_be_bytes());
            let report = NewReport {
                name: format!("{n}"),
                made_at: now,
                site: site.to_owned(),
                kept_by,
                print,
                content: b"{}".to_vec(),
            };
            store.keep_report(report, 200).await.unwrap()
        };
        for n in 0..20 {
            assert_eq!(keep(n, "a", None).await, Ok(n.to_string()));
        }
        assert_eq!(keep(20, "a", None).await, Err(NoRoom::Site));
        assert_eq!(keep(7, "a", None).await, Ok("7".to_owned()));
        for n in 20..100 {
            assert_eq!(keep(n, &format!("{n}"), None).await, Ok(n.to_string()));
        }
        assert_eq!(keep(100, "b", None).await, Err(NoRoom::Visitors));
        for n in 100..200 {
            assert_eq!(keep(n, "a", Some(kit)).await, Ok(n.to_string()));
        }
        assert_eq!(keep(200, "c", Some(kit)).await, Err(NoRoom::Account));
        let ori = store.add_account("ori", "", "", false, now).await.unwrap();
        assert_eq!(keep(200, "c", Some(ori)).await, Err(NoRoom::All));
        assert!(store.remove_report("7").await.unwrap());
        assert_eq!(keep(200, "c", Some(ori)).await, Ok("200".to_owned()));
    }
}
