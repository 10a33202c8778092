//! Parses bucket definitions of the API, with the parser of `[buckets.NAME]`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use config::{FileFormat, Format as _};
use dripfeed_bucket::BucketSettings;
use dripfeed_job::BucketName;
use dripfeed_store::Durability;
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value as Json, json};

use super::definition_fault::{DefinitionFault, UnreadDefinition, fault};
use super::{DefineSettings, ceiling};
use crate::settings::bucket::{self, ConfiguredBucket};
use crate::settings::config_error::ConfigErrors;
use crate::settings::read::Reader;
use crate::settings::tree::Tree;

/// The keys that only the configuration may set, each with the reason.
const CONFIGURATION_ONLY: [(&str, &str); 6] = [
    ("allow_private", "only the operator may allow private addresses"),
    ("upstream_ca_file", "it would read a file on this machine"),
    ("headers_file", "it would read a file on this machine"),
    ("signing_secret_file", "it would read a file on this machine"),
    ("key", "the key in Redis is derived from the name"),
    ("on_outcome", "only the operator may set the targets of outcome jobs"),
];

/// The keys that are stored encrypted, or refused without `define.seal_key_file`.
const CREDENTIALS: [&str; 2] = ["headers", "signing_secret"];

const ORIGIN: &str = "the definition";

/// For reading settings without an upstream.
const UNUSED_UPSTREAM: &str = "https://defaults.invalid";

/// A definition that may be stored.
pub(crate) struct PreparedDefinition {
    /// Without its credentials.
    pub(crate) definition: Json,
    pub(crate) sealed: Option<String>,
    pub(crate) bucket: ConfiguredBucket,
}

/// Reads definitions, with the `[defaults]` of this process. Each reload creates another one.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionReader {
    pub(crate) define: DefineSettings,
    defaults: Json,
    /// The settings of a bucket that sets nothing else, read when first needed. `None` if `[defaults]` has an error,
    /// which is reported elsewhere.
    default_settings: OnceLock<Option<BucketSettings>>,
}

impl DefinitionReader {
    /// Takes only those keys from `[defaults]` that a definition may set: default credentials are only for upstreams
    /// that the operator has chosen.
    pub(in crate::settings) fn new(define: DefineSettings, tree: &Tree) -> Self {
        let path = ["defaults".into()];
        let [set, compiled] = [tree.json(&path), tree.default_json(&path)];
        // If it isn't a table, that is reported elsewhere.
        let mut defaults = if set.is_object() { set } else { compiled.clone() };
        for key in CONFIGURATION_ONLY.map(|(key, _)| key).into_iter().chain(CREDENTIALS) {
            defaults[key] = compiled[key].clone();
        }
        defaults["allow_private"] = json!(define.allow_private);
        Self { define, defaults, default_settings: OnceLock::new() }
    }

    fn default_settings(&self) -> Option<&BucketSettings> {
        let read = || self.place(&"defaults".parse().ok()?, &json!({}));
        self.default_settings.get_or_init(read).as_ref()
    }

    /// Returns whether buckets may be created over the API.
    pub(crate) const fn is_on(&self) -> bool {
        !self.define.upstreams.is_empty()
    }

    /// Returns the maximum of concurrent calls by each processor: `define.concurrency`, or the default of all buckets
    /// if that is higher.
    pub(crate) fn most_concurrency(&self) -> u32 {
        let default = self.default_settings().map_or(0, |defaults| defaults.leak.concurrency);
        default.max(self.define.concurrency.into())
    }

    /// Reads a stored definition.
    ///
    /// # Errors
    /// All errors of the definition, or that its credentials can't be decrypted.
    pub(crate) fn read(
        &self,
        name: &BucketName,
        definition: &Json,
        sealed: Option<&str>,
    ) -> Result<ConfiguredBucket, UnreadDefinition> {
        let bucket = self.read_allowed(name, definition).map_err(UnreadDefinition::Invalid)?;
        let Some(sealed) = sealed else { return Ok(bucket) };
        let Some(keys) = &self.define.seal_keys else { return Err(UnreadDefinition::Sealed { has_key: false }) };
        let opened = keys.open(name, &bucket.upstream.origin(), sealed);
        let opened = opened.and_then(|opened| serde_json::from_str(opened.expose_secret()).ok());
        let credentials = opened.ok_or(UnreadDefinition::Sealed { has_key: true })?;
        self.read_allowed(name, &with(definition, credentials)).map_err(UnreadDefinition::Invalid)
    }

    /// Reads a definition from a request. Without credentials it keeps those of the definition `before` if the upstream
    /// has the same origin, and is refused if they can't be decrypted.
    ///
    /// # Errors
    /// All errors of the definition.
    pub(crate) fn prepare(
        &self,
        name: &BucketName,
        document: &Json,
        before: Option<(&Json, Option<&str>)>,
    ) -> Result<PreparedDefinition, Vec<DefinitionFault>> {
        let (definition, credentials) = split_off(document, CREDENTIALS);
        if credentials.is_empty() {
            let bucket = self.read_allowed(name, &definition)?;
            let sealed = match before {
                Some((before, Some(sealed))) => self.keep_credentials(name, &bucket, before, sealed)?,
                _ => None,
            };
            return Ok(PreparedDefinition { definition, sealed, bucket });
        }
        let bucket = self.read_allowed(name, document);
        let Some(keys) = &self.define.seal_keys else {
            let unsealed = |key| fault(key, "can't be stored: define.seal_key_file isn't set");
            return Err(bucket.err().into_iter().flatten().chain(credentials.keys().map(unsealed)).collect());
        };
        let bucket = bucket?;
        let text = Json::Object(credentials).to_string();
        let sealed = keys.seal(name, &bucket.upstream.origin(), &text);
        let sealed =
            sealed.ok_or_else(|| vec![fault("headers", "the operating system's random number generator failed")])?;
        Ok(PreparedDefinition { definition, sealed: Some(sealed), bucket })
    }

