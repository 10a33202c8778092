//! Bugs planted for the fault suite, to verify that it finds them. Built only with the feature `planted-bugs`; the
//! environment variable DRIPFEED_PLANT selects one.

use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_job::JobId;
use dripfeed_store::Script;

use crate::admission::{Admission, Admitted, Judgement};
use crate::settings::Kind;

static PLANT: LazyLock<String> = LazyLock::new(|| std::env::var("DRIPFEED_PLANT").unwrap_or_default());

/// The bug · what is written in the scripts · the replacement.
const IN_SCRIPTS: [(&str, &str, &str); 18] = [
    (
        "ack_before_send",
        "taken[#taken + 1] = { id, entry, failures }",
        "taken[#taken + 1] = { id, entry, failures }
         redis.call('XACK', keys.jobs, GROUP, id)
         redis.call('XDEL', keys.jobs, id)",
    ),
    (
        "ack_and_delete_apart",
        "redis.call('XDEL', keys.jobs, unpack(ids))",
        "local later = keys.jobs .. ':later'
         for _, id in ipairs(redis.call('SMEMBERS', later)) do redis.call('XDEL', keys.jobs, id) end
         redis.call('DEL', later)
         redis.call('SADD', later, unpack(ids))",
    ),
    ("owner_not_checked", "if redis.call('HEXISTS', REPLICAS, consumer) == 0 then return 'fenced' end", ""),
    ("recovery_off", "if not leaving and (beats or '') ~= seen then", "if not leaving then"),
    ("stream_trimmed", "redis.call('XADD', keys.jobs, '*',", "redis.call('XADD', keys.jobs, 'MAXLEN', 5, '*',"),
    ("lost_pace_is_full_bucket", "new = s.new == '1'", "new = true"),
    ("turn_not_charged", "flow.at + calls * UNIT / flow.weight", "flow.at"),
    (
        "deleted_index_stays",
        "if #flows > 0 or not is_all or not_pending <= read and waiting_again <= 0 then",
        "if true then",
    ),
    ("call_of_group_not_charged", "debts[i] = debts[i] + 1", "debts[i] = debts[i]"),
    ("call_of_group_not_counted", "bound.state.in_flight + 1, true", "bound.state.in_flight, true"),
    (
        "tick_ends_before_its_job",
        "if may_overlap or not is_there(state.job) then return nil end",
        "advance(next_tick)
         if may_overlap or not is_there(state.job) then return nil end",
    ),
    (
        "outbox_trimmed",
        "redis.call('XADD', key, '*', unpack(fields))",
        "redis.call('XADD', key, 'MAXLEN', 5, '*', unpack(fields))",
    ),
    // Of turns and own paces, for the model of these.
    (
        "flow_clock_is_the_wall_clock",
        "tonumber(clock) + math.min(math.max(0, now_us - wall), elapsed)",
        "tonumber(clock) + math.max(0, now_us - wall)",
    ),
    (
        "flow_clock_runs_once_for_each_replica",
        "tonumber(clock) + math.min(math.max(0, now_us - wall), elapsed)",
        "tonumber(clock) + elapsed",
    ),
    ("only_first_rate_is_looked_at", "if rate then room", "if rate and i == 1 then room"),
    ("flow_calls_forgotten", "state.in_flight = math.max(0, state.in_flight - left[owners[i]])", "state.in_flight = 0"),
    ("first_delivery_is_second", "{ 'RETRYCOUNT', '1', 'FORCE', ... }", "{ 'RETRYCOUNT', '2', 'FORCE', ... }"),
    ("group_stays_behind", "if last then redis.call('XGROUP', 'SETID', keys.jobs, GROUP, last) end", ""),
];

/// Whether this bug is there, which is not in a script.
pub(crate) fn has(bug: &str) -> bool {
    *PLANT == bug
}

/// The scripts of a verb, with the bug in them where it belongs there.
pub(crate) struct PlantedScripts {
    stream: OnceLock<Script>,
    list: OnceLock<Script>,
}

impl PlantedScripts {
    pub(crate) const fn new() -> Self {
        Self { stream: OnceLock::new(), list: OnceLock::new() }
    }

    pub(crate) fn in_script<'s>(&'s self, kind: Kind, script: &'s Script) -> &'s Script {
        let bug = IN_SCRIPTS.iter().find(|(bug, right, _)| *bug == *PLANT && script.source().contains(right));
        let Some((_, right, wrong)) = bug else { return script };
        let planted = match kind {
            Kind::Stream => &self.stream,
            Kind::List => &self.list,
        };
        planted.get_or_init(|| {
            // After an empty line nothing is a head: what the verb needs is there already.
            let source = format!("\n{}", script.source().replace(right, wrong));
            Script::new(script.name(), &[], source.leak())
        })
    }
}

/// What callers are reported before anything is written, where that is the bug: ids that nothing was written under.
pub(crate) fn answered_before_write(jobs: usize) -> Option<Vec<Judgement>> {
    if *PLANT != "answered_before_write" {
        return None;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(now.as_millis()).unwrap_or_default();
    let admitted = |_| {
        let id = JobId::new(ms, fastrand::u64(1 << 32..1 << 48));
        let admitted = Admitted { id, level: 1, capacity: 1, eta: Duration::ZERO, room_in: None, repeated: false };
        Judgement { admission: Admission::Admitted(admitted), limits: None, caller_share: None }
    };
    Some((0..jobs).map(admitted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_has_its_place_in_the_scripts() {
        let scripts = [
            include_str!("../pace.lua"),
            include_str!("../kind/stream/take/give.lua"),
            include_str!("../kind/stream/turns/by_turns.lua"),
            include_str!("../kind/stream/turns/sort_in.lua"),
            include_str!("../kind/stream/turns/bound_states.lua"),
            include_str!("../schedule/ticks.lua"),
            include_str!("../outbox/outbox.lua"),
            include_str!("../kind/stream/turns/bounds.lua"),
            include_str!("../kind/stream/turns/leave_flows.lua"),
            include_str!("../kind/stream/turns/placing.lua"),
            include_str!("../kind/stream/jobs.lua"),
            include_str!("../kind/stream/held.lua"),
            include_str!("../deliver/settle.lua"),
            include_str!("../deliver/recover.lua"),
        ];
        for (bug, right, _) in IN_SCRIPTS {
            assert_eq!(scripts.iter().filter(|script| script.contains(right)).count(), 1, "{bug}");
        }
    }
}
