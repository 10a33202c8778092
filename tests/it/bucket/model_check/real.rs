//! The real bucket, which executes the same steps as the model.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{JobId, Share, StartTime, Submission};
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, changed};
use futures::future::join_all;
use proptest_state_machine::StateMachineTest;
use tokio::runtime::Runtime;

use super::generate::Histories;
use super::model::{Model, Setup};
use super::picture::{Picture, Seen, consumer};
use super::step::{End, Entry, Handed, JobNumber, Offer, ReplicaNumber, Step, StepResult, Verdict};

const HOUR: Duration = Duration::from_hours(1);
/// A rate so low that no token is refilled in a history.
const SELDOM: &str = "1/8784h";

/// One Redis for all histories; each has its own bucket.
#[derive(Debug)]
pub struct Server {
    pub runtime: Runtime,
    pub store: Store,
}

pub static SERVER: OnceLock<Server> = OnceLock::new();
static BUCKETS: AtomicUsize = AtomicUsize::new(0);

fn server() -> &'static Server {
    SERVER.get().expect("started before the first history")
}

pub struct Real {
    bucket: Bucket,
    /// The ids of the jobs, by number.
    jobs: Vec<JobId>,
    numbers: HashMap<JobId, JobNumber>,
    replicas: Vec<Replica>,
    claims: HashMap<(ReplicaNumber, JobNumber), Claim>,
}

impl StateMachineTest for Real {
    type SystemUnderTest = Self;
    type Reference = Histories;

    fn init_test(model: &Model) -> Self {
        server().runtime.block_on(async { Self::new(&model.setup) })
    }

    fn apply(mut real: Self, model: &Model, step: Step) -> Self {
        server().runtime.block_on(async {
            next_millisecond();
            let answer = real.step(&step).await;
            assert_eq!(answer, model.answer, "the answer to {step:?}");
        });
        real
    }

    fn check_invariants(real: &Self, model: &Model) {
        server().runtime.block_on(async {
            assert_eq!(real.picture().await, model.picture());
            assert_eq!(real.length_of_the_stream().await, model.level(), "XLEN is the level");
            assert_eq!(real.bucket.examine(false).await.expect("Redis answers"), Examination::default());
        });
    }

    /// Checks that all jobs that are left can still end.
    fn teardown(mut real: Self, _: Model) {
        server().runtime.block_on(async {
            real.finish().await;
            let census = real.bucket.census().await.expect("Redis answers");
            assert_eq!((census.level, census.waiting, census.in_flight, census.parked, census.bytes), (0, 0, 0, 0, 0));
            assert_eq!(real.holders().await, BTreeMap::new());
            let ended: u64 = census.ended.iter().map(|(_, count)| count).sum();
            assert_eq!(ended, real.jobs.len() as u64, "each job that was ever in the stream has ended, once");
        });
    }
}

impl Real {
    fn new(setup: &Setup) -> Self {
        let mut settings = buckets::settings(&format!("b{}", BUCKETS.fetch_add(1, Ordering::Relaxed)));
        settings.capacity = setup.capacity;
        settings.capacity_bytes = setup.capacity_bytes;
        settings.max_share = setup.max_share.map(percent).map(MaxShare::Part);
        // In the model all jobs wait in one line. Histories with turns are in the tests of promises.
        settings.fair.by = FairBy::Off;
        settings.deliveries = setup.deliveries;
        settings.keep.most_dead = setup.most_dead as u64;
        if let Some(burst) = setup.burst {
            settings.leak.rate = Some(SELDOM.parse().expect("a rate"));
            settings.leak.burst = burst;
        }
        Self {
            bucket: Bucket::new(server().store.clone(), settings),
            jobs: Vec::new(),
            numbers: HashMap::new(),
            replicas: Vec::new(),
            claims: HashMap::new(),
        }
    }

