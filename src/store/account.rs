//! Accounts and their tokens. Passwords, recovery codes and tokens come in as hashes and are nowhere else.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use rusqlite::{Connection, OptionalExtension, Params, Row, Statement, ToSql};

use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::{Account, AccountId, Quotas, Scope};

/// A token of an account, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The number of the token.
    pub id: i64,
    /// What its owner calls it.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// Somebody new, with hashes of their secrets.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The name.
    pub name: String,
    /// The hash of the password.
    pub password_hash: String,
    /// The hash of the recovery code.
    pub recovery_hash: String,
}

/// Why somebody may make an account for themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Everybody may.
    Open,
    /// They have an invite with this hash.
    Invited([u8; 32]),
    /// There is no account yet.
    First,
}

impl Store {
    /// Adds an account. Names that differ only in case are the same.
    pub async fn add_account(
        &self,
        name: &str,
        password_hash: &str,
        recovery_hash: &str,
        is_admin: bool,
        now: DateTime<Utc>,
    ) -> Result<AccountId, StoreError> {
        let account = NewAccount {
            name: name.to_owned(),
            password_hash: password_hash.to_owned(),
            recovery_hash: recovery_hash.to_owned(),
        };
        self.write(move |db| insert(db, &account, is_admin, now))
            .await
    }

    /// Adds an account that somebody makes for themselves. Only the first one is an admin.
    pub async fn admit_account(
        &self,
        account: NewAccount,
        admission: Admission,
        now: DateTime<Utc>,
    ) -> Result<AccountId, StoreError> {
        self.write(move |db| {
            let is_first = matches!(admission, Admission::First);
            if is_first && has_accounts(db)? {
                return Err(StoreError::NotFound("link"));
            }
            let id = insert(db, &account, is_first, now)?;
            if let Admission::Invited(hash) = &admission {
                super::invite::use_up(db, hash, id, now)?;
            }
            Ok(id)
        })
        .await
    }

    /// Whether there is any account.
    pub async fn has_accounts(&self) -> Result<bool, StoreError> {
        self.read(has_accounts).await
    }

