//! Checks whether a bucket may be drained: no other process may serve it, or another bucket of its name, which would
//! share its data.

use std::time::Duration;

use dripfeed_bucket::{BucketPlace, RegisteredPlace, level_at, registered_places};
use dripfeed_job::pluralize;
use dripfeed_store::Store;
use tokio_util::sync::CancellationToken;

use super::rest;
use crate::exit::{Exit, Failure};
use crate::role::served::described;

const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Whether other processes are configured with a place.
pub(super) enum OtherServers {
    /// No other process is.
    Gone,
    /// A process registered the place while we watched.
    Serve,
    /// The drain was stopped before this was known.
    Unknown,
}

/// Waits until the registration of a place expires or is renewed. Processes renew it every few seconds. It alone
/// doesn't prove that one is running, because it outlives its process by a few seconds.
pub(super) async fn others_at(
    store: &Store,
    place: &BucketPlace,
    stop: &CancellationToken,
) -> Result<OtherServers, Failure> {
    let mut first = None;
    loop {
        let noted = registered_places(store).await?.into_iter().find(|noted| noted.place == *place);
        match noted.filter(RegisteredPlace::is_served) {
            None => return Ok(OtherServers::Gone),
            Some(noted) if *first.get_or_insert(noted.noted_ms) != noted.noted_ms => return Ok(OtherServers::Serve),
            Some(_) => {}
        }
        if rest(POLL_INTERVAL, stop).await.is_none() {
            return Ok(OtherServers::Unknown);
        }
    }
}

pub(super) fn in_use(store: &Store, place: &BucketPlace) -> Failure {
    let what = described(place, store);
    Failure::new(
        Exit::RefusedForNow,
        format!("{what} is in use: stop every intake and processor that is configured with it, then drain it"),
    )
}

/// Refuses to drain while another bucket of the same name is in use or has jobs. Buckets of one name share due times,
/// replicas and counters, whatever their kinds and keys: a replica of one would remove the due times of the other's
/// jobs.
pub(super) async fn refuse_namesakes(store: &Store, place: &BucketPlace) -> Result<(), Failure> {
    for noted in registered_places(store).await? {
        let other = &noted.place;
        if other.bucket != place.bucket || other == place {
            continue;
        }
        let jobs = level_at(store, other).await?;
        if noted.is_served() || jobs > 0 {
            let why =
                if noted.is_served() { "is in use".to_owned() } else { format!("has {}", pluralize(jobs, "job")) };
            let (what, other) = (described(place, store), described(other, store));
            let message = format!(
                "{what} can't be drained while {other} {why}: they share due times and replicas in Redis; move its \
                    jobs with `dripfeed drain {} --into OTHER`",
                place.bucket
            );
            return Err(Failure::new(Exit::Configuration, message));
        }
    }
    Ok(())
}