    async fn step(&mut self, step: &Step) -> StepResult {
        let answered = match step {
            Step::Admit(offers) => Ok(self.admit(offers).await),
            Step::AddByHand(entry) => Ok(self.add_by_hand(*entry).await),
            Step::Join(life) => self.join(*life).await,
            Step::Take { replica, most } => self.take(*replica, *most).await,
            Step::Settle { replica, ends } => Ok(self.settle(*replica, ends).await),
            Step::Beat(replica) => self.replicas[*replica].beat().await.map(|seen| match seen {
                Recovery { fenced: true, .. } => StepResult::Fenced,
                Recovery { recovered: 0, poisoned: 0, .. } => StepResult::Alive,
                Recovery { recovered, poisoned, .. } => StepResult::Recovered { recovered, poisoned },
            }),
            Step::Leave(replica) => self.replicas[*replica].leave().await.map(|()| StepResult::Done),
            Step::Die(replica) => self.die(*replica).await,
            Step::Cancel(job) => self.bucket.cancel(self.jobs[*job]).await.map(StepResult::Cancel),
            Step::CancelMany { state, caller } => {
                let filter = JobFilter { state: *state, caller: caller.map(String::from), ..JobFilter::default() };
                self.bucket.cancel_many(&filter).await.map(StepResult::Purged)
            }
            Step::Purge => self.bucket.purge().await.map(StepResult::Purged),
            Step::EndOverdue => self.bucket.enforce_retention().await.map(|_| StepResult::Done),
            Step::Replay(job) => self.replay(*job).await,
            Step::Forget(job) => self.bucket.delete_dead(self.jobs[*job]).await.map(StepResult::Forgotten),
            Step::Pause => self.bucket.pause().await.map(|_| StepResult::Done),
            Step::Resume => self.bucket.resume().await.map(|_| StepResult::Done),
            Step::SetCapacity(capacity) => self.change(changed("capacity", *capacity)).await,
            Step::SetCapacityBytes(bytes) => self.change(changed("capacity_bytes", *bytes)).await,
            Step::SetMaxShare(share) => {
                self.change(changed("max_share", share.map(|share| percent(share).to_string()))).await
            }
            Step::SetMaxInFlight(most) => self.change(changed("leak.max_in_flight", *most)).await,
            Step::SetBurst(burst) => self.change(changed("leak.burst", *burst)).await,
            Step::AnHourPasses => Ok(self.an_hour_passes().await),
        };
        answered.expect("Redis answers")
    }

    /// The number of a job. A new job gets the next one.
    fn number(&mut self, id: JobId) -> JobNumber {
        *self.numbers.entry(id).or_insert_with(|| {
            self.jobs.push(id);
            self.jobs.len() - 1
        })
    }

    async fn admit(&mut self, offers: &[Offer]) -> StepResult {
        let submissions = offers.iter().map(submission).collect();
        let verdicts = self.bucket.admit_many(submissions).await;
        let verdicts = offers.iter().zip(verdicts);
        StepResult::Admissions(
            verdicts.map(|(offer, verdict)| self.verdict(verdict.expect("Redis answers"), offer.delayed)).collect(),
        )
    }

    /// `delayed`: whether the job is delayed for longer than it may live.
    fn verdict(&mut self, admission: Admission, delayed: bool) -> Verdict {
        match admission {
            Admission::Admitted(Admitted { id, level, repeated: true, .. }) => {
                Verdict::Repeated { job: self.number(id), level }
            }
            Admission::Admitted(Admitted { id, level, .. }) => Verdict::Admitted { job: self.number(id), level },
            Admission::Refused(Refused { reason, level, retry_after, .. }) => {
                let waiting_helps = match reason {
                    RefusalReason::BucketFull | RefusalReason::ShareUsedUp => true,
                    RefusalReason::DeadlineUnreachable => !delayed,
                    _ => false,
                };
                assert_eq!(retry_after.is_some(), waiting_helps, "when to come again after {reason:?}");
                Verdict::Refused { reason, level }
            }
        }
    }

    async fn add_by_hand(&mut self, entry: Entry) -> StepResult {
        let mut add = redis::cmd("XADD");
        let name = match entry {
            Entry::Body => "body",
            Entry::RequestDetails => "request_details",
            Entry::Unreadable => "something",
        };
        add.arg(self.key("jobs")).arg("*").arg(name).arg("by hand");
        let id: String = server().store.command(&add).await.expect("Redis answers");
        self.number(id.parse().expect("a stream entry's id"));
        StepResult::Done
    }

    async fn join(&mut self, life: JoinKind) -> Result<StepResult, BucketError> {
        let consumer = Consumer::new(consumer(self.replicas.len()));
        // The lease is longer than any replica is suspended.
        self.replicas.push(self.bucket.join(consumer, HOUR, life).await?);
        Ok(StepResult::Done)
    }