    /// An account.
    pub async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT * FROM accounts WHERE id = ?1")?;
            first_account(&mut statement, &id.0)
        })
        .await
    }

    /// The account of that name, in upper or lower case.
    pub async fn account_by_name(&self, name: &str) -> Result<Option<Account>, StoreError> {
        let key = key(name);
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT * FROM accounts WHERE name_key = ?1")?;
            first_account(&mut statement, &key)
        })
        .await
    }

    /// All accounts, by name.
    pub async fn accounts(&self) -> Result<Vec<Account>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT * FROM accounts ORDER BY name_key")?;
            let mut rows = statement.query([])?;
            let mut accounts = Vec::new();
            while let Some(row) = rows.next()? {
                accounts.push(account_from_row(row)?);
            }
            Ok(accounts)
        })
        .await
    }

    /// Lets an account sign in, or no longer, and then nowhere is it signed in; whether there is such an account.
    pub async fn set_disabled(&self, id: AccountId, disabled: bool) -> Result<bool, StoreError> {
        self.write(move |db| {
            if disabled {
                super::session::end_all(db, id)?;
            }
            let sql = "UPDATE accounts SET is_disabled = ?2 WHERE id = ?1";
            Ok(db.prepare_cached(sql)?.execute((id.0, disabled))? > 0)
        })
        .await
    }

    /// Changes the password, and the recovery code if there is a new one. Nowhere is it signed in after that. Whether
    /// there is such an account.
    pub async fn set_password(
        &self,
        id: AccountId,
        password_hash: &str,
        recovery_hash: Option<&str>,
    ) -> Result<bool, StoreError> {
        let (password, recovery) = (password_hash.to_owned(), recovery_hash.map(str::to_owned));
        self.write(move |db| {
            super::session::end_all(db, id)?;
            let sql =
                "UPDATE accounts SET password_hash = ?2, recovery_hash = ifnull(?3, recovery_hash)
                 WHERE id = ?1";
            let mut statement = db.prepare_cached(sql)?;
            Ok(statement.execute((id.0, &password, &recovery))? > 0)
        })
        .await
    }

    /// Keeps the same password in another form; what it was before must not have changed meanwhile.
    pub async fn rehash_password(
        &self,
        id: AccountId,
        before: &str,
        password_hash: &str,
    ) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET password_hash = ?3 WHERE id = ?1 AND password_hash = ?2",
            (id.0, before.to_owned(), password_hash.to_owned()),
        )
        .await
    }

    /// Changes the recovery code; whether there is such an account.
    pub async fn set_recovery(&self, id: AccountId, hash: &str) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET recovery_hash = ?2 WHERE id = ?1",
            (id.0, hash.to_owned()),
        )
        .await
    }

    /// Changes the time zone; whether there is such an account.
    pub async fn set_time_zone(&self, id: AccountId, zone: Tz) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET time_zone = ?2 WHERE id = ?1",
            (id.0, zone.name()),
        )
        .await
    }

    /// Changes what it may do; whether there is such an account.
    pub async fn set_quotas(&self, id: AccountId, quotas: Quotas) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET max_sites = ?2, max_lookups = ?3, max_imports = ?4 WHERE id = ?1",
            (id.0, quotas.sites, quotas.lookups, quotas.imports),
        )
        .await
    }

    /// Until when the timeline of an account was seen.
    pub async fn visited_at(&self, id: AccountId) -> Result<Option<DateTime<Utc>>, StoreError> {
        self.read(move |db| {
            let mut statement =
                db.prepare_cached("SELECT visited_at FROM accounts WHERE id = ?1")?;
            let mut rows = statement.query([id.0])?;
            match rows.next()? {
                Some(row) => value::optional_instant(row, "visited_at"),
                None => Ok(None),
            }
        })
        .await
    }

    /// Moves the mark to where the timeline was seen until; it never moves back.
    pub async fn set_visited_at(
        &self,
        id: AccountId,
        at: DateTime<Utc>,
    ) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET visited_at = max(?2, ifnull(visited_at, 0)) WHERE id = ?1",
            (id.0, micros(at)),
        )
        .await
    }

    /// Removes an account with its tokens and subscriptions, and nothing of the sites; whether there was one.
    pub async fn remove_account(&self, id: AccountId) -> Result<bool, StoreError> {
        self.change_account("DELETE FROM accounts WHERE id = ?1", [id.0])
            .await
    }

    /// The hash of an account's password.
    pub async fn password_hash(&self, id: AccountId) -> Result<Option<String>, StoreError> {
        self.hash(
            id,
            "SELECT password_hash AS hash FROM accounts WHERE id = ?1",
        )
        .await
    }

    /// The hash of an account's recovery code.
    pub async fn recovery_hash(&self, id: AccountId) -> Result<Option<String>, StoreError> {
        self.hash(
            id,
            "SELECT recovery_hash AS hash FROM accounts WHERE id = ?1",
        )
        .await
    }

    /// Adds a token, by the hash of it.
    pub async fn add_token(
        &self,
        account: AccountId,
        token_hash: &[u8],
        name: &str,
        scope: Scope,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let (hash, name) = (token_hash.to_owned(), name.to_owned());
        self.write(move |db| {
            db.prepare_cached(
                "INSERT INTO tokens (account, hash, name, scope, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((account.0, &hash, &name, scope.as_str(), micros(now)))
            .map_err(|error| match StoreError::from(error) {
                error if error.is_duplicate() => StoreError::Taken,
                error if error.is_orphan() => StoreError::NotFound("account"),
                error => error,
            })?;
            Ok(())
        })
        .await
    }

    /// Whose token this is, and what it may do. The tokens of disabled accounts are nobody's.
    pub async fn account_by_token(
        &self,
        token_hash: &[u8],
    ) -> Result<Option<(Account, Scope)>, StoreError> {
        let hash = token_hash.to_owned();
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT accounts.*, scope FROM tokens JOIN accounts ON accounts.id = tokens.account
                 WHERE hash = ?1 AND is_disabled = 0",
            )?;
            let mut rows = statement.query([&hash])?;
            match rows.next()? {
                Some(row) => Ok(Some((account_from_row(row)?, scope_from_row(row)?))),
                None => Ok(None),
            }
        })
        .await
    }

    /// The tokens of an account, oldest first.
    pub async fn tokens(&self, account: AccountId) -> Result<Vec<Token>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT id, name, scope, created_at FROM tokens WHERE account = ?1 ORDER BY id",
            )?;
            let mut rows = statement.query([account.0])?;
            let mut tokens = Vec::new();
            while let Some(row) = rows.next()? {
                tokens.push(Token {
                    id: row.get("id")?,
                    name: row.get("name")?,
                    scope: scope_from_row(row)?,
                    created_at: value::instant(row, "created_at")?,
                });
            }
            Ok(tokens)
        })
        .await
    }

    /// Removes a token of an account; whether there was one.
    pub async fn remove_token(&self, account: AccountId, id: i64) -> Result<bool, StoreError> {
        self.change_account(
            "DELETE FROM tokens WHERE account = ?1 AND id = ?2",
            (account.0, id),
        )
        .await
    }

    async fn change_account(
        &self,
        sql: &'static str,
        values: impl Params + Clone + Send + 'static,
    ) -> Result<bool, StoreError> {
        self.write(move |db| Ok(db.prepare_cached(sql)?.execute(values.clone())? > 0))
            .await
    }

    async fn hash(&self, id: AccountId, sql: &'static str) -> Result<Option<String>, StoreError> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(sql)?;
            Ok(statement
                .query_row([id.0], |row| row.get("hash"))
                .optional()?)
        })
        .await
    }
}

