//! Admit: one script checks limits, capacity and duplicates, and enqueues the jobs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dripfeed_job::duration::ms_up;
use dripfeed_job::{Group, JobId, Priority, Submission};
use dripfeed_limit::{Decision, Plan};
use dripfeed_store::{Call, Certainty, StoreError};
use redis::Value;

use crate::admission::admission_request::{AdmissionRequest, BatchPlan};
use crate::admission::job_words::{add_jobs, options_for_script};
use crate::admission::tick::{self, Ticked};
use crate::admission::{Admission, Admitted, CallerShare, Judgement, Judging, RefusalReason, Refused};
use crate::error::BucketError;
use crate::script::batches::{Batches, Limits};
use crate::script::constants::{BATCH_JOBS, BATCH_TIERS, SMALL_BYTES};
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket, TRIES};
use crate::script::reply::Reply;
use crate::script::scripts::PlannedScripts;

static SCRIPTS: PlannedScripts = PlannedScripts::new("admit", include_str!("admit.lua"));

/// One call on its way: what comes meanwhile makes the next one larger, and a large one takes less time for each job.
/// Of a large batch the rest waits for the next call, so that others get in between.
const CALL: Limits = Limits { items: BATCH_JOBS, bytes: SMALL_BYTES, calls: 1 };
/// Redis rests after a call with more bytes of large jobs or batches: a job of 1 MiB keeps it from others for some
/// milliseconds, until it is settled.
const TIRING_BYTES: usize = SMALL_BYTES / 2;

/// How long a batch of unknown outcome is asked for again. Who submitted is reported within two seconds.
const PATIENCE: Duration = Duration::from_millis(1200);
/// How long Redis remembers the answer to a batch: longer than anybody asks for it, and than a call whose connection
/// was given up may still be on its way. Not much longer: every batch leaves one.
const REMEMBERED: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

type Queue = Batches<AdmissionRequest, Result<Judgement, BucketError>>;

/// Submissions on their way into one bucket. Small ones don't wait behind large ones.
#[derive(Clone)]
pub(crate) struct Admissions {
    small: Queue,
    large: Queue,
}

impl Admissions {
    pub(crate) fn start(redis_bucket: &Arc<RedisBucket>) -> Self {
        Self { small: start(redis_bucket.clone(), usize::MAX), large: start(redis_bucket.clone(), TIRING_BYTES) }
    }

    /// None while the process ends.
    pub(crate) async fn enter(&self, request: AdmissionRequest) -> Option<Judging> {
        self.queue_for(weigh(&request)).enter(request).await
    }

    /// Appended and answered in their order. None as for one.
    pub(crate) async fn put_all(&self, requests: Vec<AdmissionRequest>) -> Vec<Option<Result<Judgement, BucketError>>> {
        self.queue_for(requests.iter().map(weigh).sum()).put_all(requests).await
    }

    fn queue_for(&self, bytes: usize) -> &Queue {
        if bytes > SMALL_BYTES { &self.large } else { &self.small }
    }
}

fn weigh(request: &AdmissionRequest) -> usize {
    request.submission.body.len()
}

/// Few tiers cost no more than the rest of a job.
fn weigh_with_tiers(request: &AdmissionRequest) -> usize {
    let tiers = request.tiers();
    let counted = if tiers > BATCH_TIERS / BATCH_JOBS { tiers } else { 0 };
    weigh(request) + counted * (SMALL_BYTES / BATCH_TIERS)
}

/// After a call with more than `tiring` bytes Redis rests.
fn start(redis_bucket: Arc<RedisBucket>, tiring: usize) -> Queue {
    Batches::new(CALL, weigh_with_tiers, move |requests: Vec<AdmissionRequest>| {
        let redis_bucket = redis_bucket.clone();
        async move {
            if let Some(refused) = redis_bucket.refuse_full(&requests).await {
                return refused.into_iter().map(Ok).collect();
            }
            let bytes = requests.iter().map(weigh).sum();
            let _turn = if bytes > tiring { redis_bucket.store.large_turn(bytes).await } else { None };
            let (requests, places) = redis_bucket.by_caller(requests);
            #[cfg(feature = "planted-bugs")]
            if let Some(answers) = crate::script::fault_injection::answered_before_write(requests.len()) {
                tokio::spawn(async move { redis_bucket.admit(&requests).await });
                return answers.into_iter().map(Ok).collect();
            }
            match redis_bucket.admit(&requests).await {
                Ok(judged) => in_places(judged, &places).into_iter().map(Ok).collect(),
                Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
            }
        }
    })
}

