//! The places that processes serve or have served.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_store::{InstallationKeys, Script, Store};
use redis::Value;

use super::bucket_place::BucketPlace;
use crate::error::BucketError;
use crate::script::reply::Reply;

static SCRIPT: Script = Script::new("registered_places", &[], include_str!("registered_places.lua"));

/// A place is no longer served after this time without a note: three intervals of a process's notes.
const SILENCE: Duration = Duration::from_secs(15);
/// The approximate number of places in one reply.
const PAGE: usize = 500;

/// A place that processes serve or have served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredPlace {
    pub place: BucketPlace,
    /// The time of the last note, in ms of the Redis clock.
    pub noted_ms: u64,
    /// The time since the last note.
    pub silent_for: Duration,
}

impl RegisteredPlace {
    /// Returns whether a process may be serving the place.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.silent_for < SILENCE
    }
}

/// Returns all registered places, ordered by name.
///
/// # Errors
/// When Redis can't be asked.
pub async fn registered_places(store: &Store) -> Result<Vec<RegisteredPlace>, BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    let (mut places, mut cursor) = (BTreeMap::new(), "0".to_owned());
    loop {
        let mut call = SCRIPT.on(&[&buckets]).with_large_reply();
        call.arg(&cursor).arg(PAGE);
        let mut reply = Reply::new("registered_places", store.run::<Value>(&call).await?)?;
        let now_ms = reply.count()?;
        cursor = reply.text()?;
        for (text, noted_ms) in reply.array()?.fields()? {
            // An entry that was written by hand may not be valid.
            let Ok(place) = text.parse::<BucketPlace>() else { continue };
            let noted_ms = noted_ms.parse().unwrap_or(0);
            let silent_for = Duration::from_millis(now_ms.abs_diff(noted_ms));
            places.insert(place.clone(), RegisteredPlace { place, noted_ms, silent_for });
        }
        if cursor == "0" {
            return Ok(places.into_values().collect());
        }
    }
}
