//! The Lua fragments of the scripts of keys.

use dripfeed_limit::lua;
use dripfeed_store::{Fragment, Fragments, REGISTRY_FRAGMENTS};

pub const KEY_FRAGMENTS: &[&Fragments] =
    &[&[Fragment::new("key_changes", include_str!("key_changes.lua"))], REGISTRY_FRAGMENTS, lua::FRAGMENTS];
