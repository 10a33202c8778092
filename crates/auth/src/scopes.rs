//! The scopes of a key.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Submit jobs; check requests against rate limits.
    Submit,
    /// Read states and numbers.
    Read,
    /// Read payloads and answers of upstreams, in addition to `read`.
    Inspect,
    /// Change, pause, cancel, replay, delete; register services.
    Operate,
    /// Create, change and delete buckets over the API. Not part of `operate`, because a definition chooses the
    /// upstream.
    Define,
    /// Create, change and revoke keys over the API, with no more permissions than this key. Not part of another scope,
    /// because created keys outlive the key that created them.
    Keys,
}

impl Scope {
    pub const ALL: [Self; 6] = [Self::Submit, Self::Read, Self::Inspect, Self::Operate, Self::Define, Self::Keys];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Read => "read",
            Self::Inspect => "inspect",
            Self::Operate => "operate",
            Self::Define => "define",
            Self::Keys => "keys",
        }
    }
}

/// The permission that an operation requires, as a type, so that a handler can't forget the check.
pub trait Permission: Send + Sync {
    const SCOPE: Scope;
    /// Whether the operation changes something. Then a page of another origin must not trigger it.
    const CHANGES: bool;
}

#[derive(Debug)]
pub struct Submit;
#[derive(Debug)]
pub struct Read;
#[derive(Debug)]
pub struct Operate;
#[derive(Debug)]
pub struct Define;
#[derive(Debug)]
pub struct ChangeKeys;
#[derive(Debug)]
pub struct ReadKeys;

impl Permission for Submit {
    const SCOPE: Scope = Scope::Submit;
    const CHANGES: bool = true;
}

impl Permission for Read {
    const SCOPE: Scope = Scope::Read;
    const CHANGES: bool = false;
}

impl Permission for Operate {
    const SCOPE: Scope = Scope::Operate;
    const CHANGES: bool = true;
}

impl Permission for Define {
    const SCOPE: Scope = Scope::Define;
    const CHANGES: bool = true;
}

impl Permission for ChangeKeys {
    const SCOPE: Scope = Scope::Keys;
    const CHANGES: bool = true;
}

impl Permission for ReadKeys {
    const SCOPE: Scope = Scope::Keys;
    const CHANGES: bool = false;
}
