//! What hostile callers and upstreams can do, what Redis must allow, and where secrets may not be.

mod acl;
mod hostile_neighbours;
mod hostile_upstreams;
mod secret_leaks;
