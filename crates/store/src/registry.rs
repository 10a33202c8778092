//! Follows a registry: a hash of strings by name, in which each change has a version higher than all before.
//!
//! A process asks for changes since the version it knows. It reads all entries again if Redis has another epoch, a
//! lower version, another number of entries, or doesn't have the latest changes that the process knows. So Redis is the
//! source of truth, even if it lost data.

pub(crate) mod known_entries;

use crate::script::{Fragment, Fragments, Script};

/// By their names.
pub const REGISTRY_FRAGMENTS: &Fragments = &[
    Fragment::new("append_to", include_str!("registry/append_to.lua")),
    Fragment::new("changes_since", include_str!("registry/changes_since.lua")),
    Fragment::new("granted", include_str!("registry/granted.lua")),
    Fragment::new("registry_changes", include_str!("registry/registry_changes.lua")),
];

/// In one answer; more are asked for at once.
const PAGE: usize = 500;
/// Of texts in one answer; the last one comes on top.
const PAGE_BYTES: usize = 256 << 10;

/// What a text of a registry says.
pub trait RegistryEntry: PartialEq + Sized {
    /// What error messages call one.
    const WHAT: &'static str;

    /// None: it can't be read. Others may have written it.
    fn parse(name: &str, version: u64, text: &str) -> Option<Self>;
}

/// Where a registry is.
#[derive(Clone, Copy, Debug)]
pub struct Registry<'r> {
    /// Returns `changes_since` of these keys and of its arguments.
    pub script: &'static Script,
    /// The entries, the versions of their last changes, and the state.
    pub keys: [&'r str; 3],
}
