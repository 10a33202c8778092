//! `[processor]`

use std::net::SocketAddr;
use std::time::Duration;

use dripfeed_auth::BucketSet;
use dripfeed_job::duration;
use dripfeed_processor::ProcessorSettings;
use dripfeed_store::RedisSettings;
use serde::Deserialize;

use super::deserialize;
use super::read::Reader;
use super::selector::{self, KnownNames};

#[derive(Clone, Debug)]
pub(crate) struct ProcessorRole {
    /// The address for health and metrics.
    pub(crate) listen: SocketAddr,
    /// The buckets to serve.
    pub(crate) buckets: BucketSet,
    pub(crate) settings: ProcessorSettings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    name: String,
    #[serde(deserialize_with = "deserialize::address")]
    listen: SocketAddr,
    #[serde(deserialize_with = "deserialize::time")]
    lease: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    standby_after: Duration,
    histograms_by_bucket: bool,
    #[serde(deserialize_with = "deserialize::time")]
    drain: Duration,
    buckets: Vec<String>,
}

pub(super) fn read(
    reader: &mut Reader<'_>,
    redis: Option<&RedisSettings>,
    known: KnownNames<'_>,
) -> Option<ProcessorRole> {
    let section: Section = reader.section("processor")?;
    let key = |name: &str| ["processor".into(), name.into()];
    if let Err(message) = check_name(&section.name) {
        reader.error(&key("name"), message);
    }
    // Heartbeats are sent every third of a lease. With a shorter lease, one slow reply would make a replica seem dead.
    let least = redis.map_or(Duration::ZERO, |redis| redis.response_timeout * 3);
    if section.lease < least {
        let message = format!(
            "{} is less than three times redis.response_timeout: use {} or more, or live replicas would be declared \
                dead",
            duration::show(section.lease),
            duration::show(least)
        );
        reader.error(&key("lease"), message);
    }
    let buckets = selector::read(reader, &key("buckets"), &section.buckets, known)?;
    let name = Some(section.name).filter(|name| !name.is_empty());
    let Section { lease, standby_after, histograms_by_bucket, drain, .. } = section;
    let settings = ProcessorSettings { name, lease, standby_after, histograms_by_bucket, drain };
    Some(ProcessorRole { listen: section.listen, buckets, settings })
}

/// `@` isn't allowed, because `@parked` is the owner of parked jobs.
fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if name.len() <= 64 && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!("`{}` is not a valid replica name: use at most 64 of a-z A-Z 0-9 _ - . :", name.escape_debug()))
}
