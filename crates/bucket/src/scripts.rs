//! The Lua that several scripts share, joined before the verb, in this order; and what differs by kind.

use dripfeed_store::Script;

use crate::settings::Kind;

pub(crate) const NOW: &str = include_str!("now.lua");
pub(crate) const METER: &str = include_str!("meter.lua");
pub(crate) const PACE: &str = include_str!("pace.lua");
pub(crate) const SPEND: &str = include_str!("spend.lua");
pub(crate) const ADAPT: &str = include_str!("adapt.lua");
pub(crate) const CONTROL: &str = include_str!("control.lua");
pub(crate) const WAIT: &str = include_str!("wait.lua");
pub(crate) const HOLDERS: &str = include_str!("holders.lua");
pub(crate) const SHARE: &str = include_str!("share.lua");
pub(crate) const RECORD: &str = include_str!("record.lua");
pub(crate) const BURY: &str = include_str!("bury.lua");

/// What a kind does in its own way. Functions of one name do the same thing in both.
pub(crate) struct Parts {
    /// What a job is written as.
    pub(crate) entry: &'static str,
    /// Who takes.
    pub(crate) consumers: &'static str,
    /// The level, and who holds what of it.
    pub(crate) count: &'static str,
    pub(crate) append: &'static str,
    pub(crate) take: &'static str,
    /// How long parked jobs stay.
    pub(crate) due: &'static str,
    /// What a replica does with a job that it holds.
    pub(crate) held: &'static str,
    pub(crate) census: &'static str,
    /// A job as callers see it.
    pub(crate) view: &'static str,
    // Whole verbs.
    pub(crate) find: &'static str,
    pub(crate) list: &'static str,
    pub(crate) cancel: &'static str,
    pub(crate) purge: &'static str,
}

pub(crate) const STREAM: Parts = Parts {
    entry: include_str!("stream_kind/entry.lua"),
    consumers: include_str!("stream_kind/consumers.lua"),
    count: include_str!("stream_kind/count.lua"),
    append: include_str!("stream_kind/append.lua"),
    take: include_str!("stream_kind/take.lua"),
    due: include_str!("stream_kind/due.lua"),
    held: include_str!("stream_kind/held.lua"),
    census: include_str!("stream_kind/census.lua"),
    view: include_str!("stream_kind/view.lua"),
    find: include_str!("stream_kind/find.lua"),
    list: include_str!("stream_kind/list.lua"),
    cancel: include_str!("stream_kind/cancel.lua"),
    purge: include_str!("stream_kind/purge.lua"),
};

pub(crate) const LIST: Parts = Parts {
    entry: include_str!("list_kind/entry.lua"),
    consumers: include_str!("list_kind/consumers.lua"),
    count: include_str!("list_kind/count.lua"),
    append: include_str!("list_kind/append.lua"),
    take: include_str!("list_kind/take.lua"),
    due: include_str!("list_kind/due.lua"),
    held: include_str!("list_kind/held.lua"),
    census: include_str!("list_kind/census.lua"),
    view: include_str!("list_kind/view.lua"),
    find: include_str!("list_kind/find.lua"),
    list: include_str!("list_kind/list.lua"),
    cancel: include_str!("list_kind/cancel.lua"),
    purge: include_str!("list_kind/purge.lua"),
};

/// A verb's script for each kind.
pub(crate) struct Scripts {
    stream: Script,
    list: Script,
}

impl Scripts {
    /// `join` puts the parts in order, the verb last.
    pub(crate) fn new(name: &'static str, join: fn(&Parts) -> Vec<&'static str>) -> Self {
        let script = |kind| {
            let parts = join(kind);
            #[cfg(feature = "planted-bugs")]
            let parts = crate::planted::in_parts(parts);
            Script::new(name, &parts)
        };
        Self { stream: script(&STREAM), list: script(&LIST) }
    }

    pub(crate) const fn of(&self, kind: Kind) -> &Script {
        match kind {
            Kind::Stream => &self.stream,
            Kind::List => &self.list,
        }
    }
}
