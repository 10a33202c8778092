use std::time::Duration;

use crate::durability::Durability;
use crate::url::Address;

/// Settings of Redis: plain data, filled by the executable.
#[derive(Debug, Clone)]
pub struct RedisSettings {
    /// Address and credentials.
    pub url: Address,
    /// The prefix of all keys.
    pub prefix: String,
    /// The configured durability class.
    pub durability: Durability,
    /// Connect timeout, including DNS and Sentinel.
    pub connect_timeout: Duration,
    /// Timeout of one command or script.
    pub response_timeout: Duration,
}

impl RedisSettings {
    /// Settings with timeouts of one second each: a call then fails within 1.5 s while Redis is unavailable, so that an
    /// intake can answer 503 within 2 s.
    pub fn new(url: Address, prefix: impl Into<String>, durability: Durability) -> Self {
        Self {
            url,
            prefix: prefix.into(),
            durability,
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_secs(1),
        }
    }
}
