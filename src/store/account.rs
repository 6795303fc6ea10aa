//! Accounts and their tokens. Passwords, recovery codes and tokens come in as hashes and are nowhere else.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Params, Row, Statement, ToSql};

use super::value::{self, micros};
use super::{Store, StoreError};
use crate::account::{Account, AccountId, Scope};

/// A token of an account, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The number of the token.
    pub id: i64,
    /// What it may do.
    pub scope: Scope,
    /// When it was made.
    pub created_at: DateTime<Utc>,
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
        let (name, key) = (name.to_owned(), key(name));
        let (password, recovery) = (password_hash.to_owned(), recovery_hash.to_owned());
        self.write(move |db| {
            db.prepare_cached(
                "INSERT INTO accounts (name, name_key, password_hash, recovery_hash, is_admin, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((&name, &key, &password, &recovery, is_admin, micros(now)))
            .map_err(|error| match StoreError::from(error) {
                error if error.is_duplicate() => StoreError::Taken,
                error => error,
            })?;
            Ok(AccountId(db.last_insert_rowid()))
        })
        .await
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

    /// Lets an account sign in, or no longer; whether there is such an account.
    pub async fn set_disabled(&self, id: AccountId, disabled: bool) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET is_disabled = ?2 WHERE id = ?1",
            (id.0, disabled),
        )
        .await
    }

    /// Changes the password, and the recovery code if there is a new one; whether there is such an account.
    pub async fn set_password(
        &self,
        id: AccountId,
        password_hash: &str,
        recovery_hash: Option<&str>,
    ) -> Result<bool, StoreError> {
        self.change_account(
            "UPDATE accounts SET password_hash = ?2, recovery_hash = ifnull(?3, recovery_hash) WHERE id = ?1",
            (id.0, password_hash.to_owned(), recovery_hash.map(str::to_owned)),
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
        scope: Scope,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let hash = token_hash.to_owned();
        self.write(move |db| {
            db.prepare_cached(
                "INSERT INTO tokens (account, hash, scope, created_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((account.0, &hash, scope.as_str(), micros(now)))
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
                "SELECT id, scope, created_at FROM tokens WHERE account = ?1 ORDER BY id",
            )?;
            let mut rows = statement.query([account.0])?;
            let mut tokens = Vec::new();
            while let Some(row) = rows.next()? {
                tokens.push(Token {
                    id: row.get("id")?,
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
    })
}

fn scope_from_row(row: &Row<'_>) -> Result<Scope, StoreError> {
    value::parsed(row, "scope", Scope::parse)?.ok_or(StoreError::Unreadable("scope"))
}
