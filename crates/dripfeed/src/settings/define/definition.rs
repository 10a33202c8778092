//! Parses the definition of a bucket from the API, with the parser of `[buckets.NAME]`.

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

/// What a file alone can say: files on this machine, credentials, another key in Redis, whom to trust, and which other
/// buckets get jobs of it.
const OF_FILES: [(&str, &str); 6] = [
    ("allow_private", "only the operator may allow private addresses"),
    ("upstream_ca_file", "it would read a file on this machine"),
    ("headers_file", "it would read a file on this machine"),
    ("signing_secret_file", "it would read a file on this machine"),
    ("key", "the key in Redis is derived from the name"),
    ("on_outcome", "only the operator may set the targets of outcome jobs"),
];

/// What is sealed, or refused where it can't be.
const CREDENTIALS: [&str; 2] = ["headers", "signing_secret"];

const ORIGIN: &str = "the definition";

/// Where only other settings matter.
const UNUSED_UPSTREAM: &str = "https://defaults.invalid";

/// A definition that may be stored.
pub(crate) struct PreparedDefinition {
    /// Less its credentials.
    pub(crate) definition: Json,
    pub(crate) sealed: Option<String>,
    pub(crate) bucket: ConfiguredBucket,
}

/// Cheap to make again at each reload; each definition is read over the `[defaults]` of this process.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionReader {
    pub(crate) define: DefineSettings,
    defaults: Json,
    /// Of a bucket that says nothing else, read for the first definition. None: something is wrong with `[defaults]`,
    /// which is reported elsewhere.
    default_settings: OnceLock<Option<BucketSettings>>,
}

impl DefinitionReader {
    /// From `[defaults]` nothing is taken that a definition itself can't say: a default credential is for upstreams
    /// that the operator has chosen.
    pub(in crate::settings) fn new(define: DefineSettings, tree: &Tree) -> Self {
        let path = ["defaults".into()];
        let [set, compiled] = [tree.json(&path), tree.default_json(&path)];
        // What else it may be is reported elsewhere.
        let mut defaults = if set.is_object() { set } else { compiled.clone() };
        for key in OF_FILES.map(|(key, _)| key).into_iter().chain(CREDENTIALS) {
            defaults[key] = compiled[key].clone();
        }
        defaults["allow_private"] = json!(define.allow_private);
        Self { define, defaults, default_settings: OnceLock::new() }
    }

    fn default_settings(&self) -> Option<&BucketSettings> {
        let read = || self.place(&"defaults".parse().ok()?, &json!({}));
        self.default_settings.get_or_init(read).as_ref()
    }

    /// Whether anybody may define buckets.
    pub(crate) const fn is_on(&self) -> bool {
        !self.define.upstreams.is_empty()
    }

    /// The most calls at once of each processor: what is allowed, or what each bucket has anyway.
    pub(crate) fn most_concurrency(&self) -> u32 {
        let default = self.default_settings().map_or(0, |defaults| defaults.leak.concurrency);
        default.max(self.define.concurrency.into())
    }

    /// Reads a definition as it is stored.
    ///
    /// # Errors
    /// All that is wrong with it, or that its credentials can't be decrypted.
    pub(crate) fn read(
        &self,
        name: &BucketName,
        definition: &Json,
        sealed: Option<&str>,
    ) -> Result<ConfiguredBucket, UnreadDefinition> {
        let bucket = self.allowed(name, definition).map_err(UnreadDefinition::Invalid)?;
        let Some(sealed) = sealed else { return Ok(bucket) };
        let Some(keys) = &self.define.seal_keys else { return Err(UnreadDefinition::Sealed { has_key: false }) };
        let opened = keys.open(name, &bucket.upstream.origin(), sealed);
        let opened = opened.and_then(|opened| serde_json::from_str(opened.expose_secret()).ok());
        let credentials = opened.ok_or(UnreadDefinition::Sealed { has_key: true })?;
        self.allowed(name, &with(definition, credentials)).map_err(UnreadDefinition::Invalid)
    }

