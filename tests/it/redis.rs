//! Redis as it may be: a Cluster, durable by a class, full, or answering with an error.

mod cluster;
mod durability;
mod errors;
mod hanging_master;
mod keys_in_a_cluster;
mod memory_full;
mod moving_slots;
pub(crate) mod readiness;
mod refused_midway;
mod staying_replica;
mod write_access;
