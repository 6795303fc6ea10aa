//! Who follows what.

use std::fmt;

use crate::site::{CollectionId, SiteId};

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
}

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    /// The subscription.
    pub id: SubscriptionId,
    /// The site.
    pub site: SiteId,
    /// The collection; none for all of them.
    pub collection: Option<CollectionId>,
}