    /// Reads a definition as it was sent. One that says nothing of credentials keeps those of the one before, as long
    /// as it is for the same origin, and is refused where they can't be opened.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn prepare(
        &self,
        name: &BucketName,
        document: &Json,
        before: Option<(&Json, Option<&str>)>,
    ) -> Result<PreparedDefinition, Vec<DefinitionFault>> {
        let (definition, credentials) = without(document, CREDENTIALS);
        if credentials.is_empty() {
            let bucket = self.allowed(name, &definition)?;
            let sealed = match before {
                Some((before, Some(sealed))) => self.kept(name, &bucket, before, sealed)?,
                _ => None,
            };
            return Ok(PreparedDefinition { definition, sealed, bucket });
        }
        let bucket = self.allowed(name, document);
        let Some(keys) = &self.define.seal_keys else {
            let unsealed = credentials.keys();
            let unsealed = unsealed.map(|key| fault(key, "can't be stored: define.seal_key_file isn't set"));
            return Err(bucket.err().into_iter().flatten().chain(unsealed).collect());
        };
        let bucket = bucket?;
        let text = Json::Object(credentials).to_string();
        let sealed = keys.seal(name, &bucket.upstream.origin(), &text);
        let sealed =
            sealed.ok_or_else(|| vec![fault("headers", "the operating system's random number generator failed")])?;
        Ok(PreparedDefinition { definition, sealed: Some(sealed), bucket })
    }

    /// The credentials before, encrypted with the first key; none for another origin.
    fn kept(
        &self,
        name: &BucketName,
        bucket: &ConfiguredBucket,
        before: &Json,
        sealed: &str,
    ) -> Result<Option<String>, Vec<DefinitionFault>> {
        let origin = bucket.upstream.origin();
        // Also where the rest of it isn't allowed any more.
        let before = self.read_any(name, &json!({ "upstream": before["upstream"] }));
        if before.is_ok_and(|before| before.upstream.origin() != origin) {
            return Ok(None);
        }
        let sealed = self.define.seal_keys.as_ref().and_then(|keys| keys.seal_again(name, &origin, sealed));
        let lost = "the stored credentials can't be decrypted, because their key isn't in define.seal_key_file; send \
            headers and signing_secret again, or delete the bucket";
        sealed.map(Some).ok_or_else(|| vec![fault("headers", lost)])
    }

    /// Settings for the bucket's place in Redis, whatever else is wrong with its definition. None: its kind can't be
    /// read.
    pub(crate) fn place(&self, name: &BucketName, definition: &Json) -> Option<BucketSettings> {
        let mut least = json!({ "upstream": UNUSED_UPSTREAM });
        if let Some(kind) = definition.get("kind") {
            least["kind"] = kind.clone();
        }
        Some(self.read_any(name, &least).ok()?.settings(Durability::Process))
    }

    /// Within all that a definition may say.
    fn allowed(&self, name: &BucketName, definition: &Json) -> Result<ConfiguredBucket, Vec<DefinitionFault>> {
        let refused = OF_FILES.iter().filter(|(key, _)| definition.get(key).is_some());
        let mut faults: Vec<DefinitionFault> =
            refused.map(|(key, why)| fault(*key, format!("can't be set over the API: {why}"))).collect();
        // What is refused isn't read: no file of this machine is.
        let read = self.read_any(name, &without(definition, OF_FILES.map(|(key, _)| key)).0);
        let bucket = read.map_err(|found| faults.extend(found)).ok();
        faults.extend(bucket.iter().flat_map(|bucket| self.exceeded(bucket)));
        bucket.filter(|_| faults.is_empty()).ok_or(faults)
    }

    /// What the operator doesn't allow.
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

    /// With whatever upstream.
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

/// Those keys apart.
fn without<const N: usize>(document: &Json, keys: [&str; N]) -> (Json, Map<String, Json>) {
    let (mut rest, mut taken) = (document.clone(), Map::new());
    if let Some(rest) = rest.as_object_mut() {
        taken.extend(keys.into_iter().filter_map(|key| rest.remove_entry(key)));
    }
    (rest, taken)
}

fn with(definition: &Json, credentials: Map<String, Json>) -> Json {
    let mut whole = definition.clone();
    if let Some(whole) = whole.as_object_mut() {
        whole.extend(credentials);
    }
    whole
}
