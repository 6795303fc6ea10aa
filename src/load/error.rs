//! Why a document could not be had, and what its author hears of it.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use crate::fetch::FetchError;
use crate::problem::{Code, Problem};

/// Why there is no document.
#[derive(Debug, Clone)]
pub enum LoadError {
    /// It could not be fetched.
    Fetch(Arc<FetchError>),
    /// It was fetched and could not be read.
    Broken(Box<Problem>),
    /// The check has used up what it may use.
    Limit(String),
    /// What is known could not be recalled, so it cannot be told what is new. The whole check is in vain.
    Memory,
}

/// All bytes of the check are used up.
pub(super) fn out_of_bytes(most: u64) -> LoadError {
    LoadError::Limit(format!("a check takes {most} bytes at most"))
}

/// All time of the check is over.
pub(super) fn out_of_time(most: Duration) -> LoadError {
    let seconds = most.as_secs_f32();
    LoadError::Limit(format!("a check takes {seconds} seconds at most"))
}

impl From<FetchError> for LoadError {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::OverBudget { limit } => out_of_bytes(limit),
            FetchError::OverTime { limit } => out_of_time(limit),
            error => LoadError::Fetch(Arc::new(error)),
        }
    }
}

impl LoadError {
    /// The problem that an author sees, for the document at `url` that `listed_in` led to.
    pub fn problem(&self, url: &Url, listed_in: &Url) -> Problem {
        match self {
            LoadError::Broken(problem) => (**problem).clone(),
            // Told of the list, and so counted: an index may list fifty thousand documents.
            LoadError::Limit(reason) => {
                let message = format!("{url} was left unread: {reason}");
                Problem::new(Code::LimitReached, listed_in, message)
            }
            LoadError::Memory => {
                let message = "the document was left unread because of a fault in Sitebell";
                Problem::new(Code::LimitReached, url, message)
            }
            LoadError::Fetch(error) => {
                let code = match **error {
                    FetchError::Refused(_) => Code::ForbiddenAddress,
                    FetchError::TooLarge { .. } => Code::TooLarge,
                    FetchError::Status { .. } | FetchError::Redirect { .. } => Code::HttpError,
                    FetchError::Broken { .. } => Code::CutOff,
                    FetchError::Encoding { .. } => Code::BadCompression,
                    _ => Code::Unreachable,
                };
                Problem::new(code, url, error.to_string())
            }
        }
    }
}
