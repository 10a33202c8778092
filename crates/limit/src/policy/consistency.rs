//! How replicas share a limit, and what applies while Redis is unavailable.

use std::time::Duration;

/// How a policy's count is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each decision is made in Redis. The limit is never exceeded.
    #[default]
    Strict,
    /// A replica takes a share ahead and spends it on its own. Never over the limit; what a replica holds and doesn't
    /// spend is missing elsewhere for a while. Of a bucket at most 3/8 of the burst pass at once, with any number of
    /// replicas: calls that were taken ahead and are spent later come on top.
    Leased,
    /// A replica counts on its own and reports Redis every `sync`, when it also learns what the others counted. What it
    /// doesn't know yet, it reads from Redis first. What the others let through is reported within one `sync` and
    /// learned within another, so a limit of a window can be passed: by at most what replicas let through in two
    /// `sync`s after it is used up, and by at most (replicas − 1) · limit. In one burst each replica lets a whole
    /// limit, or burst, through, and a gate one call for each.
    Async { sync: Duration },
}

/// What applies while Redis is unavailable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStoreError {
    /// All requests are refused: 503.
    #[default]
    Closed,
    /// All requests are allowed, and counted.
    Open,
    /// Each replica enforces its part on its own: the limit ÷ live replicas, rounded down. Below one call for each,
    /// nothing passes.
    Local,
}
