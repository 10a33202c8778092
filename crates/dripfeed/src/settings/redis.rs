//! `[redis]`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use dripfeed_job::BucketName;
use dripfeed_store::{Address, Durability, RedisSettings, same_slot};
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::bucket::ConfiguredBucket;
use super::deserialize;
use super::read::Reader;
use super::secret;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    #[serde(deserialize_with = "deserialize::redis_url")]
    url: Address,
    url_file: PathBuf,
    prefix: String,
    durability: Durability,
    #[serde(deserialize_with = "deserialize::time")]
    connect_timeout: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    response_timeout: Duration,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<RedisSettings> {
    let section: Section = reader.section("redis")?;
    let url = url(reader, &section);
    let place = if section.url_file.as_os_str().is_empty() { "url" } else { "url_file" };
    for fault in url.tls_file_errors() {
        reader.error(&["redis".into(), place.into()], fault);
    }
    if let Err(message) = check_prefix(&section.prefix) {
        reader.error(&["redis".into(), "prefix".into()], message);
    }
    let mut settings = RedisSettings::new(url, section.prefix, section.durability);
    settings.connect_timeout = section.connect_timeout;
    settings.response_timeout = section.response_timeout;
    Some(settings)
}

/// Returns the URL. If its file can't be read, reports that and returns `redis.url`, so that other errors are reported,
/// too.
fn url(reader: &mut Reader<'_>, section: &Section) -> Address {
    if section.url_file.as_os_str().is_empty() {
        return section.url.clone();
    }
    let url = if reader.tree.is_set(&["redis".into(), "url".into()]) {
        Err("redis.url is also set: remove one of them".to_owned())
    } else {
        secret::read_secret(&section.url_file).and_then(|url| {
            url.expose_secret().parse().map_err(|error| format!("{}: {error}", section.url_file.display()))
        })
    };
    reader.accept(&["redis".into(), "url_file".into()], url).unwrap_or_else(|| section.url.clone())
}

/// Checks each bucket's `key`: buckets with the same key would claim each other's jobs, it must not be another key of
/// dripfeed, and in a Cluster it must be in the slot of the bucket's other keys, because scripts use them together.
pub(super) fn check_keys(
    reader: &mut Reader<'_>,
    redis: Option<&RedisSettings>,
    buckets: &BTreeMap<BucketName, Option<ConfiguredBucket>>,
) {
    let mut owners: BTreeMap<&str, &BucketName> = BTreeMap::new();
    for (name, bucket) in buckets {
        let Some(key) = bucket.as_ref().and_then(ConfiguredBucket::key) else { continue };
        let errors = [
            owners.get(key).map(|other| format!("the bucket `{other}` has the same key, `{key}`")),
            redis.and_then(|redis| below_prefix(key, &redis.prefix)),
            redis.filter(|redis| redis.url.is_cluster()).and_then(|_| in_another_slot(key, name)),
        ];
        for message in errors.into_iter().flatten() {
            reader.error(&["buckets".into(), name.as_str().into(), "key".into()], message);
        }
        owners.entry(key).or_insert(name);
    }
}

fn below_prefix(key: &str, prefix: &str) -> Option<String> {
    let reserved = format!("{prefix}:{{");
    key.starts_with(&reserved).then(|| format!("`{key}` is reserved: use a key that doesn't begin with `{reserved}`"))
}

fn in_another_slot(key: &str, bucket: &BucketName) -> Option<String> {
    let tag = format!("{{{bucket}}}");
    (!same_slot(key, &tag))
        .then(|| format!("`{key}` is in another slot of the Redis Cluster than the bucket: begin it with `{tag}`"))
}

/// Braces aren't allowed, because they would change the cluster slots of keys.
fn check_prefix(prefix: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if !prefix.is_empty() && prefix.len() <= 64 && prefix.chars().all(plain) {
        return Ok(());
    }
    Err(format!("`{}` is not a valid prefix: use 1 to 64 of a-z A-Z 0-9 _ - . :", prefix.escape_debug()))
}
