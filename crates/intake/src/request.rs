//! Request parsing: authorization, bodies, queries, client addresses; and the memory of responses.

pub(crate) mod access;
pub(crate) mod added_routes;
pub(crate) mod body;
pub(crate) mod client_ip;
pub(crate) mod json;
pub(crate) mod pagination;
pub(crate) mod preconditions;
pub(crate) mod response_memory;
pub(crate) mod time;
pub(crate) mod visibility;
