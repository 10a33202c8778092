//! Configuration: layers, parsed once into the plain data that each part owns.
//!
//! `layers` merges files, environment and arguments into one `tree`; `read` deserializes a section of it, and continues
//! after an error, so that all errors are reported together; one file per section validates it.

mod bucket;
mod config_error;
mod define;
mod deserialize;
mod grpc;
mod intake;
mod key;
mod layers;
mod listeners;
mod log;
mod processor;
mod read;
mod redis;
mod render;
mod secret;
mod selector;
mod trace;
mod tree;
mod upstream;

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use dripfeed_auth::ApiKey;
use dripfeed_job::BucketName;
use dripfeed_store::RedisSettings;
use serde_json::{Map, Value as Json};

pub(crate) use self::bucket::ConfiguredBucket;
pub(crate) use self::config_error::ConfigErrors;
pub(crate) use self::define::definition::DefinitionReader;
pub(crate) use self::define::definition_fault::{DefinitionFault, UnreadDefinition};
pub(crate) use self::grpc::GrpcPort;
pub(crate) use self::intake::{DashboardPlace, IntakeRole};
pub(crate) use self::layers::{Layers, Misnamed};
pub(crate) use self::log::{LogFormat, LogLevel, LogSettings};
pub(crate) use self::processor::ProcessorRole;
pub(crate) use self::render::{RenderedSetting, SettingsChecksum};
pub(crate) use self::secret::read_secret;
pub(crate) use self::trace::TraceSettings;

use self::read::{Reader, TypedValues};
use self::selector::KnownNames;
use self::tree::Tree;

/// The settings of all roles; each takes its part.
pub(crate) struct Settings {
    pub(crate) redis: RedisSettings,
    pub(crate) intake: IntakeRole,
    /// None: off.
    pub(crate) grpc: Option<GrpcPort>,
    pub(crate) processor: ProcessorRole,
    pub(crate) log: LogSettings,
    /// None: off.
    pub(crate) trace: Option<TraceSettings>,
    pub(crate) keys: Vec<ApiKey>,
    pub(crate) buckets: BTreeMap<BucketName, ConfiguredBucket>,
    /// Of buckets created over the API.
    pub(crate) definitions: DefinitionReader,
    /// What is allowed and probably not meant, for `check`.
    pub(crate) warnings: Vec<String>,
    /// Variables that set nothing, for `check` and the log.
    pub(crate) misnamed_variables: Vec<Misnamed>,
    /// Also without keys and by anyone who reaches a port: `--insecure-no-auth`.
    pub(crate) anyone_may_call: bool,
    /// The sections that take a restart to change, as they are set, in the order of `BY_RESTART`.
    by_restart: [Json; BY_RESTART.len()],
}

const SECTIONS: [&str; 10] =
    ["keys", "redis", "intake", "grpc", "processor", "define", "log", "trace", "buckets", "defaults"];

const BY_RESTART: [&str; 6] = ["redis", "intake", "grpc", "processor", "log", "trace"];

impl Settings {
    /// Reads all layers.
    ///
    /// # Errors
    /// Everything that is wrong with them, not only the first.
    pub(crate) fn load(layers: &Layers) -> Result<Self, ConfigErrors> {
        Self::read(layers).map(|(settings, ..)| settings)
    }

    /// [`Settings::load`] for a role: with their checksum, which no other command reports.
    pub(crate) fn load_with_checksum(layers: &Layers) -> Result<(Self, SettingsChecksum), ConfigErrors> {
        Self::read(layers).map(|(settings, tree, typed)| (settings, SettingsChecksum::of(&tree, &typed)))
    }

    /// Every setting in force, with where it comes from; secrets masked.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub(crate) fn rendered(layers: &Layers) -> Result<Vec<RenderedSetting>, ConfigErrors> {
        Self::read(layers).map(|(_, tree, typed)| render::all(&tree, &typed))
    }

    /// And the tree, which takes more memory than all else of a bucket's settings.
    fn read(layers: &Layers) -> Result<(Self, Tree, TypedValues), ConfigErrors> {
        let mut errors = ConfigErrors::default();
        let Some(tree) = layers.gather(&mut errors) else { return Err(errors) };
        let settings = Self::of(&tree, layers.insecure_no_auth, &mut errors);
        errors.clone().into_result()?;
        let (mut settings, typed) = settings.ok_or(errors)?;
        settings.misnamed_variables = layers.misnamed_variables(&tree.defaults);
        Ok((settings, tree, typed))
    }

    /// None comes with an error.
    fn of(tree: &Tree, anyone_may_call: bool, errors: &mut ConfigErrors) -> Option<(Self, TypedValues)> {
        let mut reader = Reader::new(tree, errors);
        reader.refuse_unknown_sections(&SECTIONS);
        let buckets = bucket::read(&mut reader);
        bucket::check_targets(&mut reader, &buckets);
        let define = define::read(&mut reader);
        let names = KnownNames {
            configured: &buckets,
            others_may_come: define.as_ref().is_none_or(|define| !define.upstreams.is_empty()),
        };
        let keys = key::read(&mut reader, names);
        let redis = redis::read(&mut reader);
        redis::check_keys(&mut reader, redis.as_ref(), &buckets);
        let intake = intake::read(&mut reader, anyone_may_call);
        let grpc = grpc::read(&mut reader, anyone_may_call);
        if let (Some(intake), Some(grpc)) = (&intake, grpc) {
            listeners::check(&mut reader, intake, grpc);
        }
        let processor = processor::read(&mut reader, redis.as_ref(), names);
        let log = log::read(&mut reader);
        let trace = trace::read(&mut reader);
        let buckets = buckets.into_iter().filter_map(|(name, bucket)| Some((name, bucket?))).collect();
        let typed = reader.into_typed();
        let settings = Self {
            redis: redis?,
            intake: intake?,
            grpc: grpc?,
            processor: processor?,
            log: log?,
            trace: trace?,
            keys,
            buckets,
            definitions: DefinitionReader::new(define?, tree),
            warnings: key::warnings(tree),
            misnamed_variables: Vec::new(),
            anyone_may_call,
            by_restart: BY_RESTART.map(|section| tree.json(&[section.into()])),
        };
        Some((settings, typed))
    }

    /// That the intake's own certificate has expired, or will soon.
    pub(crate) fn expiring_certificate(&self) -> Option<String> {
        intake::certificate::warning(self.intake.tls.as_ref()?.expires()?, SystemTime::now())
    }

    /// The settings that `other` has otherwise and that take a restart to change.
    pub(crate) fn restart_needed(&self, other: &Self) -> Vec<String> {
        // One certificate takes the place of another; to begin or end with TLS is another matter.
        let both_tls = self.intake.tls.is_some() && other.intake.tls.is_some();
        let is_reloaded = |section: &str, key: &str| match section {
            "intake" => both_tls && matches!(key, "tls_cert" | "tls_key"),
            "log" => key == "level",
            _ => false,
        };
        let mut changed = Vec::new();
        for (section, (this, other)) in BY_RESTART.into_iter().zip(self.by_restart.iter().zip(&other.by_restart)) {
            let keys: BTreeSet<&String> =
                [this, other].into_iter().filter_map(Json::as_object).flat_map(Map::keys).collect();
            let differ = keys.into_iter().filter(|key| this.get(key) != other.get(key) && !is_reloaded(section, key));
            changed.extend(differ.map(|key| format!("{section}.{key}")));
        }
        changed
    }
}

#[cfg(test)]
mod tests;