    /// Returns the earlier credentials, encrypted with the first key, or `None` if the origin has changed.
    fn keep_credentials(
        &self,
        name: &BucketName,
        bucket: &ConfiguredBucket,
        before: &Json,
        sealed: &str,
    ) -> Result<Option<String>, Vec<DefinitionFault>> {
        let origin = bucket.upstream.origin();
        // Only its upstream, as the rest of it may not be allowed any more.
        let before = self.read_any(name, &json!({ "upstream": before["upstream"] }));
        if before.is_ok_and(|before| before.upstream.origin() != origin) {
            return Ok(None);
        }
        let sealed = self.define.seal_keys.as_ref().and_then(|keys| keys.seal_again(name, &origin, sealed));
        let lost = "the stored credentials can't be decrypted, because their key isn't in define.seal_key_file; send \
            headers and signing_secret again, or delete the bucket";
        sealed.map(Some).ok_or_else(|| vec![fault("headers", lost)])
    }

    /// Returns settings that determine the bucket's place in Redis, whatever errors its definition has. Returns `None`
    /// if its kind can't be read.
    pub(crate) fn place(&self, name: &BucketName, definition: &Json) -> Option<BucketSettings> {
        let mut minimal = json!({ "upstream": UNUSED_UPSTREAM });
        if let Some(kind) = definition.get("kind") {
            minimal["kind"] = kind.clone();
        }
        Some(self.read_any(name, &minimal).ok()?.settings(Durability::Process))
    }

    /// Reads a definition, and checks that it sets only what is allowed.
    fn read_allowed(&self, name: &BucketName, definition: &Json) -> Result<ConfiguredBucket, Vec<DefinitionFault>> {
        let refused = CONFIGURATION_ONLY.iter().filter(|(key, _)| definition.get(key).is_some());
        let mut faults: Vec<DefinitionFault> =
            refused.map(|(key, why)| fault(*key, format!("can't be set over the API: {why}"))).collect();
        // Refused keys are removed before, so that no file of this machine is read.
        let bucket = self.read_any(name, &split_off(definition, CONFIGURATION_ONLY.map(|(key, _)| key)).0);
        let bucket = bucket.map_err(|errors| faults.extend(errors)).ok();
        faults.extend(bucket.iter().flat_map(|bucket| self.exceeded(bucket)));
        bucket.filter(|_| faults.is_empty()).ok_or(faults)
    }

    /// Returns a fault for each setting that exceeds what the operator allows.
    fn exceeded(&self, bucket: &ConfiguredBucket) -> Vec<DefinitionFault> {
        let settings = bucket.settings(Durability::Process);
        let exceeded = self.default_settings().into_iter().flat_map(|defaults| ceiling::exceeded(&settings, defaults));
        let mut faults: Vec<DefinitionFault> = exceeded.collect();
        let most = self.most_concurrency();
        if settings.leak.concurrency > most {
            faults.push(fault("leak.concurrency", format!("use at most {most}, as in define.concurrency")));
        }
        if !self.define.upstreams.iter().any(|pattern| pattern.allows(&bucket.upstream)) {
            faults.push(fault("upstream", "isn't allowed by define.upstreams"));
        }
        faults
    }

    /// Reads a definition without checking whether its settings are allowed.
    fn read_any(&self, name: &BucketName, definition: &Json) -> Result<ConfiguredBucket, Vec<DefinitionFault>> {
        let tree = self.tree(name, definition).map_err(|message| vec![fault("", message)])?;
        let mut errors = ConfigErrors::default();
        let bucket = bucket::read_bucket(&mut Reader::new(&tree, &mut errors), name, &self.defaults);
        let prefix = format!("buckets.{name}");
        let faults: Vec<DefinitionFault> = errors
            .iter()
            .map(|error| {
                let key = error.key.as_deref().unwrap_or_default();
                let place = key.strip_prefix(&prefix).unwrap_or(key).trim_start_matches('.');
                fault(place, error.message.clone())
            })
            .collect();
        bucket.filter(|_| faults.is_empty()).ok_or(faults)
    }

    fn tree(&self, name: &BucketName, definition: &Json) -> Result<Tree, String> {
        let parse = |document: Json| {
            let parsed = FileFormat::Json.parse(Some(&ORIGIN.to_owned()), &document.to_string());
            parsed.map(config::Value::from).map_err(|_| "can't be read".to_owned())
        };
        let merged = parse(json!({ "buckets": { name.as_str(): definition } }))?;
        let defaults = parse(json!({ "defaults": self.defaults }))?;
        Ok(Tree { merged, defaults, empty_tables: BTreeMap::new() })
    }
}

/// Splits these keys off from the others.
fn split_off<const N: usize>(document: &Json, keys: [&str; N]) -> (Json, Map<String, Json>) {
    let (mut rest, mut removed) = (document.clone(), Map::new());
    if let Some(rest) = rest.as_object_mut() {
        removed.extend(keys.into_iter().filter_map(|key| rest.remove_entry(key)));
    }
    (rest, removed)
}

fn with(definition: &Json, credentials: Map<String, Json>) -> Json {
    let mut merged = definition.clone();
    if let Some(merged) = merged.as_object_mut() {
        merged.extend(credentials);
    }
    merged
}
