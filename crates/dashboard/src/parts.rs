//! Shared elements of pages.

pub(crate) mod action;
pub(crate) mod attention;
pub(crate) mod bar;
pub(crate) mod card;
pub(crate) mod curl;
pub(crate) mod drawing;
pub(crate) mod holders;
pub(crate) mod layout;
pub(crate) mod leak;
pub(crate) mod listing;
pub mod numbers;
pub(crate) mod overview;
pub(crate) mod payload;
pub(crate) mod policy;
pub(crate) mod replays;
pub(crate) mod strips;
pub(crate) mod table;
pub(crate) mod teach;
pub(crate) mod trail;
pub(crate) mod when;
