//! All key names of a bucket. They share one hash tag, so that each script works in Redis Cluster.

use dripfeed_job::BucketName;

use crate::settings::Kind;
use crate::settings::on_outcome::OnOutcome;

#[derive(Clone, Debug, Hash)]
pub(crate) struct Keys {
    /// `prefix:{bucket}:`
    tag: String,
    jobs: String,
    kind: Kind,
}

impl Keys {
    pub(crate) fn new(prefix: &str, bucket: &BucketName, jobs: Option<&str>, kind: Kind) -> Self {
        let tag = format!("{prefix}:{{{bucket}}}:");
        let jobs = jobs.map_or_else(|| format!("{tag}jobs"), str::to_owned);
        Self { tag, jobs, kind }
    }

    /// Stream (or list): every job until it is settled.
    pub(crate) fn jobs(&self) -> String {
        self.jobs.clone()
    }

    /// Zset: job id → due time in ms.
    pub(crate) fn parked(&self) -> String {
        self.of("parked")
    }

    /// Zset: flow → its virtual time.
    pub(crate) fn flows(&self) -> String {
        self.of("flows")
    }

    /// Zset: flow → µs at which it may be called again.
    pub(crate) fn throttled(&self) -> String {
        self.of("throttled")
    }

    /// Hash: state of callers, or groups, with limits (flow_state.lua).
    pub(crate) fn flow_state(&self) -> String {
        self.of("flow-state")
    }

    /// Zset: a run of waiting ids → the number of their flow.
    pub(crate) fn ranges(&self) -> String {
        self.of("ranges")
    }

    /// Hash: consumer → heartbeats.
    pub(crate) fn replicas(&self) -> String {
        self.of("replicas")
    }

    /// Hash: consumer → ms when it joined, ms of its latest heartbeat, and its lease in ms.
    pub(crate) fn members(&self) -> String {
        self.of("members")
    }

    /// Hash: name of a process that serves the bucket without being a member → ms when it was last recorded, and after
    /// how many ms it is gone, unless that is the usual number (standby.lua).
    pub(crate) fn standby(&self) -> String {
        self.of("standby")
    }

    /// Hash: consumer → number of its last settled batch.
    pub(crate) fn batches(&self) -> String {
        self.of("batches")
    }

    /// Hash: consumer → number of a take. This and earlier takes do nothing if they arrive late.
    pub(crate) fn takes(&self) -> String {
        self.of("takes")
    }

    /// Hash: until when the bucket is throttled, and other state of the pace.
    pub(crate) fn pace(&self) -> String {
        self.of("pace")
    }

    /// String: what the tiers of the pace have consumed, packed.
    pub(crate) fn pace_tiers(&self) -> String {
        self.of("pace:tiers")
    }

    /// Hash: measured rates.
    pub(crate) fn meter(&self) -> String {
        self.of("meter")
    }

    /// Hash: counters for reports.
    pub(crate) fn tally(&self) -> String {
        self.of("tally")
    }

    /// Hash: paused, and settings changed at run time.
    pub(crate) fn control(&self) -> String {
        self.of("control")
    }

    /// Stream: who did what.
    pub(crate) fn audit(&self) -> String {
        self.of("audit")
    }

    /// Hash: the last day in slots (sample.lua).
    pub(crate) fn history(&self) -> String {
        self.of("history")
    }

    /// Hash with a TTL: refused submissions by hour, limit and caller (add_refusals.lua).
    pub(crate) fn refusals(&self) -> String {
        self.of("refusals")
    }

    /// Hash: caller → its jobs in the bucket, and `<caller> bytes` → their bytes (counts.lua).
    pub(crate) fn holders(&self) -> String {
        self.of("holders")
    }

    /// Hash: job id → number of failed attempts.
    pub(crate) fn attempts(&self) -> String {
        self.of("attempts")
    }

    /// Hash: job id → records of its latest failed attempts, one per line.
    pub(crate) fn failed(&self) -> String {
        self.of("attempts:failed")
    }

    /// Hash: job id → `ms record`, and records of its latest failed attempts, one per line.
    pub(crate) fn outcomes(&self) -> String {
        self.of("outcomes")
    }

