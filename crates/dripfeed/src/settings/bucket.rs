//! `[buckets.NAME]`, which overrides `[defaults]`.

mod checks;
mod keep;
mod leak;
mod limits;
mod order;
mod section;
mod targets;

use std::collections::BTreeMap;

use dripfeed_bucket::{BucketLimits, BucketSettings, FairBy, OnOutcome};
use dripfeed_job::BucketName;
use dripfeed_job::forward::ClientAddress;
use dripfeed_processor::Upstream;
use dripfeed_store::Durability;
use serde_json::{Value as Json, json};

use self::checks::{check_fair, check_keep, check_key, check_retry, refuse_for_list};
use self::section::{ConfiguredKind, Section};
use super::read::{Reader, SectionPath};
use super::tree::Step;
use super::upstream::UpstreamKeys;

/// The settings of a bucket and of its upstream.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredBucket {
    settings: BucketSettings,
    pub(crate) limits: BucketLimits,
    pub(crate) upstream: Upstream,
}

impl ConfiguredBucket {
    /// `durability` is the class that the server provides.
    pub(crate) fn settings(&self, durability: Durability) -> BucketSettings {
        BucketSettings { durability, ..self.settings.clone() }
    }

    pub(crate) const fn on_outcome(&self) -> &OnOutcome {
        &self.settings.on_outcome
    }

    /// Returns the Redis key of the jobs, if it isn't the default one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.settings.key.as_deref()
    }
}

/// Reads all buckets by name. Returns `None` for a bucket with an error, which is reported.
pub(super) fn read(reader: &mut Reader<'_>) -> BTreeMap<BucketName, Option<ConfiguredBucket>> {
    let defaults = checked_defaults(reader);
    let mut buckets = BTreeMap::new();
    let path = ["buckets".into()];
    // If no bucket is configured, the section doesn't exist.
    if reader.tree.has(&path) && !reader.tree.json(&path).is_object() {
        reader.error(&path, "must be a table: add [buckets.NAME], or remove it");
    }
    for name in reader.tree.names(&["buckets".into()]) {
        match name.parse::<BucketName>() {
            Ok(parsed) => {
                let bucket = read_bucket(reader, &parsed, &defaults);
                buckets.insert(parsed, bucket);
            }
            Err(error) => reader.error(&["buckets".into(), Step::Key(name)], error.to_string()),
        }
    }
    buckets
}

/// Checks the settings that refer to other buckets.
pub(super) fn check_targets(reader: &mut Reader<'_>, buckets: &BTreeMap<BucketName, Option<ConfiguredBucket>>) {
    let settings = buckets.iter().map(|(name, bucket)| (name, bucket.as_ref().map(|bucket| &bucket.settings)));
    targets::check(reader, &settings.collect());
}

/// Returns the `[defaults]` of all buckets. If they have an error, it is reported once, and the compiled-in defaults
/// are used instead.
fn checked_defaults(reader: &mut Reader<'_>) -> Json {
    let path = ["defaults".into()];
    let [set, compiled] = [reader.tree.json(&path), reader.tree.default_json(&path)];
    let errors = reader.count();
    let place = SectionPath::only(&path);
    if let Some(section) = reader.value::<Section>(&place, set.clone(), &compiled) {
        if section.upstream.is_some() {
            reader.error(
                &["defaults".into(), "upstream".into()],
                "is a setting of single buckets: move it to [buckets.NAME]",
            );
        }
        // Even without configured buckets, because buckets created over the API use the defaults.
        check_keep(reader, &place, &section.keep);
        leak::read_tiers(reader, &place, section.leak.tiers);
        limits::read(reader, &place, section.limits);
    }
    if reader.count() == errors { set } else { compiled }
}

pub(super) fn read_bucket(reader: &mut Reader<'_>, name: &BucketName, defaults: &Json) -> Option<ConfiguredBucket> {
    let path = ["buckets".into(), name.as_str().into()];
    let defaults_path = ["defaults".into()];
    let place = SectionPath { path: &path, fallback: Some(&defaults_path) };
    let own = reader.tree.json(&path);
    let fallback = applicable(defaults.clone(), &own);
    let section: Section = reader.value(&place, merge(fallback.clone(), own), &fallback)?;
    check_keep(reader, &place, &section.keep);
    let is_list = matches!(section.kind, ConfiguredKind::List);
    if is_list {
        refuse_for_list(reader, &path, &section);
    } else {
        check_retry(reader, &place, &section.retry);
    }
    check_key(reader, &place, &section.key);
    let on_outcome = section.on_outcome();
    let Section { upstream, upstream_ca_file, method, timeout, connect_timeout, headers, headers_file, .. } = section;
    let Section { signing_secret, signing_secret_file, allow_private, max_answer, leak, .. } = section;
    let leak = leak::read(reader, &place, leak);
    let keys = UpstreamKeys {
        upstream,
        upstream_ca_file,
        method,
        timeout,
        connect_timeout,
        headers,
        headers_file,
        signing_secret,
        signing_secret_file,
        allow_private,
        max_answer,
    };
    let upstream = super::upstream::read(reader, &place, keys);
    let Section { capacity, capacity_bytes, max_share, fair, key, retry, deliveries, keep, limits, .. } = section;
    let forward_client_address = section.forward_client_address;
    let fair = fair.settings();
    if !is_list {
        check_fair(reader, &place, &fair);
    }
    let limits = limits::read(reader, &place, limits);
    // Returns only after all errors have been reported.
    let (leak, upstream, limits) = (leak?, upstream?, limits?);
    let settings = BucketSettings {
        name: name.clone(),
        kind: section.kind.kind(),
        key: Some(key).filter(|key| !key.is_empty()),
        capacity,
        capacity_bytes,
        max_share,
        most_schedules: section.most_schedules,
        schedules_bytes: section.schedules_bytes,
        fair,
        leak,
        retry: retry.settings(),
        deliveries,
        keep: keep.settings(),
        on_outcome,
        client_address: match forward_client_address {
            true => ClientAddress::Forwarded,
            false => ClientAddress::Dropped,
        },
        durability: Durability::Process,
    };
    Some(ConfiguredBucket { settings, limits, upstream })
}

/// Removes defaults that don't apply to a bucket. A list has no retries, no fair queuing and no parked jobs. A bucket
/// that turns fair queuing off has no weights; it couldn't remove those of `[defaults]`, as tables are merged.
fn applicable(mut defaults: Json, own: &Json) -> Json {
    let kind = own.get("kind").or_else(|| defaults.get("kind"));
    if kind.and_then(Json::as_str) == Some("list") {
        defaults["retry"]["attempts"] = json!(1);
        let bounds = json!({ "rate": "", "burst": 1, "tiers": [], "max_in_flight": 0 });
        defaults["fair"] = merge(json!({ "by": "off", "weights": {}, "flows": {} }), bounds);
        defaults["on_outcome"] = json!([]);
        defaults["keep"]["when_dead_full"] = json!("drop_oldest");
    } else if own["fair"]["by"] == FairBy::Off.as_str() {
        defaults["fair"]["weights"] = json!({});
    }
    defaults
}

/// Merges tables key by key. Takes all other values from `over`.
fn merge(base: Json, over: Json) -> Json {
    match (base, over) {
        (Json::Object(mut base), Json::Object(over)) => {
            for (key, value) in over {
                let merged = match base.remove(&key) {
                    Some(base) => merge(base, value),
                    None => value,
                };
                base.insert(key, merged);
            }
            Json::Object(base)
        }
        (_, over) => over,
    }
}
