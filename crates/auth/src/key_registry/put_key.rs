//! Creates or changes a key.

use dripfeed_store::Script;

use super::error::KeyRegistryError;
use super::scripts::KEY_FRAGMENTS;
use super::{KeyRegistry, run_time_key};
use crate::api_key::ApiKey;
use crate::key_hash::format_hash;

static SCRIPT: Script = Script::new("put_key", KEY_FRAGMENTS, include_str!("put_key.lua"));

const MAX_KEYS: usize = 10_000;
/// The maximum bytes of all keys together, because every intake has them in memory.
const MAX_BYTES: usize = 8 << 20;

/// A key to store.
#[derive(Clone, Debug)]
pub struct NewKey<'k> {
    pub key: &'k ApiKey,
    pub not_after_ms: Option<u64>,
    /// The version that the caller knows, or `None` for a new key.
    pub known: Option<u64>,
    /// The id of the acting key.
    pub by: &'k str,
    /// For the audit log.
    pub detail: &'k str,
}

impl NewKey<'_> {
    /// The maximum bytes of one key in Redis.
    pub const LONGEST: usize = 8 << 10;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutKeyResult {
    /// Stored with this version.
    Done(u64),
    /// The key was changed concurrently; read it again.
    Changed,
    /// Another key has this hash.
    KnownHash,
    ManyKeys,
    /// The key, or all keys together, would be too large.
    ManyBytes,
}

impl KeyRegistry {
    /// Stores the key within the limits, if it is unchanged.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time.
    pub async fn put(&self, new: &NewKey<'_>) -> Result<PutKeyResult, KeyRegistryError> {
        let text = run_time_key::text(new.key, new.by);
        if text.len() > NewKey::LONGEST {
            return Ok(PutKeyResult::ManyBytes);
        }
        let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        let mut call = SCRIPT.on(&self.keys.all());
        call.arg(&new.key.id).arg(number(new.known)).arg(format_hash(&new.key.sha256)).arg(number(new.not_after_ms));
        call.arg(text).arg(MAX_KEYS).arg(MAX_BYTES);
        call.arg(format!("{:016x}", fastrand::u64(..))).arg(new.by).arg(new.detail);
        let reply: Vec<String> = self.store.run_durably(&call).await?;
        let unreadable = || KeyRegistryError::Reply(SCRIPT.name());
        match reply.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["put", version] => version.parse().map(PutKeyResult::Done).map_err(|_| unreadable()),
            ["changed"] => Ok(PutKeyResult::Changed),
            ["known_hash"] => Ok(PutKeyResult::KnownHash),
            ["many_keys"] => Ok(PutKeyResult::ManyKeys),
            ["many_bytes"] => Ok(PutKeyResult::ManyBytes),
            _ => Err(unreadable()),
        }
    }
}
