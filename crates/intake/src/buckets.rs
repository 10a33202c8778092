//! Operations on buckets.

pub(crate) mod audit;
pub(crate) mod change;
pub(crate) mod define;
pub(crate) mod doctor;
pub(crate) mod flows;
pub(crate) mod history;
pub(crate) mod holders;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod pause;
pub(crate) mod purge;
pub(crate) mod recent;
pub(crate) mod scale;
pub(crate) mod settings;
pub(crate) mod state;
pub(crate) mod value_change;
mod version;