    /// Zset: ids of jobs that one script ended, and the sizes of their outcomes → ms of their end (order.lua).
    pub(crate) fn ended(&self) -> String {
        self.of("outcomes:ended")
    }

    /// Stream: outcome jobs that wait for their target bucket. Also the name of the channel on which the first is
    /// announced.
    pub(crate) fn outbox(&self) -> String {
        self.of("outbox")
    }

    /// String with a TTL: name of the process that submits the outcome jobs.
    pub(crate) fn outbox_lease(&self) -> String {
        self.of("outbox:lease")
    }

    /// `keys`, then the outbox if the bucket has `on_outcome`.
    pub(crate) fn and_outbox(&self, mut keys: Vec<String>, on_outcome: &OnOutcome) -> Vec<String> {
        if !on_outcome.is_empty() {
            keys.push(self.outbox());
        }
        keys
    }

    /// Zset: job id → ms until which a caller waits for its end. Also the name of a channel (notices.lua).
    pub(crate) fn notices(&self) -> String {
        self.of("notices")
    }

    /// List, of a list bucket: the elements that a consumer has claimed.
    pub(crate) fn taken(&self, consumer: &str) -> String {
        self.of("taken:") + consumer
    }

    /// Hash, of a list bucket: consumer → number of its claimed elements.
    pub(crate) fn takers(&self) -> String {
        self.of("takers")
    }

    /// `keys`, then those by which a list counts its jobs in flight.
    pub(crate) fn and_takers(&self, mut keys: Vec<String>) -> Vec<String> {
        match self.kind {
            Kind::Stream => {}
            Kind::List => keys.push(self.takers()),
        }
        keys
    }

    /// `keys`, then those that are needed to count the jobs and estimate their waits.
    pub(crate) fn and_level(&self, mut keys: Vec<String>) -> Vec<String> {
        match self.kind {
            Kind::Stream => keys.extend(self.in_order()),
            Kind::List => keys.push(self.takers()),
        }
        keys
    }

    /// The keys that determine when jobs of a stream are called. Always the last of KEYS.
    pub(crate) fn in_order(&self) -> [String; 5] {
        [self.throttled(), self.flow_state(), self.parked(), self.flows(), self.ranges()]
    }

    /// `keys`, then those of a stream's parked jobs. A list has none.
    pub(crate) fn and_parked(&self, mut keys: Vec<String>) -> Vec<String> {
        match self.kind {
            Kind::Stream => {
                keys.extend([self.attempts(), self.unburied(), self.failed()]);
                keys.extend(self.in_order());
            }
            Kind::List => {}
        }
        keys
    }

    /// The keys of the scripts that cancel and purge, in the order of their KEYS.
    pub(crate) fn to_cancel(&self, on_outcome: &OnOutcome) -> Vec<String> {
        let common = vec![
            self.jobs(),
            self.meter(),
            self.tally(),
            self.outcomes(),
            self.ended(),
            self.holders(),
            self.keyed_jobs(),
            self.key_ends(),
            self.notices(),
        ];
        self.and_parked(self.and_outbox(common, on_outcome))
    }

    /// `keys`, then those of the jobs that `consumer` has claimed.
    pub(crate) fn and_held(&self, mut keys: Vec<String>, consumer: &str) -> Vec<String> {
        match self.kind {
            Kind::Stream => self.and_parked(keys),
            Kind::List => {
                keys.extend([self.taken(consumer), self.takers()]);
                keys
            }
        }
    }

    /// Stream: dead letters.
    pub(crate) fn dead(&self) -> String {
        self.of("dead")
    }

    /// Hash: job id → id of its dead letter.
    pub(crate) fn letters(&self) -> String {
        self.of("dead:letters")
    }

    /// Zset: id, bytes and job of each dead letter, by ms of its death.
    pub(crate) fn letter_sizes(&self) -> String {
        self.of("dead:sizes")
    }

    /// Hash: `<id>:<name>` → state of background replays.
    pub(crate) fn replays(&self) -> String {
        self.of("dead:replays")
    }

