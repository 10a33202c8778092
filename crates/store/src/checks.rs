//! What the server at hand is, what it grants our user, and what is wrong with it.

pub(crate) mod acl;
pub(crate) mod durability_check;
pub(crate) mod server_checks;
pub(crate) mod server_info;
