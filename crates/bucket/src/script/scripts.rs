//! The fragments of Lua from which scripts are joined, by name, and the scripts of a verb.

use dripfeed_limit::lua;
use dripfeed_store::{Fragment, Fragments, REGISTRY_FRAGMENTS, Script};

use crate::script::constants::CONSTANTS;
use crate::script::pace_constants::PACE_CONSTANTS;
use crate::settings::Kind;

/// For a script that is the same for both kinds. `FRAGMENTS` comes first, as its `now` replaces that of the limits.
pub(crate) const SHARED: &[&Fragments] = &[FRAGMENTS, REGISTRY_FRAGMENTS, lua::FRAGMENTS];
/// For a script that only streams have.
pub(crate) const STREAM: &[&Fragments] = &[OF_STREAMS, FRAGMENTS, REGISTRY_FRAGMENTS, lua::FRAGMENTS];
const LIST: &[&Fragments] = &[OF_LISTS, FRAGMENTS, REGISTRY_FRAGMENTS, lua::FRAGMENTS];
/// For buckets without limits and without a pace.
const STREAM_WITHOUT_RULES: &[&Fragments] =
    &[OF_STREAMS, NO_PACE, FRAGMENTS, REGISTRY_FRAGMENTS, lua::NO_RULES, lua::FRAGMENTS];
const LIST_WITHOUT_RULES: &[&Fragments] =
    &[OF_LISTS, NO_PACE, FRAGMENTS, REGISTRY_FRAGMENTS, lua::NO_RULES, lua::FRAGMENTS];

/// Returns the fragments of scripts for buckets of this kind.
#[must_use]
pub const fn fragments(kind: Kind) -> &'static [&'static Fragments] {
    match kind {
        Kind::Stream => STREAM,
        Kind::List => LIST,
    }
}

/// Returns the same as [`fragments`], for buckets without limits and without a pace.
#[must_use]
pub const fn fragments_without_rules(kind: Kind) -> &'static [&'static Fragments] {
    match kind {
        Kind::Stream => STREAM_WITHOUT_RULES,
        Kind::List => LIST_WITHOUT_RULES,
    }
}

/// Replaces fragments of [`FRAGMENTS`], which must come after this.
const NO_PACE: &Fragments = &[
    Fragment::new("no_pace", include_str!("../pace/no_pace.lua")),
    Fragment::new("settling", "-- needs: no_pace\n"),
    Fragment::new("spend", "-- needs: no_pace\n"),
];

const FRAGMENTS: &Fragments = &[
    Fragment::new("adapt", include_str!("../pace/adapt.lua")),
    Fragment::new("admit_job", include_str!("../admission/admit/admit_job.lua")),
    Fragment::new("admit_rare", include_str!("../admission/admit/admit_rare.lua")),
    Fragment::new("admit_ticks", include_str!("../admission/admit/admit_ticks.lua")),
    Fragment::new("at_maxmemory", include_str!("at_maxmemory.lua")),
    Fragment::new("batch", include_str!("../admission/admit/batch.lua")),
    Fragment::new("behind", include_str!("behind.lua")),
    Fragment::new("budget", include_str!("budget.lua")),
    Fragment::new("bury", include_str!("../deliver/bury.lua")),
    Fragment::new("caller_share", include_str!("../admission/caller_share.lua")),
    Fragment::new("closed", include_str!("../define/closed.lua")),
    Fragment::new("constants", CONSTANTS),
    Fragment::new("count_any_kind", include_str!("../define/count_any_kind.lua")),
    Fragment::new("count_in_flight", include_str!("../define/deletion/count_in_flight.lua")),
    Fragment::new("counts", include_str!("counts.lua")),
    Fragment::new("cut_record", include_str!("../outbox/cut_record.lua")),
    Fragment::new("definition_text", include_str!("../define/definition_text.lua")),
    Fragment::new("examine_each", include_str!("../inspect/doctor/examine_each.lua")),
    Fragment::new("each_letter", include_str!("../ended/dead_letters/each_letter.lua")),
    Fragment::new("eta", include_str!("../pace/eta.lua")),
    Fragment::new("throttle_left", include_str!("../pace/throttle_left.lua")),
    Fragment::new("is_deleted", include_str!("../define/is_deleted.lua")),
    Fragment::new("job_filter", include_str!("../inspect/job_filter.lua")),
    Fragment::new("job_options", include_str!("../admission/admit/job_options.lua")),
    Fragment::new("keep", include_str!("../ended/keep.lua")),
    Fragment::new("keep_keys", include_str!("../ended/keep/keep_keys.lua")),
    Fragment::new("keep_outcomes", include_str!("../ended/keep/keep_outcomes.lua")),
    Fragment::new("known_schedules", include_str!("../schedule/known_schedules.lua")),
    Fragment::new("largest_job", include_str!("../admission/largest_job.lua")),
    Fragment::new("letters", include_str!("../ended/letters.lua")),
    Fragment::new("limits_of", include_str!("../pace/limits_of.lua")),
    Fragment::new("make_outbox", include_str!("../outbox/make_outbox.lua")),
    Fragment::new("mixed", include_str!("../pace/mixed.lua")),
    Fragment::new("notices", include_str!("notices.lua")),
    Fragment::new("now", include_str!("now.lua")),
    Fragment::new("once_keys", include_str!("../admission/once_keys.lua")),
    Fragment::new("order", include_str!("../ended/order.lua")),
    Fragment::new("outbox", include_str!("../outbox/outbox.lua")),
    Fragment::new("outcome_jobs", include_str!("../outbox/outcome_jobs.lua")),
    Fragment::new("pace", include_str!("../pace.lua")),
    Fragment::new("pace_constants", PACE_CONSTANTS),
    Fragment::new("places_of_batch", include_str!("../admission/admit/places_of_batch.lua")),
    Fragment::new("record", include_str!("../ended/record.lua")),
    Fragment::new("record_each", include_str!("../ended/record/record_each.lua")),
    Fragment::new("schedule_state", include_str!("../schedule/schedule_state.lua")),
    Fragment::new("repeated", include_str!("../admission/admit/repeated.lua")),
    Fragment::new("settling", include_str!("../pace/settling.lua")),
    Fragment::new("settle_exceptions", include_str!("../deliver/settle/settle_exceptions.lua")),
    Fragment::new("settle_rare", include_str!("../deliver/settle_rare.lua")),
    Fragment::new("shown_fields", include_str!("../inspect/shown_fields.lua")),
    Fragment::new("slots", include_str!("../history/slots.lua")),
    Fragment::new("spend", include_str!("../pace/spend.lua")),
    Fragment::new("is_there", include_str!("../inspect/doctor/is_there.lua")),
    Fragment::new("throttle", include_str!("../pace/throttle.lua")),
    Fragment::new("ticks", include_str!("../schedule/ticks.lua")),
];

