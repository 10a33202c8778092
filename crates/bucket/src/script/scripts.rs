//! Of what scripts are joined: the fragments that others need, each by its name, and those that each kind has in its
//! own way.

use dripfeed_limit::lua;
use dripfeed_store::{Fragments, REGISTRY_FRAGMENTS, Script};

use crate::script::constants::CONSTANTS;
use crate::script::pace_constants::PACE_CONSTANTS;
use crate::settings::Kind;

/// For a script that does the same for both kinds. Our own `now` comes before that of the limits.
pub(crate) const SHARED: &[&Fragments] = &[FRAGMENTS, REGISTRY_FRAGMENTS, lua::FRAGMENTS];
/// For one that only streams have.
pub(crate) const STREAM: &[&Fragments] = &[OF_STREAMS, FRAGMENTS, REGISTRY_FRAGMENTS, lua::FRAGMENTS];
const LIST: &[&Fragments] = &[OF_LISTS, FRAGMENTS, REGISTRY_FRAGMENTS, lua::FRAGMENTS];
/// Where no limit and no pace is set.
const STREAM_WITHOUT_RULES: &[&Fragments] = &[OF_STREAMS, FRAGMENTS, lua::NO_RULES, lua::FRAGMENTS];
const LIST_WITHOUT_RULES: &[&Fragments] = &[OF_LISTS, FRAGMENTS, lua::NO_RULES, lua::FRAGMENTS];

/// The fragments of Lua that scripts over a bucket of this kind are joined from.
#[must_use]
pub const fn fragments(kind: Kind) -> &'static [&'static Fragments] {
    match kind {
        Kind::Stream => STREAM,
        Kind::List => LIST,
    }
}

/// As [`fragments`], for a bucket without limits and without a pace.
#[must_use]
pub const fn fragments_without_rules(kind: Kind) -> &'static [&'static Fragments] {
    match kind {
        Kind::Stream => STREAM_WITHOUT_RULES,
        Kind::List => LIST_WITHOUT_RULES,
    }
}

const FRAGMENTS: &Fragments = &[
    ("adapt", include_str!("../pace/adapt.lua")),
    ("at_maxmemory", include_str!("at_maxmemory.lua")),
    ("budget", include_str!("budget.lua")),
    ("bury", include_str!("../deliver/bury.lua")),
    ("caller_share", include_str!("../admission/caller_share.lua")),
    ("closed", include_str!("../define/closed.lua")),
    ("constants", CONSTANTS),
    ("count_any_kind", include_str!("../define/count_any_kind.lua")),
    ("count_in_flight", include_str!("../define/deletion/count_in_flight.lua")),
    ("counts", include_str!("counts.lua")),
    ("definition_text", include_str!("../define/definition_text.lua")),
    ("each", include_str!("../inspect/doctor/each.lua")),
    ("eta", include_str!("../pace/eta.lua")),
    ("keep", include_str!("../ended/keep.lua")),
    ("letters", include_str!("../ended/letters.lua")),
    ("notices", include_str!("notices.lua")),
    ("now", include_str!("now.lua")),
    ("order", include_str!("../ended/order.lua")),
    ("outbox", include_str!("../outbox/outbox.lua")),
    ("pace", include_str!("../pace.lua")),
    ("pace_constants", PACE_CONSTANTS),
    ("record", include_str!("../ended/record.lua")),
    ("schedule_state", include_str!("../schedule/schedule_state.lua")),
    ("settle_rare", include_str!("../deliver/settle_rare.lua")),
    ("slots", include_str!("../history/slots.lua")),
    ("there", include_str!("../inspect/doctor/there.lua")),
    ("ticks", include_str!("../schedule/ticks.lua")),
];

// Functions of one name do the same thing in both.

