//! Registers the places that a process serves.

use std::time::Duration;

use dripfeed_store::{InstallationKeys, Script, Store};

use super::bucket_place::BucketPlace;
use crate::error::BucketError;

static SCRIPT: Script = Script::new("register_places", &[], include_str!("register_places.lua"));

/// The maximum number of places in one call, so that the script doesn't block Redis for long.
const AT_ONCE: usize = 500;
/// The maximum bytes of their texts in one call. A key may be long.
const BYTES_AT_ONCE: usize = 64 << 10;
/// For this time one note is enough for all processes with the same places. Shorter than the interval of a process's
/// notes, so that no place becomes silent while one process notes in time.
const ENOUGH: Duration = Duration::from_secs(4);

/// Notes that this process has `places` in its settings.
///
/// # Errors
/// When Redis can't be asked.
pub async fn register_places(store: &Store, places: &[BucketPlace]) -> Result<(), BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    let mut texts = places.iter().map(ToString::to_string).peekable();
    while texts.peek().is_some() {
        let mut call = SCRIPT.on(&[&buckets]);
        let (mut count, mut bytes) = (0, 0);
        // The first text is always taken, however long it is.
        while let Some(text) = texts.next_if(|text| count == 0 || bytes + text.len() <= BYTES_AT_ONCE) {
            (count, bytes) = (count + 1, bytes + text.len());
            call.arg(text);
            if count == AT_ONCE {
                break;
            }
        }
        store.run::<u64>(&call).await?;
    }
    Ok(())
}

/// As [`register_places`], unless another process with the same places has just done so.
///
/// # Errors
/// When Redis can't be asked.
pub async fn register_places_once(store: &Store, places: &[BucketPlace]) -> Result<(), BucketError> {
    let mut is_first = redis::cmd("SET");
    is_first.arg(InstallationKeys::new(store.prefix()).noting(places)).arg("");
    is_first.arg("NX").arg("PX").arg(ENOUGH.as_millis());
    match store.command::<Option<String>>(&is_first).await {
        Ok(None) => Ok(()),
        // At maxmemory SET fails, but register_places doesn't.
        Ok(Some(_)) | Err(_) => register_places(store, places).await,
    }
}
