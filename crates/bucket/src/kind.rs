//! What differs between a stream and a list: functions of the same names.

pub(crate) mod list;
