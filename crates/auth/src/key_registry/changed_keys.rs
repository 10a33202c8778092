//! The keys created over the API that this process knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_store::{KnownEntries, Registry, RegistryEntry, Script};

use super::registry_keys::RegistryKeys;
use super::run_time_key::RunTimeKey;
use super::scripts::KEY_FRAGMENTS;

static SCRIPT: Script = Script::new("changed_keys", KEY_FRAGMENTS, include_str!("changed_keys.lua"));

/// The keys by id.
pub(crate) type AllRunTimeKeys = BTreeMap<String, Arc<RunTimeKey>>;

pub(super) type KnownKeys = KnownEntries<RunTimeKey>;

impl RegistryEntry for RunTimeKey {
    const WHAT: &'static str = "API key";

    fn parse(id: &str, version: u64, text: &str) -> Option<Self> {
        Self::parse(id, version, text)
    }
}

pub(super) fn registry(keys: &RegistryKeys) -> Registry<'_> {
    Registry { script: &SCRIPT, keys: [&keys.keys, &keys.changed, &keys.state] }
}
