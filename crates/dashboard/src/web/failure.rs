//! Errors of the API.

use http::StatusCode;
use serde::Deserialize;

/// A refusal or an error.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) title: String,
    pub(crate) detail: String,
}

/// The members of an RFC 9457 problem that are shown.
#[derive(Deserialize)]
struct Problem {
    title: String,
    detail: String,
    /// The member of the request with the error.
    member: Option<String>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, title: &str, detail: &str) -> Self {
        Self { status, title: title.to_owned(), detail: detail.to_owned() }
    }

    /// The failure of an answer of the API.
    pub(crate) fn of(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice::<Problem>(body) {
            Ok(Problem { title, detail, member: Some(member) }) if !detail.contains(&member) => {
                Self { status, title, detail: format!("{member}: {detail}") }
            }
            Ok(Problem { title, detail, .. }) => Self { status, title, detail },
            Err(_) => Self::unreadable(),
        }
    }

    pub(crate) fn unreadable() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", "the API's answer can't be read; see the log")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", "this page doesn't exist")
    }
}
