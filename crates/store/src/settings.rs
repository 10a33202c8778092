use std::time::Duration;

use crate::durability::Durability;
use crate::url::Address;

/// How to reach Redis and what is asked of it. Plain data, filled by the program's settings.
#[derive(Debug, Clone)]
pub struct RedisSettings {
    /// Where Redis is, and as whom to speak to it.
    pub url: Address,
    /// What every key of ours begins with.
    pub prefix: String,
    /// What an accepted job must survive.
    pub durability: Durability,
    /// Connect timeout, including DNS and Sentinel.
    pub connect_timeout: Duration,
    /// The longest to wait for the reply to one command or script.
    pub response_timeout: Duration,
}

impl RedisSettings {
    /// Settings with time limits of one second each: a call then fails within 1.5 s while Redis is
    /// away, so that an intake can still answer 503 within 2 s.
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
