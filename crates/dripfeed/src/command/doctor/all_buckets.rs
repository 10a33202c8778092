//! Finds the buckets to check.

use dripfeed_bucket::{Bucket, BucketPlace, KnownDefinitions};
use dripfeed_job::BucketName;

use crate::command::doctor::partial_store::PartialStore;
use crate::exit::Failure;
use crate::output;
use crate::settings::{Settings, UnreadDefinition};

pub(super) struct AllBuckets {
    pub(super) buckets: Vec<Bucket>,
    /// Buckets created over the API whose definitions can't be used with this configuration, and the reasons.
    pub(super) unread: Vec<(BucketName, String)>,
    /// The places of buckets whose credentials can't be decrypted. Their jobs aren't stranded: they wait for the key.
    pub(super) sealed: Vec<BucketPlace>,
}

/// Returns the configured buckets and those created over the API, even if this configuration doesn't allow any.
pub(super) async fn all_buckets(partial: &PartialStore, settings: &Settings) -> Result<AllBuckets, Failure> {
    let store = &partial.store;
    let durability = settings.redis.durability;
    let configured = settings.buckets.values().map(|bucket| Bucket::new(store.clone(), bucket.settings(durability)));
    let (mut buckets, mut unread, mut sealed): (Vec<Bucket>, _, _) = (configured.collect(), Vec::new(), Vec::new());
    let mut known = KnownDefinitions::default();
    if let Err(why) = partial.unless_away(known.follow(store).await)? {
        output::say(format_args!("not checked: buckets created over the API: {why}"));
    }
    for definition in known.iter().filter(|definition| !settings.buckets.contains_key(&definition.bucket)) {
        match settings.definitions.read(&definition.bucket, &definition.definition, definition.sealed.as_deref()) {
            Ok(bucket) => {
                let settings = bucket.settings(durability);
                buckets.push(Bucket::defined(store.clone(), settings, definition.incarnation));
            }
            Err(why) => {
                if matches!(why, UnreadDefinition::Sealed { .. }) {
                    let place = settings.definitions.place(&definition.bucket, &definition.definition);
                    sealed.extend(place.map(|settings| BucketPlace::from(&settings)));
                }
                unread.push((definition.bucket.clone(), why.to_string()));
            }
        }
    }
    Ok(AllBuckets { buckets, unread, sealed })
}
