//! Moves the jobs of a bucket that no process serves into another one. The old settings aren't needed: Redis has the
//! place of the jobs.

use std::time::{Duration, Instant};

use dripfeed_bucket::{
    Bucket, BucketError, BucketPlace, BucketSettings, Kind, MoveProgress, MoveStep, Mover, NotedPlace, Refused,
    is_list_elsewhere, level_at, noted_places,
};
use dripfeed_job::BucketName;
use dripfeed_store::Store;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::guard::{self, OtherServers};
use super::{Arguments, NotedPlaces, end_schedules, print, rest, unknown};
use crate::exit::{Exit, Failure};
use crate::role::connect::Connected;
use crate::role::served::described;
use crate::settings::Settings;

/// Between two tries to hand a job to a bucket that is full.
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How long Redis may stay away.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// Of the jobs that can't be moved.
const MOST_SHOWN: usize = 20;

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
    let Some(places) = silent_places(store, &arguments.bucket, &into, stop).await? else { return Ok(()) };
    for place in &places {
        refuse_same_key(store, place, &into)?;
    }
    let mut moved = MoveProgress::default();
    for place in &places {
        let one = move_one(store, place, &target, &into, settings, stop).await?;
        moved.moved += one.moved;
        moved.expired += one.expired;
        moved.doubled += one.doubled;
        moved.left.extend(one.left);
    }
    // What is stopped before its end may go back to the old configuration, with its schedules.
    if !stop.is_cancelled() {
        end_schedules_of(store, &arguments.bucket, &target).await?;
    }
    report(arguments, store, &places, &into, &moved).await
}

/// Those of the name that have jobs and that nobody serves. None: asked to stop meanwhile.
async fn silent_places(
    store: &Store,
    bucket: &BucketName,
    into: &BucketPlace,
    stop: &CancellationToken,
) -> Result<Option<Vec<BucketPlace>>, Failure> {
    let (mut silent, mut served) = (Vec::new(), None);
    for NotedPlace { place, .. } in noted_places(store).await? {
        if place.bucket != *bucket || place == *into || level_at(store, &place).await? == 0 {
            continue;
        }
        match guard::others_at(store, &place, stop).await? {
            OtherServers::Gone => silent.push(place),
            OtherServers::Serve => served = Some(place),
            OtherServers::Unknown => return Ok(None),
        }
    }
    match served {
        Some(served) if silent.is_empty() => Err(guard::served(store, &served)),
        _ => Ok(Some(silent)),
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

/// A bucket of the same name, of another kind or key, goes on with them.
async fn end_schedules_of(store: &Store, name: &BucketName, target: &Bucket) -> Result<(), Failure> {
    let is_served = noted_places(store).await?.iter().any(|noted| noted.place.bucket == *name && noted.is_served());
    if is_served || target.name() == name {
        return Ok(());
    }
    let settings = BucketSettings { name: name.clone(), key: None, ..target.settings().as_ref().clone() };
    end_schedules(&Bucket::new(store.clone(), settings)).await
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
    let noting = NotedPlaces::begin(store, vec![place.clone(), into.clone()]).await?;
    let mut mover = Mover::new(store, place, target, replicas_are_others);
    let ended = tokio::select! {
        ended = go(&mut mover, settings.processor.settings.lease, place, store, stop) => ended,
        () = stop.cancelled() => Ok(()),
    };
    noting.end(place).await;
    ended.map(|()| mover.progress().clone())
}

/// Until all that can be moved is, or `stop`.
async fn go(
    mover: &mut Mover,
    lease: Duration,
    place: &BucketPlace,
    store: &Store,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    if let Some(replica) = mover.recover(lease).await? {
        return Err(taken_by(&replica, place, store));
    }
    let (mut line, mut away) = (Instant::now(), None);
    loop {
        let wait = match mover.step().await {
            Ok(MoveStep::Done) => return Ok(()),
            Ok(MoveStep::Served(replica)) => return Err(taken_by(&replica, place, store)),
            Ok(MoveStep::On) => {
                away = None;
                Duration::ZERO
            }
            Ok(MoveStep::Refused(refused)) => {
                away = None;
                full(place, &refused)
            }
            Err(BucketError::Store(error)) if error.is_transient() => {
                if away.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                    return Err(BucketError::Store(error).into());
                }
                let error = error.as_ref() as &dyn std::error::Error;
                tracing::warn!(bucket = %place.bucket, error, "could not move jobs; retrying");
                Duration::from_secs(1)
            }
            Err(error) => return Err(error.into()),
        };
        if line.elapsed() >= BETWEEN_LINES {
            line = Instant::now();
            let left = level_at(store, place).await.unwrap_or_default();
            tracing::info!(bucket = %place.bucket, moved = mover.progress().moved, left, "moving");
        }
        if !wait.is_zero() && rest(wait, stop).await.is_none() {
            return Ok(());
        }
    }
}

/// How long to wait for room.
fn full(place: &BucketPlace, refused: &Refused) -> Duration {
    let wait = refused.retry_after.unwrap_or(LONGEST_WAIT).clamp(SHORTEST_WAIT, LONGEST_WAIT);
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

async fn report(
    arguments: &Arguments,
    store: &Store,
    places: &[BucketPlace],
    into: &BucketPlace,
    moved: &MoveProgress,
) -> Result<(), Failure> {
    let mut left = 0;
    for place in places {
        left += level_at(store, place).await?;
    }
    let MoveProgress { moved: jobs, expired, doubled, left: unmovable } = moved;
    let (bucket, into) = (&arguments.bucket, &into.bucket);
    let document = json!({
        "bucket": bucket, "into": into, "moved": jobs, "expired": expired, "doubled": doubled, "left": left,
        "unmovable": unmovable.iter().map(|(id, why)| json!({ "id": id.to_string(), "why": why })).collect::<Vec<_>>(),
    });
    let sentence = match places.is_empty() {
        true => format!("no stranded jobs of `{bucket}` found"),
        false => format!("{jobs} jobs of `{bucket}` moved into `{into}`, {expired} expired, {left} left"),
    };
    print(arguments.output, &document, &sentence)?;
    if *doubled > 0 {
        tracing::warn!(%bucket, jobs = doubled, "a replica claimed jobs during the move; these jobs are called twice");
    }
    if unmovable.is_empty() {
        return Ok(());
    }
    let shown = unmovable.iter().take(MOST_SHOWN).map(|(id, why)| format!("\n  {id}: {why}")).collect::<String>();
    let more = unmovable.len().saturating_sub(MOST_SHOWN);
    let more = if more > 0 { format!("\n  and {more} more (-o json has all)") } else { String::new() };
    let message =
        format!("{} jobs of `{bucket}` could not be moved and stay in the bucket:{shown}{more}", unmovable.len());
    Err(Failure::new(Exit::Failure, message))
}
