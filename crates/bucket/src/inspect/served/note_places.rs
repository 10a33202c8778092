//! Registers the places that a process serves.

use dripfeed_store::{InstallationKeys, Script, Store};

use super::bucket_place::BucketPlace;
use crate::error::BucketError;

static SCRIPT: Script = Script::new("note_places", &[], include_str!("note_places.lua"));

/// In one call, so that no script keeps Redis for long.
const AT_ONCE: usize = 500;
/// Of their texts: a key may be long.
const BYTES_AT_ONCE: usize = 64 << 10;

/// Notes that this process has `places` among its settings.
///
/// # Errors
/// When Redis can't be asked.
pub async fn note_places(store: &Store, places: &[BucketPlace]) -> Result<(), BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    let mut texts = places.iter().map(ToString::to_string).peekable();
    while texts.peek().is_some() {
        let mut call = SCRIPT.on(&[&buckets]);
        let (mut count, mut bytes) = (0, 0);
        // One is among them, however long.
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