    /// Hash: job id → its record, for jobs that wait for room among the dead letters.
    pub(crate) fn unburied(&self) -> String {
        self.of("dead:waiting")
    }

    /// String: job id and fingerprint of an idempotency key. Each caller has a namespace. In its id `:` and `%` are
    /// escaped, so that all pairs of id and key, and all keys without a caller, have different names.
    pub(crate) fn once(&self, caller: Option<&str>, key: &str) -> String {
        match caller.filter(|caller| !caller.is_empty()) {
            None => self.of("once:") + key,
            Some(caller) => {
                let caller = caller.replace('%', "%25").replace(':', "%3A");
                self.of("once@") + &caller + ":" + key
            }
        }
    }

    /// Hash: job id → name of its idempotency key, for jobs in the bucket.
    pub(crate) fn keyed_jobs(&self) -> String {
        self.of("idempotency:jobs")
    }

    /// Zset: name of an idempotency key → ms at which it expires, for jobs that have ended.
    pub(crate) fn key_ends(&self) -> String {
        self.of("idempotency:ends")
    }

    /// Hash: id of a schedule → its definition, JSON.
    pub(crate) fn schedules(&self) -> String {
        self.of("schedules")
    }

    /// Zset: id of a schedule → ms of its next tick; paused ones aren't in it.
    pub(crate) fn next_ticks(&self) -> String {
        self.of("schedules:next")
    }

    /// Hash: id of a schedule → its state (schedule_state.lua).
    pub(crate) fn schedule_states(&self) -> String {
        self.of("schedules:state")
    }

    /// The keys that may exist in an empty bucket, without `control`, the audit log, the replicas, the tally, outcomes,
    /// dead letters, idempotency keys and those with a TTL of seconds.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let of_work = [self.parked(), self.standby(), self.batches()];
        let of_turns = [self.flows(), self.ranges(), self.throttled(), self.flow_state()];
        let of_pace = [self.takes(), self.pace(), self.pace_tiers(), self.meter(), self.history(), self.refusals()];
        let of_jobs = [self.holders(), self.attempts(), self.failed(), self.notices()];
        let of_dead = [self.replays(), self.unburied()];
        let of_schedules = [self.schedules(), self.next_ticks(), self.schedule_states()];
        [of_work.as_slice(), &of_turns, &of_pace, &of_jobs, &of_dead, &of_schedules].concat()
    }

    /// String with a TTL: the answer to an admitted batch, in case it is lost.
    pub(crate) fn token(&self, token: &str) -> String {
        self.of("token:") + token
    }

    fn of(&self, name: &str) -> String {
        format!("{}{name}", self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_a_bucket_share_its_hash_tag() {
        let Ok(bucket) = "tigerfeeding".parse() else { unreachable!("a plain name") };
        let keys = Keys::new("dripfeed", &bucket, None, Kind::Stream);
        assert_eq!(keys.jobs(), "dripfeed:{tigerfeeding}:jobs");
        assert_eq!(keys.once(None, "a}b{c"), "dripfeed:{tigerfeeding}:once:a}b{c");
        let named = Keys::new("dripfeed", &bucket, Some("x:rl:zewtopia.com/tigerfeeding"), Kind::List);
        assert_eq!(named.jobs(), "x:rl:zewtopia.com/tigerfeeding");
        assert_eq!(named.dead(), "dripfeed:{tigerfeeding}:dead");
    }
    #[test]
    fn no_two_callers_share_the_name_of_an_idempotency_key() {
        let Ok(bucket) = "b".parse() else { unreachable!("a plain name") };
        let keys = Keys::new("p", &bucket, None, Kind::Stream);
        assert_eq!(keys.once(Some("shop"), "order-17"), "p:{b}:once@shop:order-17");
        let pairs = [
            (None, "shop:order"),
            (None, "@shop:order"),
            (Some("shop"), "order"),
            (Some("shop:order"), "order"),
            (Some("shop"), "order:order"),
            (Some("shop%3Aorder"), "order"),
        ];
        let names: std::collections::HashSet<String> = pairs.iter().map(|(id, key)| keys.once(*id, key)).collect();
        assert_eq!(names.len(), pairs.len(), "{names:?}");
    }
}