/// As turns/flows.lua knows them.
fn flow_of(request: &AdmissionRequest) -> (Option<&Group>, Option<&str>, Priority) {
    let Submission { group, caller, priority, .. } = &*request.submission;
    let caller = caller.as_deref().filter(|_| group.is_none());
    (group.as_ref(), caller, priority.unwrap_or_default())
}

/// Back in the order in which they came. No places: they are in it.
fn in_places<T>(judged: Vec<T>, places: &[usize]) -> Vec<T> {
    if places.is_empty() {
        return judged;
    }
    let mut judged: Vec<(usize, T)> = places.iter().copied().zip(judged).collect();
    judged.sort_unstable_by_key(|(place, _)| *place);
    judged.into_iter().map(|(_, judgement)| judgement).collect()
}

impl RedisBucket {
    /// Where callers take turns: the jobs of each flow together, in the order in which the first of each came, so that
    /// what is kept of whose turn it is stays short; and the place that each had, nothing where none was moved.
    fn by_caller(&self, requests: Vec<AdmissionRequest>) -> (Vec<AdmissionRequest>, Vec<usize>) {
        let is_of_one = requests.windows(2).all(|pair| flow_of(&pair[0]) == flow_of(&pair[1]));
        if !self.takes_turns() || is_of_one {
            return (requests, Vec::new());
        }
        let mut first = HashMap::new();
        let places: Vec<usize> =
            requests.iter().enumerate().map(|(at, request)| *first.entry(flow_of(request)).or_insert(at)).collect();
        let mut numbered: Vec<(usize, AdmissionRequest)> = requests.into_iter().enumerate().collect();
        numbered.sort_by_key(|(at, _)| places.get(*at).copied());
        numbered.into_iter().map(|(place, request)| (request, place)).unzip()
    }

    async fn admit(&self, requests: &[AdmissionRequest]) -> Result<Vec<Judgement>, BucketError> {
        let judged = self.admit_by(requests, read_one).await?;
        self.note_full(&judged);
        Ok(judged)
    }

    /// For ticks of schedules, at most as many as go into one call: answered in order.
    pub(crate) async fn admit_for_ticks(&self, requests: Vec<AdmissionRequest>) -> Result<Vec<Ticked>, BucketError> {
        let (requests, places) = self.by_caller(requests);
        Ok(in_places(self.admit_by(&requests, read_ticked).await?, &places))
    }

