//! A key created over the API, and its form in Redis.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api_key::ApiKey;
use crate::key_hash::parse_hash;
use crate::key_id::check_key_id;
use crate::scopes::Scope;
use crate::selector::Selector;

#[derive(Clone, Debug, PartialEq)]
pub struct RunTimeKey {
    pub key: Arc<ApiKey>,
    /// The expiry by the Redis clock. `None` if the key never expires.
    pub not_after_ms: Option<u64>,
    /// Increases with each change. At least the time of the change in µs.
    pub version: u64,
    /// The id of the key that changed it last.
    pub by: String,
}

/// The JSON after hash and expiry. Other versions of dripfeed, or other programs, may have written it.
#[derive(Serialize, Deserialize)]
struct Stored {
    by: String,
    scopes: Vec<Scope>,
    buckets: Vec<String>,
    services: Vec<String>,
    priority: String,
}

impl RunTimeKey {
    /// Returns `None` if the text can't be parsed.
    pub(super) fn parse(id: &str, version: u64, text: &str) -> Option<Self> {
        check_key_id(id).ok()?;
        let mut words = text.splitn(3, ' ');
        let sha256 = parse_hash(words.next()?).ok()?;
        let not_after_ms = match words.next()? {
            "" => None,
            digits => Some(digits.parse().ok()?),
        };
        let Stored { by, scopes, buckets, services, priority } = serde_json::from_str(words.next()?).ok()?;
        let key = ApiKey {
            id: id.to_owned(),
            sha256,
            scopes,
            buckets: Selector::parse(&buckets).ok()?,
            services: Selector::parse(&services).ok()?,
            priority: priority.parse().ok()?,
        };
        Some(Self { key: Arc::new(key), not_after_ms, version, by })
    }

    #[must_use]
    pub const fn has_expired(&self, now_ms: u64) -> bool {
        match self.not_after_ms {
            Some(end_ms) => end_ms <= now_ms,
            None => false,
        }
    }
}

/// Returns the JSON that is stored after hash and expiry, which the script writes.
pub(super) fn text(key: &ApiKey, by: &str) -> String {
    let stored = Stored {
        by: by.to_owned(),
        scopes: key.scopes.clone(),
        buckets: key.buckets.to_strings(),
        services: key.services.to_strings(),
        priority: key.priority.as_str().to_owned(),
    };
    serde_json::to_string(&stored).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use dripfeed_job::Priority;

    use super::*;
    use crate::key_hash::format_hash;

    #[test]
    fn a_key_reads_back_as_it_was_written() {
        let names = ["mail".to_owned(), "team-a-*".to_owned()];
        let (Ok(buckets), Ok(services)) = (Selector::parse(&names), Selector::parse(&names)) else {
            unreachable!("plain names")
        };
        let scopes = vec![Scope::Submit, Scope::Keys];
        let key =
            ApiKey { id: "team-a".to_owned(), sha256: [7; 32], scopes, buckets, services, priority: Priority::Low };
        let stored = text(&key, "platform");
        let hash = format_hash(&key.sha256);
        let read = |expires: &str| RunTimeKey::parse("team-a", 18, &format!("{hash} {expires} {stored}"));
        let by = "platform".to_owned();
        let key = Arc::new(key);
        let expected = RunTimeKey { key, not_after_ms: Some(1700), version: 18, by };
        assert_eq!(read("1700"), Some(expected.clone()));
        assert_eq!(read(""), Some(RunTimeKey { not_after_ms: None, ..expected.clone() }));
        assert!(expected.has_expired(1700) && !expected.has_expired(1699));
        for broken in
            ["", "17", "x", &hash, &format!("{hash} 17"), &format!("{hash} x {stored}"), &format!("{hash}  {{}}")]
        {
            assert_eq!(RunTimeKey::parse("team-a", 18, broken), None, "{broken}");
        }
        assert_eq!(RunTimeKey::parse("a b", 18, &format!("{hash}  {stored}")), None);
    }
}