fn insert(
    db: &Connection,
    account: &NewAccount,
    is_admin: bool,
    now: DateTime<Utc>,
) -> Result<AccountId, StoreError> {
    let NewAccount {
        name,
        password_hash,
        recovery_hash,
    } = account;
    db.prepare_cached(
        "INSERT INTO accounts (name, name_key, password_hash, recovery_hash, is_admin, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        name,
        key(name),
        password_hash,
        recovery_hash,
        is_admin,
        micros(now),
    ))
    .map_err(|error| match StoreError::from(error) {
        error if error.is_duplicate() => StoreError::Taken,
        error => error,
    })?;
    Ok(AccountId(db.last_insert_rowid()))
}

fn has_accounts(db: &Connection) -> Result<bool, StoreError> {
    Ok(db.prepare_cached("SELECT 1 FROM accounts")?.exists([])?)
}

fn key(name: &str) -> String {
    name.to_lowercase()
}

fn first_account(
    statement: &mut Statement<'_>,
    value: &dyn ToSql,
) -> Result<Option<Account>, StoreError> {
    let mut rows = statement.query([value])?;
    rows.next()?.map(account_from_row).transpose()
}

pub(super) fn account_from_row(row: &Row<'_>) -> Result<Account, StoreError> {
    Ok(Account {
        id: AccountId(row.get("id")?),
        name: row.get("name")?,
        is_admin: row.get("is_admin")?,
        is_disabled: row.get("is_disabled")?,
        created_at: value::instant(row, "created_at")?,
        // A zone that was renamed in a newer table of zones.
        time_zone: value::parsed(row, "time_zone", |name| name.parse().ok())
            .ok()
            .flatten()
            .unwrap_or(Tz::UTC),
        quotas: Quotas {
            sites: row.get("max_sites")?,
            lookups: row.get("max_lookups")?,
            imports: row.get("max_imports")?,
        },
    })
}

fn scope_from_row(row: &Row<'_>) -> Result<Scope, StoreError> {
    value::parsed(row, "scope", Scope::parse)?.ok_or(StoreError::Unreadable("scope"))
}
