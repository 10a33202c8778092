//! Unregisters a place that no process serves.

use dripfeed_store::{InstallationKeys, Script, Store};

use super::registered_places::RegisteredPlace;
use crate::error::BucketError;

static SCRIPT: Script = Script::new("forget_place", &[], include_str!("forget_place.lua"));

/// Removes the place from the registry, unless a process has noted it again.
pub(super) async fn forget_place(store: &Store, noted: &RegisteredPlace) -> Result<(), BucketError> {
    let mut call = SCRIPT.on(&[InstallationKeys::new(store.prefix()).buckets]);
    call.arg(noted.place.to_string()).arg(noted.noted_ms);
    store.run::<u64>(&call).await?;
    Ok(())
}
