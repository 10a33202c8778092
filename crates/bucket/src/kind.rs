//! What a stream and a list do differently, in functions of one name.

pub(crate) mod list;
