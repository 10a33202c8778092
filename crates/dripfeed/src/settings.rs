//! What the program is reported: layers of configuration, read once into the plain data that each part owns.
//!
//! `layers` gathers the files, the environment and the arguments into one `tree`; `read` turns a section of it into a
//! typed one, and goes on after an error, so that all of them are reported at once; a file per section then says what
//! it means.

mod bucket;
mod config_error;
mod define;
mod deserialize;
mod grpc;
mod intake;
mod key;
mod layers;
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

use std::collections::BTreeMap;

use dripfeed_auth::ApiKey;
use dripfeed_job::BucketName;
use dripfeed_store::RedisSettings;

pub(crate) use self::bucket::ConfiguredBucket;
pub(crate) use self::config_error::ConfigErrors;
pub(crate) use self::define::definition::DefinitionReader;
pub(crate) use self::define::definition_fault::DefinitionFault;
pub(crate) use self::grpc::GrpcPort;
pub(crate) use self::intake::{DashboardPlace, IntakeRole};
pub(crate) use self::layers::Layers;
pub(crate) use self::log::{LogFormat, LogLevel, LogSettings};
pub(crate) use self::processor::ProcessorRole;
pub(crate) use self::render::RenderedSetting;
pub(crate) use self::secret::read_secret;
pub(crate) use self::trace::TraceSettings;

use self::read::Reader;
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
    /// Of buckets that are defined at run time.
    pub(crate) definitions: DefinitionReader,
    /// Also without keys and by anyone who reaches a port: `--insecure-no-auth`.
    pub(crate) anyone_may_call: bool,
    tree: Tree,
}

const SECTIONS: [&str; 10] =
    ["keys", "redis", "intake", "grpc", "processor", "define", "log", "trace", "buckets", "defaults"];

impl Settings {
    /// Reads all layers.
    ///
    /// # Errors
    /// Everything that is wrong with them, not only the first.
    pub(crate) fn load(layers: &Layers) -> Result<Self, ConfigErrors> {
        let mut errors = ConfigErrors::default();
        let tree = layers.gather(&mut errors);
        // A layer that can't be read would show as settings missing elsewhere.
        errors.clone().into_result()?;
        let settings = Self::of(tree, layers.insecure_no_auth, &mut errors);
        errors.clone().into_result()?;
        settings.ok_or(errors)
    }

    /// None comes with an error.
    fn of(tree: Tree, anyone_may_call: bool, errors: &mut ConfigErrors) -> Option<Self> {
        let mut reader = Reader::new(&tree, errors);
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
        let processor = processor::read(&mut reader, redis.as_ref(), names);
        let log = log::read(&mut reader);
        let trace = trace::read(&mut reader);
        let buckets = buckets.into_iter().filter_map(|(name, bucket)| Some((name, bucket?))).collect();
        Some(Self {
            redis: redis?,
            intake: intake?,
            grpc: grpc?,
            processor: processor?,
            log: log?,
            trace: trace?,
            keys,
            buckets,
            definitions: DefinitionReader::new(define?, &tree),
            anyone_may_call,
            tree,
        })
    }

    /// Every setting in force, with where it comes from; secrets masked.
    pub(crate) fn rendered(&self) -> Vec<RenderedSetting> {
        render::all(&self.tree)
    }

    /// The sections that `other` sets otherwise and that take a restart to change.
    pub(crate) fn restart_needed(&self, other: &Self) -> Vec<&'static str> {
        // One certificate takes the place of another; to begin or end with TLS is another matter.
        let both_tls = self.intake.tls.is_some() && other.intake.tls.is_some();
        let told = |settings: &Self, name: &str| {
            let mut section = settings.tree.json(&[name.into()]);
            if let Some(section) = section.as_object_mut().filter(|_| both_tls) {
                section.retain(|key, _| !matches!(key.as_str(), "tls_cert" | "tls_key"));
            }
            section
        };
        ["redis", "intake", "grpc", "processor", "trace"]
            .into_iter()
            .filter(|name| told(self, name) != told(other, name))
            .collect()
    }
}

#[cfg(test)]
mod tests;
