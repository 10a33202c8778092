//! The fragments that the scripts of keys are joined from.

use dripfeed_limit::lua;
use dripfeed_store::{Fragment, Fragments, REGISTRY_FRAGMENTS};

/// By their names.
pub const KEY_FRAGMENTS: &[&Fragments] =
    &[&[Fragment::new("key_changes", include_str!("key_changes.lua"))], REGISTRY_FRAGMENTS, lua::FRAGMENTS];
