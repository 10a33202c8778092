//! Moves the jobs of a bucket that no process serves into another one. This doesn't need the old settings, because the
//! place of the jobs is registered in Redis.

mod report;

use std::time::{Duration, Instant};

use dripfeed_bucket::{
    Bucket, BucketError, BucketPlace, BucketSettings, Kind, MoveProgress, MoveStep, Mover, OnOutcome, Refused,
    RegisteredPlace, is_list_elsewhere, level_at, outcome_jobs_at, registered_places,
};
use dripfeed_job::BucketName;
use dripfeed_store::Store;
use tokio_util::sync::CancellationToken;

use self::report::report;
use super::guard::{self, OtherServers};
use super::outbox::{Delivered, Outbox};
use super::{Arguments, RegisteredPlaces, interrupted, leave, rest, unknown};
use crate::exit::{Exit, Failure};
use crate::role::connect::Connected;
use crate::role::served::described;
use crate::settings::Settings;

/// The bounds of the pause before a retry when the target bucket is full.
const MIN_WAIT: Duration = Duration::from_millis(200);
const MAX_WAIT: Duration = Duration::from_secs(30);
/// How long Redis may be unreachable.
const PATIENCE: Duration = Duration::from_secs(60);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

pub(super) async fn run(
    arguments: &Arguments,
    into: &BucketName,
    settings: &Settings,
    connected: &Connected,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let store = &connected.store;
    let Some(target) = settings.buckets.get(into) else {
        return Err(unknown(store, into, "the target of --into isn't configured").await?);
    };
    let target = Bucket::new(store.clone(), target.settings(connected.durability));
    let into = BucketPlace::from(target.settings().as_ref());
    let Some(places) = places_to_move(store, &arguments.bucket, &into, stop).await? else {
        return Err(interrupted("nothing was moved"));
    };
    for place in &places {
        refuse_same_key(store, place, &into)?;
    }
    let mut outbox = match unserved_bucket(store, &arguments.bucket, &target).await? {
        Some(from) => Outbox::open(from, settings, connected, stop).await?,
        None => None,
    };
    let mut total = MoveProgress::default();
    for place in &places {
        let progress = move_one(store, place, &target, &into, settings, stop).await?;
        total.moved += progress.moved;
        total.expired += progress.expired;
        total.doubled += progress.doubled;
        total.left.extend(progress.left);
    }
    let mut outcomes = Delivered::default();
    if let Some(outbox) = &mut outbox {
        outcomes = hand_over(store, &places, outbox, stop).await?;
    }
    // Not after an interruption: the bucket may be configured again, and then needs its schedules.
    if !stop.is_cancelled()
        && let Some(from) = unserved_bucket(store, &arguments.bucket, &target).await?
    {
        leave(&from).await?;
    }
    report(arguments, store, &places, &into, &total, outcomes, stop).await
}

/// The places of buckets of this name that have jobs or outcome jobs, and that no process serves. Returns `None` if the
/// drain is asked to stop meanwhile.
async fn places_to_move(
    store: &Store,
    bucket: &BucketName,
    into: &BucketPlace,
    stop: &CancellationToken,
) -> Result<Option<Vec<BucketPlace>>, Failure> {
    let (mut unserved, mut served) = (Vec::new(), None);
    for RegisteredPlace { place, .. } in registered_places(store).await? {
        if place.bucket != *bucket || place == *into {
            continue;
        }
        // A target of the same name goes on with the outbox.
        let has_outbox = into.bucket != *bucket && outcome_jobs_at(store, &place).await? > 0;
        if level_at(store, &place).await? == 0 && !has_outbox {
            continue;
        }
        match guard::others_at(store, &place, stop).await? {
            OtherServers::Gone => unserved.push(place),
            OtherServers::Serve => served = Some(place),
            OtherServers::Unknown => return Ok(None),
        }
    }
    match served {
        Some(served) if unserved.is_empty() => Err(guard::in_use(store, &served)),
        _ => Ok(Some(unserved)),
    }
}

fn refuse_same_key(store: &Store, place: &BucketPlace, into: &BucketPlace) -> Result<(), Failure> {
    if place.jobs_key(store) == into.jobs_key(store) {
        let (what, other) = (described(place, store), described(into, store));
        let message = format!(
            "{what} can't be moved into {other}, because its key is in use: give `{}` another `key`, or move into \
                another bucket",
            into.bucket
        );
        return Err(Failure::new(Exit::Configuration, message));
    }
    Ok(())
}

