//! Reads the configuration into typed settings for each part of the program.
//!
//! `layers` merges files, environment and arguments into one `tree`. `read` deserializes a section of it, and continues
//! after an error, so that all errors are reported together. Each section has a file that validates it.

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

/// The settings of all roles.
pub(crate) struct Settings {
    pub(crate) redis: RedisSettings,
    pub(crate) intake: IntakeRole,
    /// `None` if off.
    pub(crate) grpc: Option<GrpcPort>,
    pub(crate) processor: ProcessorRole,
    pub(crate) log: LogSettings,
    /// `None` if off.
    pub(crate) trace: Option<TraceSettings>,
    pub(crate) keys: Vec<ApiKey>,
    pub(crate) buckets: BTreeMap<BucketName, ConfiguredBucket>,
    /// Reads the definitions of buckets created over the API.
    pub(crate) definitions: DefinitionReader,
    /// Valid settings that are probably not intended, for `check`.
    pub(crate) warnings: Vec<String>,
    /// Environment variables that look like settings and set nothing, for `check` and the log.
    pub(crate) misnamed_variables: Vec<Misnamed>,
    /// Whether `--insecure-no-auth` is set: anyone who reaches a port may do everything, even without API keys.
    pub(crate) anyone_may_call: bool,
    /// The values of the sections in `NEED_RESTART`.
    need_restart: [Json; NEED_RESTART.len()],
}

const SECTIONS: [&str; 10] =
    ["keys", "redis", "intake", "grpc", "processor", "define", "log", "trace", "buckets", "defaults"];

/// The sections whose changes need a restart.
const NEED_RESTART: [&str; 6] = ["redis", "intake", "grpc", "processor", "log", "trace"];

impl Settings {
    /// Reads all layers.
    ///
    /// # Errors
    /// All errors of all layers.
    pub(crate) fn load(layers: &Layers) -> Result<Self, ConfigErrors> {
        Self::read(layers).map(|(settings, ..)| settings)
    }

    /// [`Settings::load`] for a role, which reports the checksum of its settings.
    pub(crate) fn load_with_checksum(layers: &Layers) -> Result<(Self, SettingsChecksum), ConfigErrors> {
        Self::read(layers).map(|(settings, tree, typed)| (settings, SettingsChecksum::of(&tree, &typed)))
    }

    /// Returns each setting in force with its origin. Secrets are masked.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub(crate) fn rendered(layers: &Layers) -> Result<Vec<RenderedSetting>, ConfigErrors> {
        Self::read(layers).map(|(_, tree, typed)| render::all(&tree, &typed))
    }

    /// Also returns the tree, which isn't kept because it takes more memory than the settings.
    fn read(layers: &Layers) -> Result<(Self, Tree, TypedValues), ConfigErrors> {
        let mut errors = ConfigErrors::default();
        let Some(tree) = layers.gather(&mut errors) else { return Err(errors) };
        let settings = Self::of(&tree, layers.insecure_no_auth, &mut errors);
        errors.clone().into_result()?;
        let (mut settings, typed) = settings.ok_or(errors)?;
        settings.misnamed_variables = layers.misnamed_variables(&tree.defaults);
        Ok((settings, tree, typed))
    }

    /// Returns `None` after adding an error.
    fn of(tree: &Tree, anyone_may_call: bool, errors: &mut ConfigErrors) -> Option<(Self, TypedValues)> {
        let mut reader = Reader::new(tree, errors);
        reader.refuse_unknown_sections(&SECTIONS);
        let buckets = bucket::read(&mut reader);
        bucket::check_targets(&mut reader, &buckets);
        let define = define::read(&mut reader);
        let names = KnownNames {
            configured: &buckets,
            may_be_created: define.as_ref().is_none_or(|define| !define.upstreams.is_empty()),
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
            need_restart: NEED_RESTART.map(|section| tree.json(&[section.into()])),
        };
        Some((settings, typed))
    }

    /// Returns a warning if the intake's certificate has expired, or will soon.
    pub(crate) fn expiring_certificate(&self) -> Option<String> {
        intake::certificate::warning(self.intake.tls.as_ref()?.expires()?, SystemTime::now())
    }

    /// Returns the settings that differ in `other` and whose change needs a restart.
    pub(crate) fn restart_needed(&self, other: &Self) -> Vec<String> {
        // A reload replaces a certificate, but can't switch TLS on or off.
        let both_tls = self.intake.tls.is_some() && other.intake.tls.is_some();
        let is_reloaded = |section: &str, key: &str| match section {
            "intake" => both_tls && matches!(key, "tls_cert" | "tls_key"),
            "log" => key == "level",
            _ => false,
        };
        let mut changed = Vec::new();
        for (section, (this, other)) in NEED_RESTART.into_iter().zip(self.need_restart.iter().zip(&other.need_restart))
        {
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