const OF_STREAMS: &Fragments = &[
    ("kind/ahead", include_str!("../kind/stream/turns/ahead.lua")),
    ("kind/begin_again", include_str!("../kind/stream/turns/begin_again.lua")),
    ("kind/bound_states", include_str!("../kind/stream/turns/bound_states.lua")),
    ("kind/bounds", include_str!("../kind/stream/turns/bounds.lua")),
    ("kind/by_turns", include_str!("../kind/stream/turns/by_turns.lua")),
    ("kind/census", include_str!("../kind/stream/census.lua")),
    ("kind/consumers", include_str!("../kind/stream/consumers.lua")),
    ("kind/count_waiting", include_str!("../kind/stream/turns/count_waiting.lua")),
    ("kind/debts", include_str!("../kind/stream/turns/debts.lua")),
    ("kind/divide", include_str!("../kind/stream/turns/divide.lua")),
    ("kind/due", include_str!("../kind/stream/take/due.lua")),
    ("kind/ends", include_str!("../kind/stream/take/ends.lua")),
    ("kind/entry", include_str!("../kind/stream/entry.lua")),
    ("kind/flow_state", include_str!("../kind/stream/turns/flow_state.lua")),
    ("kind/flows", include_str!("../kind/stream/turns/flows.lua")),
    ("kind/give", include_str!("../kind/stream/take/give.lua")),
    ("kind/gone", include_str!("../kind/stream/gone.lua")),
    ("kind/held", include_str!("../kind/stream/held.lua")),
    ("kind/in_range", include_str!("../kind/stream/turns/in_range.lua")),
    ("kind/jobs", include_str!("../kind/stream/jobs.lua")),
    ("kind/largest", include_str!("../kind/stream/take/largest.lua")),
    ("kind/leave", include_str!("../kind/stream/leave.lua")),
    ("kind/leave_flows", include_str!("../kind/stream/turns/leave_flows.lua")),
    ("kind/leaving", include_str!("../kind/stream/leaving.lua")),
    ("kind/moved", include_str!("../kind/stream/moved.lua")),
    ("kind/own_wait", include_str!("../kind/stream/turns/own_wait.lua")),
    ("kind/pending", include_str!("../kind/stream/pending.lua")),
    ("kind/places", include_str!("../kind/stream/turns/places.lua")),
    ("kind/placing", include_str!("../kind/stream/turns/placing.lua")),
    ("kind/read_due", include_str!("../kind/stream/take/read_due.lua")),
    ("kind/sole_caller", include_str!("../kind/stream/turns/sole_caller.lua")),
    ("kind/sort_in", include_str!("../kind/stream/turns/sort_in.lua")),
    ("kind/take", include_str!("../kind/stream/take.lua")),
    ("kind/turns", include_str!("../kind/stream/turns/turns.lua")),
    ("kind/view", include_str!("../kind/stream/view.lua")),
    ("kind/waiting", include_str!("../kind/stream/waiting.lua")),
    ("kind/weights", include_str!("../kind/stream/turns/weights.lua")),
];

const OF_LISTS: &Fragments = &[
    ("kind/census", include_str!("../kind/list/census.lua")),
    ("kind/consumers", include_str!("../kind/list/consumers.lua")),
    ("kind/entry", include_str!("../kind/list/entry.lua")),
    ("kind/gone", include_str!("../kind/list/gone.lua")),
    ("kind/held", include_str!("../kind/list/held.lua")),
    ("kind/jobs", include_str!("../kind/list/jobs.lua")),
    ("kind/leave_flows", include_str!("../kind/list/leave_flows.lua")),
    ("kind/leaving", include_str!("../kind/list/leaving.lua")),
    ("kind/moved", include_str!("../kind/list/moved.lua")),
    ("kind/places", include_str!("../kind/list/places.lua")),
    ("kind/take", include_str!("../kind/list/take.lua")),
    ("kind/view", include_str!("../kind/list/view.lua")),
];

/// A verb's script for each kind.
pub(crate) struct Scripts {
    stream: Script,
    list: Script,
    #[cfg(feature = "planted-bugs")]
    planted: crate::script::fault_injection::PlantedScripts,
}

impl Scripts {
    /// Of a verb that is the same for both, but for fragments that it needs.
    pub(crate) const fn new(name: &'static str, verb: &'static str) -> Self {
        Self::of_kinds(name, verb, verb)
    }

    /// Of a verb that each kind has for itself.
    pub(crate) const fn of_kinds(name: &'static str, of_streams: &'static str, of_lists: &'static str) -> Self {
        Self::joined(Script::new(name, STREAM, of_streams), Script::new(name, LIST, of_lists))
    }

    /// Of a verb that decides by no plan, though it needs functions beside others that do.
    pub(crate) const fn without_rules(name: &'static str, verb: &'static str) -> Self {
        Self::joined(
            Script::new(name, fragments_without_rules(Kind::Stream), verb),
            Script::new(name, fragments_without_rules(Kind::List), verb),
        )
    }

    const fn joined(stream: Script, list: Script) -> Self {
        Self {
            stream,
            list,
            #[cfg(feature = "planted-bugs")]
            planted: crate::script::fault_injection::PlantedScripts::new(),
        }
    }

    pub(crate) fn of(&self, kind: Kind) -> &Script {
        let script = match kind {
            Kind::Stream => &self.stream,
            Kind::List => &self.list,
        };
        #[cfg(feature = "planted-bugs")]
        let script = self.planted.in_script(kind, script);
        script
    }
}

/// The scripts of a verb that decides by plans: where all of them are empty, it is called without the rules, which
/// Redis would make again in each call.
pub(crate) struct PlannedScripts {
    with_rules: Scripts,
    without: Scripts,
}

impl PlannedScripts {
    pub(crate) const fn new(name: &'static str, verb: &'static str) -> Self {
        Self { with_rules: Scripts::new(name, verb), without: Scripts::without_rules(name, verb) }
    }

    pub(crate) fn of(&self, kind: Kind, has_plans: bool) -> &Script {
        if has_plans { self.with_rules.of(kind) } else { self.without.of(kind) }
    }
}
