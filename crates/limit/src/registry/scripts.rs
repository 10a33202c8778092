//! The Lua fragments of the scripts that change the rules of services.

use dripfeed_store::{Fragment, Fragments, REGISTRY_FRAGMENTS};

use crate::lua;

/// The fragments of scripts that change rules.
pub const RULES_FRAGMENTS: &[&Fragments] =
    &[&[Fragment::new("record_rules", include_str!("record_rules.lua"))], REGISTRY_FRAGMENTS, lua::FRAGMENTS];
