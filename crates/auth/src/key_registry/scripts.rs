//! What the scripts of keys are joined from.

use dripfeed_limit::lua;
use dripfeed_store::Fragments;

/// By their names.
pub const KEY_FRAGMENTS: &[&Fragments] = &[&[("key_changes", include_str!("key_changes.lua"))], lua::FRAGMENTS];