// Functions of one name do the same thing in both.

const OF_STREAMS: &Fragments = &[
    Fragment::new("kind/ahead", include_str!("../kind/stream/turns/ahead.lua")),
    Fragment::new("kind/reset_times", include_str!("../kind/stream/turns/by_turns/reset_times.lua")),
    Fragment::new("kind/bound_rates", include_str!("../kind/stream/turns/bounds/bound_rates.lua")),
    Fragment::new("kind/bound_states", include_str!("../kind/stream/turns/bounds/bound_states.lua")),
    Fragment::new("kind/bounds", include_str!("../kind/stream/turns/bounds.lua")),
    Fragment::new("kind/bounds_in_force", include_str!("../kind/stream/turns/bounds/bounds_in_force.lua")),
    Fragment::new("kind/unthrottle", include_str!("../kind/stream/turns/bounds/unthrottle.lua")),
    Fragment::new("kind/by_turns", include_str!("../kind/stream/turns/by_turns.lua")),
    Fragment::new("kind/calls", include_str!("../kind/stream/turns/by_turns/calls.lua")),
    Fragment::new("kind/census", include_str!("../kind/stream/census.lua")),
    Fragment::new("kind/consumers", include_str!("../kind/stream/consumers.lua")),
    Fragment::new("kind/count_waiting", include_str!("../kind/stream/turns/count_waiting.lua")),
    Fragment::new("kind/debts", include_str!("../kind/stream/turns/debts.lua")),
    Fragment::new("kind/divide", include_str!("../kind/stream/turns/by_turns/divide.lua")),
    Fragment::new("kind/due", include_str!("../kind/stream/take/due.lua")),
    Fragment::new("kind/ends", include_str!("../kind/stream/take/ends.lua")),
    Fragment::new("kind/entry", include_str!("../kind/stream/entry.lua")),
    Fragment::new("kind/flow_ranges", include_str!("../kind/stream/turns/by_turns/flow_ranges.lua")),
    Fragment::new("kind/flow_state", include_str!("../kind/stream/turns/flow_state.lua")),
    Fragment::new("kind/flow_times", include_str!("../kind/stream/turns/flows/flow_times.lua")),
    Fragment::new("kind/flows", include_str!("../kind/stream/turns/flows.lua")),
    Fragment::new("kind/give", include_str!("../kind/stream/take/give.lua")),
    Fragment::new("kind/gone", include_str!("../kind/stream/gone.lua")),
    Fragment::new("kind/held", include_str!("../kind/stream/held.lua")),
    Fragment::new("kind/in_range", include_str!("../kind/stream/turns/in_range.lua")),
    Fragment::new("kind/jobs", include_str!("../kind/stream/jobs.lua")),
    Fragment::new("kind/leave", include_str!("../kind/stream/remove/leave.lua")),
    Fragment::new("kind/leave_flows", include_str!("../kind/stream/turns/leave_flows.lua")),
    Fragment::new("kind/leave_ranges", include_str!("../kind/stream/remove/leave_ranges.lua")),
    Fragment::new("kind/leaving", include_str!("../kind/stream/leaving.lua")),
    Fragment::new("kind/line", include_str!("../kind/stream/turns/by_turns/line.lua")),
    Fragment::new("kind/pending_state", include_str!("../kind/stream/pending_state.lua")),
    Fragment::new("kind/moved", include_str!("../kind/stream/moved.lua")),
    Fragment::new("kind/own_wait", include_str!("../kind/stream/turns/own_wait.lua")),
    Fragment::new("kind/pending", include_str!("../kind/stream/pending.lua")),
    Fragment::new("kind/places", include_str!("../kind/stream/turns/places.lua")),
    Fragment::new("kind/placing", include_str!("../kind/stream/turns/placing.lua")),
    Fragment::new("kind/put_back", include_str!("../kind/stream/put_back.lua")),
    Fragment::new("kind/ranges", include_str!("../kind/stream/turns/flows/ranges.lua")),
    Fragment::new("kind/runs", include_str!("../kind/stream/turns/flows/runs.lua")),
    Fragment::new("kind/sort_in", include_str!("../kind/stream/turns/sort_in.lua")),
    Fragment::new("kind/suspects", include_str!("../kind/stream/take/suspects.lua")),
    Fragment::new("kind/take", include_str!("../kind/stream/take.lua")),
    Fragment::new("kind/turns", include_str!("../kind/stream/turns/turns.lua")),
    Fragment::new("kind/unread", include_str!("../kind/stream/unread.lua")),
    Fragment::new("kind/view", include_str!("../kind/stream/view.lua")),
    Fragment::new("kind/waiting", include_str!("../kind/stream/waiting.lua")),
    Fragment::new("kind/weights", include_str!("../kind/stream/turns/weights.lua")),
    Fragment::new("kind/write_turn", include_str!("../kind/stream/turns/by_turns/write_turn.lua")),
];

