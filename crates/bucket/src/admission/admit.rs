//! Admits jobs: one script call checks limits, capacity and idempotency keys of a batch, and enqueues its jobs.

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
use crate::admission::tick::{self, TickResult};
use crate::admission::{Admission, AdmissionDecision, Admitted, CallerShare, PendingAdmission, RefusalReason, Refused};
use crate::error::BucketError;
use crate::script::batches::{Batches, Limits};
use crate::script::constants::{BATCH_JOBS, BATCH_TIERS, SMALL_BYTES};
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket, TRIES};
use crate::script::reply::Reply;
use crate::script::scripts::PlannedScripts;

static SCRIPTS: PlannedScripts = PlannedScripts::new("admit", include_str!("admit.lua"));

/// One call at a time: requests that arrive meanwhile form a larger batch, which costs less per job. A batch that is
/// larger than one call is divided, so that other requests get in between.
const CALL: Limits = Limits { items: BATCH_JOBS, bytes: SMALL_BYTES, calls: 1 };
/// Redis rests after a call of the `large` queue with more bytes than this. A job of 1 MiB occupies Redis for some
/// milliseconds from its submission to its settlement.
const REST_AFTER_BYTES: usize = SMALL_BYTES / 2;

/// How long a batch is sent again while its outcome is unknown. The submitter has an answer within two seconds.
const RETRY_FOR: Duration = Duration::from_millis(1200);
/// How long Redis stores the answer to a batch: longer than the batch is sent again, and than a call may be on its way
/// after its connection was given up. Not much longer, as every batch stores one.
const ANSWER_TTL: Duration = Duration::from_secs(10);
const RETRY_DELAY: Duration = Duration::from_millis(50);

type Queue = Batches<AdmissionRequest, Result<AdmissionDecision, BucketError>>;

/// The submissions of this process to one bucket. Small ones don't wait for large ones.
#[derive(Clone)]
pub(crate) struct Admissions {
    small: Queue,
    large: Queue,
}

impl Admissions {
    pub(crate) fn start(redis_bucket: &Arc<RedisBucket>) -> Self {
        Self {
            small: start_queue(redis_bucket.clone(), usize::MAX),
            large: start_queue(redis_bucket.clone(), REST_AFTER_BYTES),
        }
    }

    /// Returns `None` while the process ends.
    pub(crate) async fn enter(&self, request: AdmissionRequest) -> Option<PendingAdmission> {
        self.queue_for(body_bytes(&request)).enter(request).await
    }

    /// Enqueues and answers the requests in their order. An answer is `None` if the process ends before it.
    pub(crate) async fn put_all(
        &self,
        requests: Vec<AdmissionRequest>,
    ) -> Vec<Option<Result<AdmissionDecision, BucketError>>> {
        self.queue_for(requests.iter().map(body_bytes).sum()).put_all(requests).await
    }

    fn queue_for(&self, bytes: usize) -> &Queue {
        if bytes > SMALL_BYTES { &self.large } else { &self.small }
    }
}

fn body_bytes(request: &AdmissionRequest) -> usize {
    request.submission.body.len()
}

/// The size of a request in a batch. Many tiers of limits count like bytes; few cost no more than the rest of a job.
fn weigh(request: &AdmissionRequest) -> usize {
    let tiers = request.tiers();
    let counted = if tiers > BATCH_TIERS / BATCH_JOBS { tiers } else { 0 };
    body_bytes(request) + counted * (SMALL_BYTES / BATCH_TIERS)
}

/// Redis rests after a call with more than `rest_after` bytes.
fn start_queue(redis_bucket: Arc<RedisBucket>, rest_after: usize) -> Queue {
    Batches::new(CALL, weigh, move |requests: Vec<AdmissionRequest>| {
        let redis_bucket = redis_bucket.clone();
        async move {
            if let Some(refused) = redis_bucket.refuse_full(&requests).await {
                return refused.into_iter().map(Ok).collect();
            }
            let bytes = requests.iter().map(body_bytes).sum();
            let _turn = if bytes > rest_after { redis_bucket.store.large_turn(bytes).await } else { None };
            let (requests, order) = redis_bucket.group_by_flow(requests);
            #[cfg(feature = "planted-bugs")]
            if let Some(answers) = crate::script::fault_injection::answered_before_write(requests.len()) {
                tokio::spawn(async move { redis_bucket.admit(&requests).await });
                return answers.into_iter().map(Ok).collect();
            }
            match redis_bucket.admit(&requests).await {
                Ok(judged) => in_original_order(judged, &order).into_iter().map(Ok).collect(),
                Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
            }
        }
    })
}