/// The bucket by which to reach the schedules and the outbox, which all places of a name share. Returns `None` if a
/// bucket of this name, of another kind or key, is in use and so keeps them.
async fn unserved_bucket(store: &Store, name: &BucketName, target: &Bucket) -> Result<Option<Bucket>, Failure> {
    let is_served =
        registered_places(store).await?.iter().any(|noted| noted.place.bucket == *name && noted.is_served());
    if is_served || target.name() == name {
        return Ok(None);
    }
    let settings = target.settings().as_ref().clone();
    let settings = BucketSettings { name: name.clone(), key: None, on_outcome: OnOutcome::default(), ..settings };
    Ok(Some(Bucket::new(store.clone(), settings)))
}

/// Moves the outcome jobs. Registers the places, so that they aren't reported as stranded meanwhile.
async fn hand_over(
    store: &Store,
    places: &[BucketPlace],
    outbox: &mut Outbox,
    stop: &CancellationToken,
) -> Result<Delivered, Failure> {
    let noting = RegisteredPlaces::begin(store, places.to_vec()).await?;
    let delivered = outbox.hand_over(stop).await;
    noting.end(places).await;
    delivered
}

async fn move_one(
    store: &Store,
    place: &BucketPlace,
    target: &Bucket,
    into: &BucketPlace,
    settings: &Settings,
    stop: &CancellationToken,
) -> Result<MoveProgress, Failure> {
    let replicas_are_others = place.kind == Kind::List && is_list_elsewhere(store, place).await?;
    let noting = RegisteredPlaces::begin(store, vec![place.clone(), into.clone()]).await?;
    let mut mover = Mover::new(store, place, target, replicas_are_others);
    let result = tokio::select! {
        result = move_all(&mut mover, settings.processor.settings.lease, place, store, stop) => result,
        () = stop.cancelled() => Ok(()),
    };
    noting.end(std::slice::from_ref(place)).await;
    result.map(|()| mover.progress().clone())
}

/// Moves jobs until none is left that can be moved, or until `stop`.
async fn move_all(
    mover: &mut Mover,
    lease: Duration,
    place: &BucketPlace,
    store: &Store,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    if let Some(replica) = mover.recover(lease).await? {
        return Err(taken_by(&replica, place, store));
    }
    let (mut last_logged, mut unreachable_since) = (Instant::now(), None);
    loop {
        let wait = match mover.step().await {
            Ok(MoveStep::Done) => return Ok(()),
            Ok(MoveStep::Served(replica)) => return Err(taken_by(&replica, place, store)),
            Ok(MoveStep::On) => {
                unreachable_since = None;
                Duration::ZERO
            }
            Ok(MoveStep::Refused(refused)) => {
                unreachable_since = None;
                wait_for_room(place, &refused)
            }
            Err(BucketError::Store(error)) if error.is_transient() => {
                let since = *unreachable_since.get_or_insert_with(|| {
                    let error = error.as_ref() as &dyn std::error::Error;
                    tracing::warn!(bucket = %place.bucket, error, "could not move jobs; retrying");
                    Instant::now()
                });
                if since.elapsed() >= PATIENCE {
                    return Err(BucketError::Store(error).into());
                }
                Duration::from_secs(1)
            }
            Err(error) => return Err(error.into()),
        };
        if last_logged.elapsed() >= LOG_INTERVAL {
            last_logged = Instant::now();
            let left = level_at(store, place).await.unwrap_or_default();
            tracing::info!(bucket = %place.bucket, moved = mover.progress().moved, left, "moving");
        }
        if !wait.is_zero() && rest(wait, stop).await.is_none() {
            return Ok(());
        }
    }
}

/// Returns how long to wait until the target bucket may have room, and logs it.
fn wait_for_room(place: &BucketPlace, refused: &Refused) -> Duration {
    let wait = refused.retry_after.unwrap_or(MAX_WAIT).clamp(MIN_WAIT, MAX_WAIT);
    let reason = refused.reason.code();
    tracing::info!(
        bucket = %place.bucket, reason, wait_ms = wait.as_millis(),
        "the target bucket is full; waiting"
    );
    wait
}

fn taken_by(replica: &str, place: &BucketPlace, store: &Store) -> Failure {
    let what = described(place, store);
    let message = format!("the replica `{replica}` is claiming jobs of {what}: stop it, then move them");
    Failure::new(Exit::RefusedForNow, message)
}
