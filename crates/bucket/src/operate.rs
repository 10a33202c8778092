//! Operations on a bucket.

pub(crate) mod apply_overrides;
pub(crate) mod audit;
pub(crate) mod cancel;
pub(crate) mod cancel_many;
pub(crate) mod moving;
pub(crate) mod purge;
