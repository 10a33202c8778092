//! How replicas share a limit, and how they decide while Redis is unavailable.

use std::time::Duration;

/// How replicas share the counters of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each decision is made in Redis. The limit is never exceeded.
    #[default]
    Strict,
    /// A replica leases a share of the quota in advance and spends it locally. The limit is never exceeded, but leased
    /// quota that a replica doesn't spend is missing for the others for a while. A bucket allows at most 3/8 of its
    /// burst at once, whatever the number of replicas, because calls that were leased earlier and are spent later are
    /// added.
    Leased,
    /// A replica counts locally, and every `sync` reports to Redis and reads what the others have counted. It reads an
    /// unknown counter from Redis first. The counts of others are reported within one `sync` and read within another,
    /// so the limit of a window can be exceeded: by at most the calls that replicas allow in two `sync`s after it is
    /// used up, and by at most (replicas − 1) · limit. In one burst each replica allows a whole limit or burst, and
    /// each replica's gate one call.
    Async { sync: Duration },
}

/// How a policy is enforced while Redis is unavailable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnStoreError {
    /// All requests are refused: 503.
    #[default]
    Closed,
    /// All requests are allowed, and counted.
    Open,
    /// Each replica enforces its share, limit ÷ live replicas, rounded down. If that is less than one call, nothing is
    /// allowed.
    Local,
}