    async fn take(&mut self, replica: ReplicaNumber, most: usize) -> Result<StepResult, BucketError> {
        let taken = match self.replicas[replica].take(most).await? {
            Take::Jobs(taken, _) => taken,
            Take::Idle(_) => return Ok(StepResult::Idle),
            Take::Fenced => return Ok(StepResult::Fenced),
        };
        let mut handed = Vec::new();
        for ClaimedJob { claim, job, .. } in taken {
            let (number, failures, readable) = (self.number(claim.id()), claim.failures(), job.is_ok());
            self.claims.insert((replica, number), claim);
            handed.push(Handed { job: number, failures, readable });
        }
        Ok(StepResult::ClaimedJob(handed))
    }

    async fn settle(&mut self, replica: ReplicaNumber, ends: &[(JobNumber, End)]) -> StepResult {
        let settlements = ends.iter().map(|(job, end)| {
            let claim = self.claims.remove(&(replica, *job)).expect("a claim of this replica");
            self.replicas[replica].settle(claim, settlement(*end))
        });
        let settled = join_all(settlements).await;
        let first = *settled[0].as_ref().expect("Redis answers");
        assert!(settled.iter().all(|other| *other.as_ref().expect("Redis answers") == first), "{settled:?}");
        match first {
            SettleResult::Recorded | SettleResult::WaitsForRoom | SettleResult::EndedBefore => StepResult::Settled,
            SettleResult::Fenced => StepResult::Fenced,
        }
    }

    async fn die(&self, replica: ReplicaNumber) -> Result<StepResult, BucketError> {
        let begun = now_ms();
        let found = self.bucket.declare_dead(self.replicas[replica].consumer()).await?;
        let Recovery { recovered, poisoned, .. } = found.expect("no heart beats alone here");
        self.suspects_are_due(begun).await;
        Ok(StepResult::Recovered { recovered, poisoned })
    }

    async fn replay(&mut self, job: JobNumber) -> Result<StepResult, BucketError> {
        Ok(StepResult::Replay(match self.bucket.replay(self.jobs[job]).await? {
            ReplayResult::As(admitted) => Some(self.verdict(Admission::Admitted(admitted), false)),
            ReplayResult::Refused(refused) => Some(self.verdict(Admission::Refused(refused), false)),
            ReplayResult::Unknown => None,
        }))
    }

    async fn change(&self, changes: Overrides) -> Result<StepResult, BucketError> {
        self.bucket.apply_overrides(&changes).await.map(|_| StepResult::Done)
    }

    /// Jobs that died together repeatedly are due one after the other, within seconds of the wall clock. Other tests
    /// check that. Here all jobs that died in this step, which began at `begun_ms`, are due with the first of them, and
    /// no take keeps them apart.
    async fn suspects_are_due(&self, begun_ms: u128) {
        let script = "local died = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[1] + 60000, 'BYSCORE')
                      local first = died[1] and redis.call('ZSCORE', KEYS[1], died[1])
                      for _, id in ipairs(died) do redis.call('ZADD', KEYS[1], first, id) end
                      redis.call('HDEL', KEYS[2], 'suspects')";
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(2).arg(self.key("parked")).arg(self.key("pace")).arg(begun_ms.to_string());
        server().store.command::<()>(&eval).await.expect("Redis answers");
    }

    /// Makes all times an hour earlier.
    async fn an_hour_passes(&self) -> StepResult {
        let script = "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
                          redis.call('ZINCRBY', KEYS[1], -3600000, id)
                      end
                      if redis.call('HEXISTS', KEYS[2], 'hold') == 1 then
                          redis.call('HINCRBY', KEYS[2], 'hold', -3600000)
                      end";
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(2).arg(self.key("parked")).arg(self.key("pace"));
        server().store.command::<()>(&eval).await.expect("Redis answers");
        StepResult::Done
    }

    fn key(&self, name: &str) -> String {
        format!("dripfeed:{{{}}}:{name}", self.bucket.name())
    }

    async fn length_of_the_stream(&self) -> u64 {
        let mut length = redis::cmd("XLEN");
        length.arg(self.key("jobs"));
        server().store.command(&length).await.expect("Redis answers")
    }

    async fn holders(&self) -> BTreeMap<String, u64> {
        let mut all = redis::cmd("HGETALL");
        all.arg(self.key("holders"));
        server().store.command(&all).await.expect("Redis answers")
    }

