//! Bugs that `fault_injection` plants in scripts. A test of all builds checks that each text exists.

/// The name of the bug, the text in a script, and its replacement.
pub(super) const IN_SCRIPTS: [(&str, &str, &str); 18] = [
    (
        "ack_before_send",
        "taken[place], known_plain[place] = found, true",
        "taken[place], known_plain[place] = found, true
         redis.call('XACK', keys.jobs, GROUP, found[1])
         redis.call('XDEL', keys.jobs, found[1])",
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
    ("deleted_index_stays", "if #flows > 0 or not is_all or are_all_new then", "if true then"),
    ("call_of_group_not_charged", "debts[i] = debts[i] + 1", "debts[i] = debts[i]"),
    ("call_of_group_not_counted", "bound.state.in_flight + 1, true", "bound.state.in_flight, true"),
    (
        "tick_ends_before_its_job",
        "if may_overlap or not is_there(state.job) then return nil end",
        "advance(next_tick)
         if may_overlap or not is_there(state.job) then return nil end",
    ),
    ("outbox_trimmed", "append_to(key, '*', unpack(fields))", "append_to(key, 'MAXLEN', 5, '*', unpack(fields))"),
    // For the model of fair queuing and of limits per caller.
    (
        "flow_clock_is_the_wall_clock",
        "noted.now + math.min(math.max(0, now_us - noted.wall), elapsed)",
        "noted.now + math.max(0, now_us - noted.wall)",
    ),
    (
        "flow_clock_runs_once_for_each_replica",
        "noted.now + math.min(math.max(0, now_us - noted.wall), elapsed)",
        "noted.now + elapsed",
    ),
    ("only_first_rate_is_looked_at", "if rate then room", "if rate and i == 1 then room"),
    ("flow_calls_forgotten", "state.in_flight = math.max(0, state.in_flight - left[owners[i]])", "state.in_flight = 0"),
    ("first_delivery_is_second", "'RETRYCOUNT', '1', 'FORCE', option", "'RETRYCOUNT', '2', 'FORCE', option"),
    ("group_stays_behind", "if last then redis.call('XGROUP', 'SETID', keys.jobs, GROUP, last) end", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bug_has_its_place_in_the_scripts() {
        let scripts = [
            include_str!("../pace.lua"),
            include_str!("../kind/stream/take.lua"),
            include_str!("../kind/stream/take/give.lua"),
            include_str!("../kind/stream/turns/by_turns/write_turn.lua"),
            include_str!("../kind/stream/turns/by_turns/calls.lua"),
            include_str!("../kind/stream/turns/sort_in.lua"),
            include_str!("../kind/stream/turns/bounds/bound_rates.lua"),
            include_str!("../kind/stream/turns/bounds/bound_states.lua"),
            include_str!("../schedule/ticks.lua"),
            include_str!("../outbox/outcome_jobs.lua"),
            include_str!("../kind/stream/turns/bounds/bounds_in_force.lua"),
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
