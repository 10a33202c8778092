//! The Lua that several scripts share: joined before the verb, in this order.

pub(crate) const NOW: &str = include_str!("now.lua");
pub(crate) const METER: &str = include_str!("meter.lua");
pub(crate) const PACE: &str = include_str!("pace.lua");
pub(crate) const CONTROL: &str = include_str!("control.lua");
pub(crate) const WAIT: &str = include_str!("wait.lua");
pub(crate) const RECORD: &str = include_str!("record.lua");
pub(crate) const BURY: &str = include_str!("bury.lua");
pub(crate) const CLASSIFY: &str = include_str!("classify.lua");
