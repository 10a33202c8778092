//! The configuration of dripfeed's roles.

use crate::side::{key, other_bucket, sha256};

/// Of the bucket, where it isn't as in most rows.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) capacity: u64,
    pub(crate) durability: &'static str,
    /// Calls a second, and at once.
    pub(crate) rate: Option<(u64, u64)>,
    /// Calls of each processor at once.
    pub(crate) concurrency: u64,
    /// API keys, each of a caller.
    pub(crate) keys: usize,
    /// Three tiers for each value of `x-caller`.
    pub(crate) limits: bool,
    /// Further buckets, by the names of [`other_bucket`].
    pub(crate) others: usize,
    /// Traces go to the upstream, one of a hundred.
    pub(crate) traces: bool,
    /// Further sections.
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

/// None refuses anything at the load of these rows.
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
    /// TOML, of all roles.
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
