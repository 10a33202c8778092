//! The Lua that several scripts share, joined before the verb, in this order; and what differs by kind.

use dripfeed_store::Script;

use crate::settings::Kind;

pub(crate) const AT_MAXMEMORY: &str = include_str!("at_maxmemory.lua");
pub(crate) const NOW: &str = include_str!("now.lua");
pub(crate) const METER: &str = include_str!("meter.lua");
pub(crate) const PACE: &str = include_str!("../pace.lua");
pub(crate) const HOLD: &str = include_str!("../pace/throttle.lua");
pub(crate) const SPEND: &str = include_str!("../pace/spend.lua");
pub(crate) const ADAPT: &str = include_str!("../pace/adapt.lua");
pub(crate) const CONTROL: &str = include_str!("../settings/control.lua");
pub(crate) const WAIT: &str = include_str!("../pace/eta.lua");
pub(crate) const HOLDERS: &str = include_str!("../admission/callers.lua");
pub(crate) const SHARE: &str = include_str!("../admission/caller_share.lua");
pub(crate) const NOTICES: &str = include_str!("../ended/notices.lua");
pub(crate) const BYTES: &str = include_str!("bytes.lua");
pub(crate) const RECORD: &str = include_str!("../ended/record.lua");
pub(crate) const LETTERS: &str = include_str!("../ended/letters.lua");
pub(crate) const BURY: &str = include_str!("../deliver/bury.lua");

/// What a kind does in its own way. Functions of one name do the same thing in both.
pub(crate) struct Parts {
    /// What a job is written as.
    pub(crate) entry: &'static str,
    /// Who takes.
    pub(crate) consumers: &'static str,
    /// The level, and who holds what of it.
    pub(crate) count: &'static str,
    pub(crate) append: &'static str,
    /// What a stream does with jobs that couldn't be buried.
    pub(crate) unburied: &'static str,
    pub(crate) take: &'static str,
    /// How long parked jobs stay.
    pub(crate) due: &'static str,
    /// What a replica does with a job that it holds.
    pub(crate) held: &'static str,
    pub(crate) census: &'static str,
    /// A job as callers see it.
    pub(crate) view: &'static str,
    /// How a job that no replica holds leaves a stream.
    pub(crate) leave: &'static str,
    /// What a move reads of a bucket.
    pub(crate) leaving: &'static str,
    /// How a job that was moved leaves it.
    pub(crate) moved: &'static str,
    /// Which jobs can't be there any more.
    pub(crate) gone: &'static str,
    // Whole verbs.
    pub(crate) find: &'static str,
    pub(crate) list: &'static str,
    pub(crate) cancel: &'static str,
    pub(crate) purge: &'static str,
    pub(crate) examine: &'static str,
}

pub(crate) const STREAM: Parts = Parts {
    entry: include_str!("../kind/stream/entry.lua"),
    consumers: include_str!("../kind/stream/consumers.lua"),
    count: include_str!("../kind/stream/count.lua"),
    append: include_str!("../kind/stream/append.lua"),
    unburied: include_str!("../kind/stream/unburied.lua"),
    take: include_str!("../kind/stream/take.lua"),
    due: include_str!("../kind/stream/due.lua"),
    held: include_str!("../kind/stream/held.lua"),
    census: include_str!("../kind/stream/census.lua"),
    view: include_str!("../kind/stream/view.lua"),
    leave: include_str!("../kind/stream/leave.lua"),
    leaving: include_str!("../kind/stream/leaving.lua"),
    moved: include_str!("../kind/stream/moved.lua"),
    gone: include_str!("../kind/stream/gone.lua"),
    find: include_str!("../kind/stream/find.lua"),
    list: include_str!("../kind/stream/list.lua"),
    cancel: include_str!("../kind/stream/cancel.lua"),
    purge: include_str!("../kind/stream/purge.lua"),
    examine: include_str!("../kind/stream/examine.lua"),
};

pub(crate) const LIST: Parts = Parts {
    entry: include_str!("../kind/list/entry.lua"),
    consumers: include_str!("../kind/list/consumers.lua"),
    count: include_str!("../kind/list/count.lua"),
    append: include_str!("../kind/list/append.lua"),
    unburied: "",
    take: include_str!("../kind/list/take.lua"),
    due: include_str!("../kind/list/due.lua"),
    held: include_str!("../kind/list/held.lua"),
    census: include_str!("../kind/list/census.lua"),
    view: include_str!("../kind/list/view.lua"),
    leave: "",
    leaving: include_str!("../kind/list/leaving.lua"),
    moved: include_str!("../kind/list/moved.lua"),
    gone: include_str!("../kind/list/gone.lua"),
    find: include_str!("../kind/list/find.lua"),
    list: include_str!("../kind/list/list.lua"),
    cancel: include_str!("../kind/list/cancel.lua"),
    purge: include_str!("../kind/list/purge.lua"),
    examine: include_str!("../kind/list/examine.lua"),
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
            let parts = crate::script::fault_injection::in_parts(parts);
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
