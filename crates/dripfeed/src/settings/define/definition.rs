//! Reads the definition of a bucket from the API, by the reader of `[buckets.NAME]`.

use config::{FileFormat, Format as _};
use dripfeed_bucket::BucketSettings;
use dripfeed_job::BucketName;
use dripfeed_store::Durability;
use serde_json::{Value as Json, json};

use super::definition_fault::{DefinitionFault, fault};
use super::{DefineSettings, ceiling};
use crate::settings::bucket::{self, ConfiguredBucket};
use crate::settings::config_error::ConfigErrors;
use crate::settings::read::Reader;
use crate::settings::tree::Tree;

/// What a file alone can say: files on this machine, credentials, another key in Redis, and whom to trust.
const OF_FILES: [(&str, &str); 7] = [
    ("allow_private", "which addresses may be called is the operator's to say"),
    ("upstream_ca_file", "it is a file of this machine"),
    ("headers", "credentials aren't stored"),
    ("headers_file", "it is a file of this machine"),
    ("signing_secret", "credentials aren't stored"),
    ("signing_secret_file", "it is a file of this machine"),
    ("key", "the key in Redis follows from the name"),
];

const ORIGIN: &str = "the definition";

/// Cheap to make again at each reload; each definition is read over the `[defaults]` of this process.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionReader {
    pub(crate) define: DefineSettings,
    defaults: Json,
    /// Of a bucket that says nothing else. None: something is wrong with `[defaults]`, which is reported elsewhere.
    default_settings: Option<BucketSettings>,
}

impl DefinitionReader {
    /// From `[defaults]` nothing is taken that a definition itself can't say: a default credential is for upstreams
    /// that the operator has chosen.
    pub(in crate::settings) fn new(define: DefineSettings, tree: &Tree) -> Self {
        let path = ["defaults".into()];
        let [mut defaults, compiled] = [tree.json(&path), tree.default_json(&path)];
        for (key, _) in OF_FILES {
            defaults[key] = compiled[key].clone();
        }
        defaults["allow_private"] = json!(define.allow_private);
        let mut reader = Self { define, defaults, default_settings: None };
        let of_defaults = "defaults"
            .parse()
            .ok()
            .and_then(|name| reader.read_any(&name, &json!({ "upstream": "https://defaults.invalid" })).ok());
        reader.default_settings = of_defaults.map(|bucket| bucket.settings(Durability::Process));
        reader
    }

    /// Whether anybody may define buckets.
    pub(crate) const fn is_on(&self) -> bool {
        !self.define.upstreams.is_empty()
    }

    /// Reads a definition.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn read(&self, name: &BucketName, definition: &Json) -> Result<ConfiguredBucket, Vec<DefinitionFault>> {
        let refused = OF_FILES.iter().filter(|(key, _)| definition.get(key).is_some());
        let refused: Vec<DefinitionFault> =
            refused.map(|(key, why)| fault(*key, format!("can't be set over the API: {why}"))).collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        let bucket = self.read_any(name, definition)?;
        let settings = bucket.settings(Durability::Process);
        let exceeded = self.default_settings.iter().flat_map(|defaults| ceiling::exceeded(&settings, defaults));
        let exceeded: Vec<DefinitionFault> = exceeded.collect();
        if !exceeded.is_empty() {
            return Err(exceeded);
        }
        if self.define.upstreams.iter().any(|pattern| pattern.allows(&bucket.upstream)) {
            return Ok(bucket);
        }
        Err(vec![fault("upstream", "isn't among define.upstreams, which the operator allows")])
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
        Ok(Tree { merged, defaults: parse(json!({ "defaults": self.defaults }))? })
    }
}
