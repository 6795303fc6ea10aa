//! Who follows what.

use std::fmt;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup};
use icu_properties::{CodePointMapData, CodePointSetData};

use crate::site::{CollectionId, SiteId};
use crate::text::quote;

/// The longest name of an account.
pub const MAX_ACCOUNT_NAME_CHARS: usize = 64;

/// The name of an account, as its owner writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName(String);

/// Why a text cannot be the name of an account.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountNameError {
    /// Nothing.
    #[error("the name is empty; choose one of letters and digits")]
    Empty,
    /// Too much.
    #[error("the name is too long; choose one of at most {MAX_ACCOUNT_NAME_CHARS} characters")]
    Long,
    /// A bad beginning.
    #[error("the name {} does not begin with a letter or digit; choose one that does", quote(.0))]
    Start(String),
    /// A bad character.
    #[error(
        "the name {} has a character other than letters, digits, “-”, “_” and “.”; choose one without",
        quote(.0)
    )]
    Character(String),
}

impl AccountName {
    /// Letters and digits of any script, and `-`, `_`, `.` after the first. What looks the same is the same (NFKC), and
    /// nothing is invisible. Upper and lower case are kept; the store tells names apart without them.
    pub fn parse(text: &str) -> Result<AccountName, AccountNameError> {
        let limit = MAX_ACCOUNT_NAME_CHARS;
        let text = text.trim();
        if text.chars().take(limit + 1).count() > limit {
            return Err(AccountNameError::Long);
        }
        let name = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
        // Some characters become several.
        if name.chars().count() > limit {
            return Err(AccountNameError::Long);
        }
        let first = name.chars().next().ok_or(AccountNameError::Empty)?;
        if !name
            .chars()
            .all(|c| is_in_words(c) || matches!(c, '-' | '_' | '.'))
        {
            return Err(AccountNameError::Character(text.to_owned()));
        }
        if !first.is_alphanumeric() {
            return Err(AccountNameError::Start(text.to_owned()));
        }
        Ok(AccountName(name.into_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Letters, digits, and the signs that many scripts write above or below them, as far as they can be seen.
fn is_in_words(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let is_mark = GeneralCategoryGroup::Mark.contains(category);
    let is_hidden = CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character);
    (character.is_alphanumeric() || is_mark) && !is_hidden
}

/// The number of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(pub i64);

/// Someone who signs in and owns subscriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The account.
    pub id: AccountId,
    /// The name to sign in with.
    pub name: String,
    /// Whether it may run the instance.
    pub is_admin: bool,
    /// Whether it may not sign in at present.
    pub is_disabled: bool,
    /// Since when it is there.
    pub created_at: DateTime<Utc>,
    /// Where its owner lives, so that days begin when they do there.
    pub time_zone: Tz,
    /// What it may do where that is not what everybody may.
    pub quotas: Quotas,
}

/// How much an account may do; none for as much as everybody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Sites that it follows.
    pub sites: Option<u32>,
    /// Addresses that it has looked up in a day.
    pub lookups: Option<u32>,
    /// Lists of subscriptions that it imports in a day.
    pub imports: Option<u32>,
}

/// How much accounts may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Sites that one follows.
    pub sites: u32,
    /// Sites that one has looked up in a day.
    pub lookups: u32,
    /// Lists of subscriptions that one imports in a day.
    pub imports: u32,
}

impl Default for Allowance {
    fn default() -> Allowance {
        Allowance {
            sites: 1_000,
            lookups: 200,
            imports: 20,
        }
    }
}

impl Quotas {
    /// What an account with these quotas may do, where everybody may do what is usual.
    pub fn or(&self, usual: Allowance) -> Allowance {
        Allowance {
            sites: self.sites.unwrap_or(usual.sites),
            lookups: self.lookups.unwrap_or(usual.lookups),
            imports: self.imports.unwrap_or(usual.imports),
        }
    }
}

/// A browser in which an account is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The session.
    pub id: SessionId,
    /// Which browser it is, as far as that says.
    pub agent: String,
    /// When it signed in.
    pub created_at: DateTime<Utc>,
    /// When it was last there, to the minute or so.
    pub seen_at: DateTime<Utc>,
}

/// The number of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub i64);

/// What a token may do; each includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Look.
    Read,
    /// Follow, and ask for checks.
    Write,
    /// Run the instance.
    Admin,
}

impl Scope {
    /// Its name on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }

    /// The scope of that name.
    pub fn parse(text: &str) -> Option<Scope> {
        [Scope::Read, Scope::Write, Scope::Admin]
            .into_iter()
            .find(|scope| scope.as_str() == text)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who may make an account for themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Registration {
    /// Everybody.
    Open,
    /// Who was invited.
    Invite,
    /// Nobody; the operator makes accounts.
    Closed,
}

impl Registration {
    /// Its name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Registration::Open => "open",
            Registration::Invite => "invite",
            Registration::Closed => "closed",
        }
    }

    /// The one of that name.
    pub fn parse(text: &str) -> Option<Registration> {
        [
            Registration::Open,
            Registration::Invite,
            Registration::Closed,
        ]
        .into_iter()
        .find(|registration| registration.as_str() == text)
    }
}

/// The number of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub i64);

/// An account follows a site, or one collection of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// The site.
    pub site: SiteId,
    /// The collection; none for all of them.
    pub collection: Option<CollectionId>,
    /// Where the account keeps it; empty for nowhere in particular.
    pub folder: String,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_people_call_themselves() {
        let long = "狐".repeat(MAX_ACCOUNT_NAME_CHARS);
        for good in [
            "a",
            "7",
            "Alice",
            "fox.den_2-b",
            "Émile",
            "Łukasz",
            "हिन्दी",
            "狐",
            &long,
        ] {
            assert_eq!(AccountName::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn what_looks_the_same_is_the_same() {
        for (typed, kept) in [
            (" alice\n", "alice"),
            ("E\u{301}mile", "Émile"),
            ("ａｌｉｃｅ", "alice"),
            ("ﬁne", "fine"),
        ] {
            assert_eq!(AccountName::parse(typed).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn other_texts_are_no_names() {
        let parse = |text: &str| AccountName::parse(text).unwrap_err();
        for empty in ["", "  \t\n"] {
            assert_eq!(parse(empty), AccountNameError::Empty);
        }
        for long in ["x".repeat(65), "ﷺ".repeat(60), "x".repeat(1 << 20)] {
            assert_eq!(parse(&long), AccountNameError::Long);
        }
        for start in ["-rf", ".", "..", "_", "\u{301}a"] {
            assert!(
                matches!(parse(start), AccountNameError::Start(_)),
                "{start}"
            );
        }
        for bad in [
            "a b",
            "a/b",
            "a\\b",
            "a@b",
            "a:b",
            "a\u{0}",
            "a\u{1b}[2J",
            "a\u{202e}b",
            "a\u{200b}",
            "a\u{200d}b",
            "a\u{3164}",
            "\u{1160}",
            "a\u{fe0f}",
            "a\u{e0041}",
            "😀",
            "<b>",
            "a\nb",
            "a\u{2028}b",
            "a'b",
            "a\"",
        ] {
            let error = parse(bad);
            assert!(matches!(error, AccountNameError::Character(_)), "{bad:?}");
            assert!(!error.to_string().contains(char::is_control));
        }
    }
}
