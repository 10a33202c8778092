//! Follows a registry: a hash of named strings, in which each change gets a version higher than all earlier ones.
//!
//! A process asks for changes since the version it knows. It reads all entries again if Redis has another epoch, a
//! lower version, another number of entries, or doesn't have the latest changes that the process knows. So Redis is the
//! source of truth, even if it lost data.

pub(crate) mod audit_log;
pub(crate) mod known_entries;

use crate::script::{Fragment, Fragments, Script};

/// The Lua fragments of registries.
pub const REGISTRY_FRAGMENTS: &Fragments = &[
    Fragment::new("append_to", include_str!("registry/append_to.lua")),
    Fragment::new("changes_since", include_str!("registry/changes_since.lua")),
    Fragment::new("granted", include_str!("registry/granted.lua")),
    Fragment::new("registry_changes", include_str!("registry/registry_changes.lua")),
];

/// The maximum of changes per reply.
const PAGE: usize = 500;
/// The maximum bytes of the texts in a reply, which the last text may exceed.
const PAGE_BYTES: usize = 256 << 10;

/// An entry of a registry, parsed.
pub trait RegistryEntry: PartialEq + Sized {
    /// The name of such entries in error messages.
    const WHAT: &'static str;

    /// Returns `None` if the text can't be parsed, as others may have written it.
    fn parse(name: &str, version: u64, text: &str) -> Option<Self>;
}

/// The location of a registry.
#[derive(Clone, Copy, Debug)]
pub struct Registry<'r> {
    /// The script that returns `changes_since` for these keys and its arguments.
    pub script: &'static Script,
    /// The entries, the versions of their last changes, and the state.
    pub keys: [&'r str; 3],
}
