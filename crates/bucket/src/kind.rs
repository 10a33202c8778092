//! What differs between a stream and a list: Lua functions of the same names, and the scan of a list.

pub(crate) mod list;