const OF_LISTS: &Fragments = &[
    Fragment::new("kind/census", include_str!("../kind/list/census.lua")),
    Fragment::new("kind/consumers", include_str!("../kind/list/consumers.lua")),
    Fragment::new("kind/entry", include_str!("../kind/list/entry.lua")),
    Fragment::new("kind/gone", include_str!("../kind/list/gone.lua")),
    Fragment::new("kind/held", include_str!("../kind/list/held.lua")),
    Fragment::new("kind/jobs", include_str!("../kind/list/jobs.lua")),
    Fragment::new("kind/leave_flows", include_str!("../kind/list/turns/leave_flows.lua")),
    Fragment::new("kind/leaving", include_str!("../kind/list/leaving.lua")),
    Fragment::new("kind/pending_state", include_str!("../kind/list/pending_state.lua")),
    Fragment::new("kind/moved", include_str!("../kind/list/moved.lua")),
    Fragment::new("kind/places", include_str!("../kind/list/turns/places.lua")),
    Fragment::new("kind/put_back", include_str!("../kind/list/put_back.lua")),
    Fragment::new("kind/take", include_str!("../kind/list/take.lua")),
    Fragment::new("kind/unread", include_str!("../kind/list/unread.lua")),
    Fragment::new("kind/view", include_str!("../kind/list/view.lua")),
];

/// The scripts of a verb, one for each kind.
pub(crate) struct Scripts {
    stream: Script,
    list: Script,
    #[cfg(feature = "planted-bugs")]
    planted: crate::script::fault_injection::PlantedScripts,
}

impl Scripts {
    /// For a verb that differs between the kinds only in its fragments.
    pub(crate) const fn new(name: &'static str, verb: &'static str) -> Self {
        Self::of_kinds(name, verb, verb)
    }

    /// For a verb with different scripts for the kinds.
    pub(crate) const fn of_kinds(name: &'static str, of_streams: &'static str, of_lists: &'static str) -> Self {
        Self::joined(Script::new(name, STREAM, of_streams), Script::new(name, LIST, of_lists))
    }

    /// For a verb that uses no plan of limits, although some of its fragments contain functions that do.
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

    /// Computes the hashes by which the scripts are called.
    pub(crate) fn know(&self) {
        self.stream.sha1();
        self.list.sha1();
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

/// The scripts of a verb that uses plans of limits. If all plans are empty, the script without the rules is called:
/// Redis creates all functions of a script again in each call.
pub(crate) struct PlannedScripts {
    with_rules: Scripts,
    without: Scripts,
}

impl PlannedScripts {
    pub(crate) const fn new(name: &'static str, verb: &'static str) -> Self {
        Self { with_rules: Scripts::new(name, verb), without: Scripts::without_rules(name, verb) }
    }

    pub(crate) fn know(&self) {
        self.with_rules.know();
        self.without.know();
    }

    pub(crate) fn of(&self, kind: Kind, has_plans: bool) -> &Script {
        if has_plans { self.with_rules.of(kind) } else { self.without.of(kind) }
    }
}
