//! This version and the one before it, the base, beside each other on one Redis: what the guide promises of an upgrade,
//! and of the way back. `make upgrade` builds the base from git history.

mod left;
mod load;
mod rolling;
mod settings;
mod versions;
