//! The configuration of dripfeed's roles.

use crate::side::{key, other_bucket, sha256};

/// Settings of the bucket, with the defaults of most rows.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) capacity: u64,
    pub(crate) durability: &'static str,
    /// Calls per second, and burst.
    pub(crate) rate: Option<(u64, u64)>,
    /// Maximum number of concurrent calls per processor.
    pub(crate) concurrency: u64,
    /// Number of API keys, one per caller.
    pub(crate) keys: usize,
    /// Whether the bucket has a policy of three tiers for each value of `x-caller`.
    pub(crate) limits: bool,
    /// Number of further buckets, with the names of [`other_bucket`].
    pub(crate) others: usize,
    /// Whether one of a hundred traces is exported, to the upstream.
    pub(crate) traces: bool,
    /// Further sections in TOML.
    pub(crate) more: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            capacity: 100_000_000,
            durability: "process",
            rate: None,
            concurrency: 200,
            keys: 0,
            limits: false,
            others: 0,
            traces: false,
            more: String::new(),
        }
    }
}

/// Tiers that refuse nothing at the load of these rows.
const TIERS: &str = r#"
[[buckets.bench.limits]]
id = "each"
key = ["header:x-caller"]
tiers = [
    { kind = "bucket", rate = "100000/s", burst = 100000 },
    { kind = "sliding", limit = 10000000, period = "1m" },
    { kind = "fixed", limit = 1000000000, period = "1d" },
]
"#;

impl Settings {
    /// The configuration of all roles, in TOML.
    pub(crate) fn configuration(&self, redis: &str, upstream: &str) -> String {
        let Self { capacity, durability, rate, concurrency, keys, limits, others, traces, more } = self;
        let rate = rate.map_or(String::new(), |(rate, burst)| format!("rate = \"{rate}/s\"\nburst = {burst}\n"));
        let mut text = format!(
            "[redis]\nurl = \"{redis}\"\ndurability = \"{durability}\"\n\
             [intake]\nlisten = \"127.0.0.1:0\"\n[processor]\nlisten = \"127.0.0.1:0\"\n\
             [buckets.bench]\nupstream = \"{upstream}\"\ncapacity = {capacity}\ncapacity_bytes = \"1000GiB\"\n\
             [buckets.bench.leak]\nconcurrency = {concurrency}\n{rate}"
        );
        if *limits {
            text += TIERS;
        }
        if *traces {
            text += &format!("[trace]\nendpoint = \"{upstream}\"\nsampling = 0.01\n");
        }
        for number in 0..*others {
            text += &format!("[buckets.{}]\nupstream = \"{upstream}\"\n", other_bucket(number));
        }
        for caller in 0..*keys {
            text +=
                &format!("[[keys]]\nid = \"{caller}\"\nsha256 = \"{}\"\nscopes = [\"submit\"]\n", sha256(key(caller)));
        }
        text + more
    }
}
