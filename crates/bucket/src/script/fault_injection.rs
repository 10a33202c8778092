//! Bugs for the fault suite to find, so that it is known to find them. They are built in with the feature
//! `planted-bugs` alone, and then only the one that DRIPFEED_PLANT names is there.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_job::JobId;

use crate::admission::{Admission, Admitted, Judgement};

static PLANT: LazyLock<String> = LazyLock::new(|| std::env::var("DRIPFEED_PLANT").unwrap_or_default());

/// The bug · what is written in the scripts · what stands there instead.
const IN_SCRIPTS: [(&str, &str, &str); 6] = [
    (
        "ack_before_send",
        "taken[#taken + 1] = { id, entry, failures }",
        "taken[#taken + 1] = { id, entry, failures }
         redis.call('XACK', keys.jobs, 'processors', id)
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
    ("lost_pace_is_full_bucket", "new = s[2] == '1'", "new = true"),
];

/// The parts of a script, one of them with the bug in it where it belongs there.
pub(crate) fn in_parts(parts: Vec<&'static str>) -> Vec<&'static str> {
    let Some((_, right, wrong)) = IN_SCRIPTS.iter().find(|(bug, ..)| *bug == *PLANT) else { return parts };
    let planted = |part: &'static str| match part.contains(right) {
        true => &*part.replace(right, wrong).leak(),
        false => part,
    };
    parts.into_iter().map(planted).collect()
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
        let admitted = Admitted { id, level: 1, capacity: 1, eta: Duration::ZERO, repeated: false };
        Judgement { admission: Admission::Admitted(admitted), limits: None, holding: None }
    };
    Some((0..jobs).map(admitted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::scripts::{PACE, STREAM};

    #[test]
    fn each_bug_has_its_place_in_the_scripts() {
        let scripts = [
            PACE,
            STREAM.take,
            STREAM.append,
            STREAM.held,
            include_str!("../deliver/settle.lua"),
            include_str!("../deliver/recover.lua"),
        ];
        for (bug, right, _) in IN_SCRIPTS {
            assert_eq!(scripts.iter().filter(|script| script.contains(right)).count(), 1, "{bug}");
        }
    }
}