/// The flow of a job, as in `turns/flows.lua`: its group, or else its caller, at its priority.
fn flow_of(request: &AdmissionRequest) -> (Option<&Group>, Option<&str>, Priority) {
    let Submission { group, caller, priority, .. } = &*request.submission;
    let caller = caller.as_deref().filter(|_| group.is_none());
    (group.as_ref(), caller, priority.unwrap_or_default())
}

/// Undoes `group_by_flow`.
fn in_original_order<T>(judged: Vec<T>, order: &[usize]) -> Vec<T> {
    if order.is_empty() {
        return judged;
    }
    let mut judged: Vec<(usize, T)> = order.iter().copied().zip(judged).collect();
    judged.sort_unstable_by_key(|(index, _)| *index);
    judged.into_iter().map(|(_, judgement)| judgement).collect()
}

impl RedisBucket {
    /// With fair queuing, puts the jobs of each flow together, since consecutive jobs are one run of ids in `ranges`.
    /// Returns also the original index of each request; empty if the order wasn't changed.
    fn group_by_flow(&self, requests: Vec<AdmissionRequest>) -> (Vec<AdmissionRequest>, Vec<usize>) {
        let is_one_flow = requests.windows(2).all(|pair| flow_of(&pair[0]) == flow_of(&pair[1]));
        if !self.has_fair_queuing() || is_one_flow {
            return (requests, Vec::new());
        }
        let mut first_of_flow = HashMap::new();
        let firsts: Vec<usize> = requests
            .iter()
            .enumerate()
            .map(|(index, request)| *first_of_flow.entry(flow_of(request)).or_insert(index))
            .collect();
        let mut numbered: Vec<(usize, AdmissionRequest)> = requests.into_iter().enumerate().collect();
        numbered.sort_by_key(|(index, _)| firsts.get(*index).copied());
        numbered.into_iter().map(|(index, request)| (request, index)).unzip()
    }

    async fn admit(&self, requests: &[AdmissionRequest]) -> Result<Vec<AdmissionDecision>, BucketError> {
        let judged = self.admit_batch(requests, read_one).await?;
        self.note_full(&judged);
        Ok(judged)
    }

    /// Admits the jobs of ticks of schedules in one call, and answers in their order.
    pub(crate) async fn admit_for_ticks(
        &self,
        requests: Vec<AdmissionRequest>,
    ) -> Result<Vec<TickResult>, BucketError> {
        let (requests, order) = self.group_by_flow(requests);
        Ok(in_original_order(self.admit_batch(&requests, read_ticked).await?, &order))
    }