    async fn picture(&self) -> Picture {
        let everything = usize::MAX >> 1;
        let census = self.bucket.census().await.expect("Redis answers");
        let jobs = self.bucket.jobs(&JobFilter::default(), None, 1000).await.expect("Redis answers");
        let outcomes =
            self.bucket.outcomes(TimeWindow::default(), None, None, everything).await.expect("Redis answers");
        let letters = self.bucket.dead_letters(&DeadFilter::default(), None, 100).await.expect("Redis answers");
        let mut outcomes: Vec<_> = outcomes
            .items
            .iter()
            .map(|ended| (self.numbers[&ended.id], ended.outcome.result, ended.outcome.attempts))
            .collect();
        outcomes.sort_unstable_by_key(|(number, ..)| *number);
        Picture {
            level: census.level,
            capacity: census.capacity,
            max_share: census.max_share.map(|share| match share {
                MaxShare::Part(share) => share.of(100),
                MaxShare::Free => unreachable!("none is set"),
            }),
            holders: self.holders().await,
            bytes: census.bytes,
            waiting: census.waiting,
            in_flight: census.in_flight,
            parked: census.parked,
            dead: census.dead,
            paused: census.paused,
            accepted: census.accepted,
            recovered: census.recovered,
            refused: census.refused.iter().map(|(_, count)| *count).collect(),
            ended: census.ended.iter().map(|(_, count)| *count).collect(),
            replicas: census.replicas.iter().map(|seen| (seen.consumer.clone(), seen.in_flight)).collect(),
            jobs: jobs.items.iter().map(|view| (self.numbers[&view.id], seen(view))).collect::<BTreeMap<_, _>>(),
            outcomes,
            letters: letters.items.iter().map(|letter| self.numbers[&letter.id]).collect(),
        }
    }

    /// Lets time pass until all jobs have left the bucket.
    async fn finish(&mut self) {
        let fast = changed("leak.rate", "1000000/s").and(changed("leak.burst", 1000));
        self.change(fast.and(changed("leak.max_in_flight", 1000))).await.expect("Redis answers");
        self.bucket.resume().await.expect("Redis answers");
        for replica in &self.replicas {
            replica.leave().await.expect("Redis answers");
        }
        let last = self.replicas.len();
        self.join(JoinKind::Rejoin).await.expect("Redis answers");
        // A few rounds are enough: a job that waits for an hour is due in the next round, and one that waits for a
        // token a moment later.
        for _ in 0..1000 {
            if self.length_of_the_stream().await == 0 {
                return;
            }
            self.an_hour_passes().await;
            if let StepResult::ClaimedJob(handed) = self.take(last, 100).await.expect("Redis answers") {
                let ends: Vec<_> = handed.iter().map(|handed| (handed.job, End::Complete)).collect();
                assert_eq!(self.settle(last, &ends).await, StepResult::Settled);
            }
        }
    }
}

fn percent(share: u64) -> Share {
    format!("{share}%").parse().expect("a share")
}

fn seen(view: &JobView) -> Seen {
    Seen { state: view.state, attempts: view.attempts, consumer: view.consumer.clone() }
}

fn submission(offer: &Offer) -> Submission {
    Submission {
        body: offer.letter.to_string().repeat(offer.length).into(),
        caller: offer.caller.map(String::from),
        idempotency_key: offer.key.and_then(|key| IdempotencyKey::parse(&format!("key {key}")).ok()),
        start: if offer.delayed { StartTime::After(HOUR) } else { StartTime::AtOnce },
        expires_in: offer.ephemeral.then_some(Duration::from_millis(1)),
        ..Submission::default()
    }
}

fn settlement(end: End) -> Settlement {
    match end {
        End::Complete => Settlement::Complete { status: 200, answer: None },
        End::RetryAtOnce => Settlement::Retry { after: Duration::ZERO },
        End::RetryInAnHour => Settlement::Retry { after: HOUR },
        End::ThrottledForNothing => Settlement::Throttled { wait: Some(Duration::ZERO) },
        End::ThrottledForAnHour => Settlement::Throttled { wait: Some(HOUR) },
        End::Requeue => Settlement::Requeue,
        End::Bury { called } => Settlement::Bury { reason: "no luck".into(), status: None, answer: None, called },
    }
}

/// Redis uses the clock of this machine, so a job that lives for 1 ms has expired at the next step.
fn next_millisecond() {
    let begun = now_ms();
    while now_ms() < begun + 1 {
        std::hint::spin_loop();
    }
}

fn now_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis()
}