    /// One script call, asked again under the same token while its outcome is unknown. `read_one`: one answer.
    async fn admit_by<T>(
        &self,
        requests: &[AdmissionRequest],
        read_one: fn(&mut Reply, Option<&Plan>, &Answers) -> Result<T, BucketError>,
    ) -> Result<Vec<T>, BucketError> {
        let token = self.keys.token(&format!("{:032x}", fastrand::u128(..)));
        let started = Instant::now();
        let (mut unknown, mut made_way, mut changes) = (None::<StoreError>, false, 0);
        // An answer may be that to an earlier call, by limits that have changed since.
        let mut batch_plans: Vec<BatchPlan> = Vec::new();
        loop {
            let effective = self.effective_settings();
            if !batch_plans.last().is_some_and(|last| last.is_by(&effective)) {
                batch_plans.push(self.plan_all(requests, &effective).await?);
            }
            let call = self.call(&effective, requests, &batch_plans, &token, unknown.is_some());
            // A process that stood still since the last try may be past the time for which Redis remembers the token:
            // another try would append the jobs again.
            if started.elapsed() >= PATIENCE
                && let Some(error) = unknown
            {
                return Err(error.into());
            }
            match self.store.run_durably::<Value>(&call).await {
                Ok(reply) => match self.learn_overrides(Reply::new("admit", reply)?)? {
                    Some(reply) => return read(reply, &batch_plans, effective.settings.capacity, read_one),
                    // What is known now has not been tried, however late it came.
                    None if changes < TRIES || started.elapsed() < PATIENCE => {
                        changes += 1;
                        continue;
                    }
                    None => return Err(unknown.map_or(BucketError::Changing, BucketError::from)),
                },
                Err(error) if error.is_unanswered() && error.certainty() == Certainty::Unknown => unknown = Some(error),
                // What may have been stored before isn't surely unstored by a later refusal.
                Err(error) => match unknown {
                    None if made_way => return Err(error.into()),
                    None => {
                        self.make_way(error.into()).await?;
                        made_way = true;
                        continue;
                    }
                    Some(_) => {}
                },
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
    }

    fn call(
        &self,
        effective: &EffectiveSettings,
        requests: &[AdmissionRequest],
        batch_plans: &[BatchPlan],
        token: &str,
        again: bool,
    ) -> Call<'static> {
        let settings = &effective.settings;
        let mut once_index = HashMap::new();
        let mut keys = vec![
            self.keys.jobs(),
            self.keys.pace(),
            self.keys.meter(),
            self.keys.tally(),
            self.keys.control(),
            self.keys.holders(),
            token.to_owned(),
            self.keys.keyed_jobs(),
            self.keys.key_ends(),
            self.keys.notices(),
        ];
        // Of each job, the place of its key among those of all.
        let mut index_of = |request: &AdmissionRequest| {
            let next = once_index.len() + 1;
            let index = once_index.entry(self.once_of(&request.submission)?).or_insert_with_key(|name| {
                keys.push(name.clone());
                next
            });
            Some(*index)
        };
        let indices: Vec<Option<usize>> = requests.iter().map(&mut index_of).collect();
        let ticks: Vec<_> = requests.iter().filter_map(|request| request.tick.as_deref()).collect();
        let ticks = if ticks.is_empty() { String::new() } else { tick::pack(&ticks, &self.keys, &mut keys) };
        let (keys, paced) = effective.pack_pace(keys);
        let (keys, policies, plans) = match batch_plans.last() {
            Some(batch_plan) => batch_plan.pack(keys),
            None => (keys, Vec::new(), vec![Vec::new(); requests.len()]),
        };
        let has_plans = !paced.is_empty() || plans.iter().any(|plan| !plan.is_empty());
        let mut call = SCRIPTS.of(self.kind, has_plans).on(&self.keys.and_level(keys));
        call.arg(&effective.version).arg(u8::from(again)).arg(settings.capacity).arg(settings.capacity_bytes);
        call.arg(&paced[..]).arg(&effective.share_of_one);
        call.arg(ms_up(settings.keep.idempotency_keys)).arg(settings.keep.most_idempotency_keys);
        call.arg(ms_up(REMEMBERED)).arg(batch_plans.len());
        call.arg(&effective.weights).arg(requests.len()).arg(ticks).arg(&effective.bounds);
        call.arg(once_index.len()).arg(&policies[..]);
        let options = requests.iter().zip(indices);
        let options = options.map(|(request, once)| options_for_script(request, once)).collect();
        add_jobs(&mut call, self.kind, requests, options, &plans);
        call
    }

    /// The name of its idempotency key in Redis.
    fn once_of(&self, submission: &Submission) -> Option<String> {
        let key = submission.idempotency_key.as_ref()?;
        Some(self.keys.once(submission.caller.as_deref(), key.as_str()))
    }
}

/// What is the same for all answers of a batch.
struct Answers {
    capacity: u64,
    /// µs of the Redis clock.
    now_us: u64,
    /// Where the batch filled the bucket.
    room_in: Option<Duration>,
}

fn read<T>(
    mut reply: Reply,
    batch_plans: &[BatchPlan],
    capacity: u64,
    read_one: fn(&mut Reply, Option<&Plan>, &Answers) -> Result<T, BucketError>,
) -> Result<Vec<T>, BucketError> {
    reply.text()?;
    let number = reply.text()?;
    let batch_plan = number.parse().ok().and_then(|number: usize| batch_plans.get(number.checked_sub(1)?));
    let Some(batch_plan) = batch_plan else { return reply.unknown(&number) };
    let now_us = reply.count()?;
    let room_in = u64::try_from(reply.number()?).ok().map(Duration::from_millis);
    let answers = Answers { capacity, now_us, room_in };
    let mut read_next = |plan: Option<&Plan>| {
        if reply.begins_with_array() {
            return read_one(&mut reply.array()?, plan, &answers);
        }
        // One that was admitted and has no share.
        read_one(&mut reply, plan, &answers)
    };
    batch_plan.plans.iter().map(Option::as_deref).map(&mut read_next).collect()
}

fn read_ticked(answer: &mut Reply, plan: Option<&Plan>, of: &Answers) -> Result<Ticked, BucketError> {
    match Ticked::read(answer)? {
        Some(ticked) => Ok(ticked),
        None => Ok(Ticked::Judged(read_one(answer, plan, of)?.admission)),
    }
}

fn read_one(answer: &mut Reply, plan: Option<&Plan>, of: &Answers) -> Result<Judgement, BucketError> {
    let word = answer.bytes()?;
    // The short answer: an id instead of a word, and behind the eta at most what its limits say.
    if word.first().is_some_and(u8::is_ascii_digit) {
        let admission = Admission::Admitted(read_admitted(&word, false, answer, of)?);
        let limits = plan.map(|plan| read_limits(answer, plan, of)).transpose()?;
        return Ok(Judgement { admission, limits, caller_share: None });
    }
    let admission = read_admission(&word, answer, of)?;
    let caller_share = if answer.is_empty() { None } else { read_caller_share(answer)? };
    let limits = plan.filter(|_| !answer.is_empty()).map(|plan| read_limits(answer, plan, of)).transpose()?;
    Ok(Judgement { admission, limits, caller_share })
}

fn read_limits(answer: &mut Reply, plan: &Plan, of: &Answers) -> Result<Decision, BucketError> {
    let decision = if answer.begins_with_array() {
        let mut report = answer.array()?;
        let mut numbers = Vec::new();
        while !report.is_empty() {
            numbers.push(report.number()?);
        }
        Decision::read(plan, &numbers)
    } else {
        Decision::read_states(plan, of.now_us, &answer.bytes()?)
    };
    decision.map_or_else(|| answer.unknown("the report of its limits"), Ok)
}

/// None: no share is in force for this caller.
fn read_caller_share(answer: &mut Reply) -> Result<Option<CallerShare>, BucketError> {
    let (jobs, most) = (answer.number()?, answer.number()?);
    Ok(u64::try_from(jobs).ok().zip(u64::try_from(most).ok()).map(|(jobs, most)| CallerShare { jobs, most }))
}

fn read_admission(word: &Bytes, answer: &mut Reply, of: &Answers) -> Result<Admission, BucketError> {
    if word == "admitted" || word == "repeated" {
        let id = answer.bytes()?;
        return Ok(Admission::Admitted(read_admitted(&id, word == "repeated", answer, of)?));
    }
    let Some(reason) = RefusalReason::ALL.into_iter().find(|reason| word == reason.word()) else {
        return answer.unknown(&String::from_utf8_lossy(word));
    };
    // -1: waiting doesn't help.
    let retry_after = u64::try_from(answer.number()?).ok().map(Duration::from_millis);
    Ok(Admission::Refused(Refused { reason, retry_after, level: answer.count()?, capacity: of.capacity }))
}

/// What comes behind the id.
fn read_admitted(id: &Bytes, repeated: bool, answer: &mut Reply, of: &Answers) -> Result<Admitted, BucketError> {
    let parsed = str::from_utf8(id).ok().and_then(|id| id.parse::<JobId>().ok());
    let Some(id) = parsed else { return answer.unknown(&String::from_utf8_lossy(id)) };
    let (level, capacity, eta) = (answer.count()?, of.capacity, Duration::from_millis(answer.count()?));
    Ok(Admitted { id, level, capacity, eta, room_in: of.room_in.filter(|_| level >= capacity), repeated })
}
