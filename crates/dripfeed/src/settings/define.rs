//! `[define]`: which buckets may be created over the API.

mod ceiling;
pub(super) mod definition;
pub(super) mod definition_fault;
mod seal_keys;

use std::path::PathBuf;

use dripfeed_bucket::DefinitionBounds;
use dripfeed_processor::UpstreamPattern;
use serde::Deserialize;

use self::seal_keys::SealKeys;
use super::deserialize;
use super::read::Reader;
use super::tree::Step;

#[derive(Clone, Debug)]
pub(crate) struct DefineSettings {
    /// If empty, no buckets may be created over the API.
    pub(crate) upstreams: Vec<UpstreamPattern>,
    pub(crate) allow_private: bool,
    pub(crate) bounds: DefinitionBounds,
    /// The maximum of concurrent calls of a bucket by each processor.
    concurrency: u16,
    /// `None` if definitions may not have credentials.
    seal_keys: Option<SealKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    upstreams: Vec<String>,
    allow_private: bool,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    most: u64,
    #[serde(deserialize_with = "deserialize::size")]
    bytes: u64,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    concurrency: u16,
    seal_key_file: PathBuf,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<DefineSettings> {
    let Section { upstreams, allow_private, most, bytes, concurrency, seal_key_file } = reader.section("define")?;
    let mut patterns = Vec::with_capacity(upstreams.len());
    for (index, text) in upstreams.iter().enumerate() {
        let path = ["define".into(), "upstreams".into(), Step::Index(index)];
        patterns.extend(reader.accept(&path, text.parse::<UpstreamPattern>().map_err(|error| error.to_string())));
    }
    if most > MAX_DEFINITIONS {
        reader.error(
            &["define".into(), "most".into()],
            format!("use at most {MAX_DEFINITIONS}: every process keeps all of them in memory"),
        );
    }
    let seal_keys = match seal_key_file.as_os_str().is_empty() {
        true => None,
        false => reader.accept(&["define".into(), "seal_key_file".into()], SealKeys::of_file(&seal_key_file)),
    };
    let bounds = DefinitionBounds { most, bytes };
    Some(DefineSettings { upstreams: patterns, allow_private, bounds, concurrency, seal_keys })
}

const MAX_DEFINITIONS: u64 = 10_000;