    /// Calls the script, again under the same token while the outcome is unknown. `read_one` reads the answer to a job.
    async fn admit_batch<T>(
        &self,
        requests: &[AdmissionRequest],
        read_one: fn(&mut Reply, Option<&Plan>, &BatchReply) -> Result<T, BucketError>,
    ) -> Result<Vec<T>, BucketError> {
        let token = self.keys.token(&format!("{:032x}", fastrand::u128(..)));
        let started = Instant::now();
        let (mut unknown, mut made_way, mut changes) = (None::<StoreError>, false, 0);
        // The reply may be that to an earlier call, and name the plan of limits that have changed since.
        let mut batch_plans: Vec<BatchPlan> = Vec::new();
        loop {
            let effective = self.effective_settings();
            if !batch_plans.last().is_some_and(|last| last.is_by(&effective)) {
                batch_plans.push(self.plan_all(requests, &effective).await?);
            }
            self.look_at_clock(&effective).await;
            let call = self.call(&effective, requests, &batch_plans, &token, unknown.is_some());
            // Checked right before the call: if the process was suspended, the stored answer may have expired, and the
            // call would append the jobs again.
            if started.elapsed() >= RETRY_FOR
                && let Some(error) = unknown
            {
                return Err(error.into());
            }
            match self.store.run_durably::<Value>(&call).await {
                Ok(reply) => match self.learn_overrides(Reply::new("admit", reply)?)? {
                    Some(reply) => return read(reply, &batch_plans, effective.settings.capacity, read_one),
                    // The settings have changed: try with the new ones, even if that takes longer.
                    None if changes < TRIES || started.elapsed() < RETRY_FOR => {
                        changes += 1;
                        continue;
                    }
                    None => return Err(unknown.map_or(BucketError::Changing, BucketError::from)),
                },
                Err(error) if error.is_unanswered() && error.certainty() == Certainty::Unknown => unknown = Some(error),
                // After a call with unknown outcome, an error of a later one doesn't prove that nothing was stored.
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
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    fn call(
        &self,
        effective: &EffectiveSettings,
        requests: &[AdmissionRequest],
        batch_plans: &[BatchPlan],
        token: &str,
        is_repeated: bool,
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
        // The index of a job's idempotency key, from 1, among those of the batch.
        let mut once_index_of = |request: &AdmissionRequest| {
            let next = once_index.len() + 1;
            let index = once_index.entry(self.once_of(&request.submission)?).or_insert_with_key(|name| {
                keys.push(name.clone());
                next
            });
            Some(*index)
        };
        let indices: Vec<Option<usize>> = requests.iter().map(&mut once_index_of).collect();
        let ticks: Vec<_> = requests.iter().filter_map(|request| request.tick.as_deref()).collect();
        let ticks = if ticks.is_empty() { String::new() } else { tick::pack(&ticks, &self.keys, &mut keys) };
        let (keys, paced) = self.pack_pace(effective, keys);
        let (keys, policies, plans) = match batch_plans.last() {
            Some(batch_plan) => batch_plan.pack(keys, self.time_of_plans(effective)),
            None => (keys, Vec::new(), vec![Vec::new(); requests.len()]),
        };
        let has_plans = !paced.is_empty() || plans.iter().any(|plan| !plan.is_empty());
        let mut call = SCRIPTS.of(self.kind, has_plans).on(&self.keys.and_level(keys));
        call.arg(&effective.version).arg(u8::from(is_repeated)).arg(settings.capacity).arg(settings.capacity_bytes);
        call.arg(&paced[..]).arg(&effective.share_of_one);
        call.arg(ms_up(settings.keep.idempotency_keys)).arg(settings.keep.most_idempotency_keys);
        call.arg(ms_up(ANSWER_TTL)).arg(batch_plans.len());
        call.arg(&effective.weights).arg(requests.len()).arg(ticks).arg(&effective.bounds);
        call.arg(once_index.len()).arg(&policies[..]);
        let options = requests.iter().zip(indices);
        let options = options.map(|(request, once)| options_for_script(request, once)).collect();
        add_jobs(&mut call, self.kind, requests, options, &plans);
        call
    }

    /// The Redis key of a submission's idempotency key.
    fn once_of(&self, submission: &Submission) -> Option<String> {
        let key = submission.idempotency_key.as_ref()?;
        Some(self.keys.once(submission.caller.as_deref(), key.as_str()))
    }
}

/// What the answers to all jobs of a batch have in common.
struct BatchReply {
    capacity: u64,
    /// µs of the Redis clock.
    now_us: u64,
    /// If the batch filled the bucket: the time until there is room again.
    room_in: Option<Duration>,
}

fn read<T>(
    mut reply: Reply,
    batch_plans: &[BatchPlan],
    capacity: u64,
    read_one: fn(&mut Reply, Option<&Plan>, &BatchReply) -> Result<T, BucketError>,
) -> Result<Vec<T>, BucketError> {
    reply.text()?;
    let number = reply.text()?;
    let batch_plan = number.parse().ok().and_then(|number: usize| batch_plans.get(number.checked_sub(1)?));
    let Some(batch_plan) = batch_plan else { return reply.unknown(&number) };
    let now_us = reply.count()?;
    let room_in = u64::try_from(reply.number()?).ok().map(Duration::from_millis);
    let batch = BatchReply { capacity, now_us, room_in };
    let mut read_next = |plan: Option<&Plan>| {
        if reply.begins_with_array() {
            return read_one(&mut reply.array()?, plan, &batch);
        }
        // The answer to a job that was admitted without a caller share isn't nested.
        read_one(&mut reply, plan, &batch)
    };
    batch_plan.plans.iter().map(Option::as_deref).map(&mut read_next).collect()
}

fn read_ticked(answer: &mut Reply, plan: Option<&Plan>, batch: &BatchReply) -> Result<TickResult, BucketError> {
    match TickResult::read(answer)? {
        Some(ticked) => Ok(ticked),
        None => Ok(TickResult::Judged(read_one(answer, plan, batch)?.admission)),
    }
}

fn read_one(answer: &mut Reply, plan: Option<&Plan>, batch: &BatchReply) -> Result<AdmissionDecision, BucketError> {
    let word = answer.bytes()?;
    // The short form of `admitted` begins with the id. After the eta it has only the states of limits.
    if word.first().is_some_and(u8::is_ascii_digit) {
        let admission = Admission::Admitted(read_admitted(&word, false, answer, batch)?);
        let limits = plan.map(|plan| read_limits(answer, plan, batch)).transpose()?;
        return Ok(AdmissionDecision { admission, limits, caller_share: None });
    }
    let admission = read_admission(&word, answer, batch)?;
    let caller_share = if answer.is_empty() { None } else { read_caller_share(answer)? };
    let limits = plan.filter(|_| !answer.is_empty()).map(|plan| read_limits(answer, plan, batch)).transpose()?;
    Ok(AdmissionDecision { admission, limits, caller_share })
}

fn read_limits(answer: &mut Reply, plan: &Plan, batch: &BatchReply) -> Result<Decision, BucketError> {
    let decision = if answer.begins_with_array() {
        let mut report = answer.array()?;
        let mut numbers = Vec::new();
        while !report.is_empty() {
            numbers.push(report.number()?);
        }
        Decision::read(plan, &numbers)
    } else {
        Decision::read_states(plan, batch.now_us, &answer.bytes()?)
    };
    decision.map_or_else(|| answer.unknown("the report of its limits"), Ok)
}

/// Returns `None` if no share is set, or the caller is unknown.
fn read_caller_share(answer: &mut Reply) -> Result<Option<CallerShare>, BucketError> {
    let (jobs, most) = (answer.number()?, answer.number()?);
    Ok(u64::try_from(jobs).ok().zip(u64::try_from(most).ok()).map(|(jobs, most)| CallerShare { jobs, most }))
}

fn read_admission(word: &Bytes, answer: &mut Reply, batch: &BatchReply) -> Result<Admission, BucketError> {
    if word == "admitted" || word == "repeated" {
        let id = answer.bytes()?;
        return Ok(Admission::Admitted(read_admitted(&id, word == "repeated", answer, batch)?));
    }
    let Some(reason) = RefusalReason::ALL.into_iter().find(|reason| word == reason.word()) else {
        return answer.unknown(&String::from_utf8_lossy(word));
    };
    // -1: a retry can't succeed.
    let retry_after = u64::try_from(answer.number()?).ok().map(Duration::from_millis);
    Ok(Admission::Refused(Refused { reason, retry_after, level: answer.count()?, capacity: batch.capacity }))
}

/// Reads the level and the eta, which follow the id.
fn read_admitted(id: &Bytes, repeated: bool, answer: &mut Reply, batch: &BatchReply) -> Result<Admitted, BucketError> {
    let parsed = str::from_utf8(id).ok().and_then(|id| id.parse::<JobId>().ok());
    let Some(id) = parsed else { return answer.unknown(&String::from_utf8_lossy(id)) };
    let (level, capacity, eta) = (answer.count()?, batch.capacity, Duration::from_millis(answer.count()?));
    Ok(Admitted { id, level, capacity, eta, room_in: batch.room_in.filter(|_| level >= capacity), repeated })
}
