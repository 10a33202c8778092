//! Changes settings at run time, under a new version (see `script/redis_bucket.rs`).

use dripfeed_store::Script;
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::constants::ANY_VERSION;
use crate::script::redis_bucket::{EffectiveState, RedisBucket};
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;
use crate::settings::Kind;
use crate::settings::overrides::Overrides;

static SCRIPT: Script = Script::new("apply_overrides", SHARED, include_str!("apply_overrides.lua"));

impl Bucket {
    /// Checks whether a bucket of this kind can have these settings.
    ///
    /// # Errors
    /// For turns in a list bucket.
    pub fn check_overrides(&self, overrides: &Overrides) -> Result<(), BucketError> {
        if self.redis_bucket.kind == Kind::List && overrides.ask_for_turns() {
            return Err(BucketError::Unsupported("fair queuing"));
        }
        Ok(())
    }

    /// Changes settings at once, on all replicas and intakes, also for queued jobs. Returns the settings in force after
    /// this change; others may have changed them since.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for turns in a list bucket; when the bucket was
    /// deleted or created again over the API.
    pub async fn apply_overrides(&self, overrides: &Overrides) -> Result<EffectiveState, BucketError> {
        self.check_overrides(overrides)?;
        self.redis_bucket.write_control_of_any_version(overrides.fields()).await
    }

    /// As [`Bucket::apply_overrides`], if `version` is the one in force ([`crate::Census::version`]). Returns `None` if
    /// another one is; then nothing was changed.
    ///
    /// # Errors
    /// As [`Bucket::apply_overrides`].
    pub async fn apply_overrides_to(
        &self,
        version: &str,
        overrides: &Overrides,
    ) -> Result<Option<EffectiveState>, BucketError> {
        self.check_overrides(overrides)?;
        self.redis_bucket.write_control(version, overrides.fields()).await
    }

    /// Pauses the bucket: it makes no calls until `resume`, and accepts jobs until it is full.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn pause(&self) -> Result<EffectiveState, BucketError> {
        self.redis_bucket.write_control_of_any_version([("paused", Some("1".to_owned()))]).await
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn resume(&self) -> Result<EffectiveState, BucketError> {
        self.redis_bucket.write_control_of_any_version([("paused", None)]).await
    }
}

impl RedisBucket {
    async fn write_control_of_any_version(
        &self,
        fields: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> Result<EffectiveState, BucketError> {
        self.write_control(ANY_VERSION, fields).await?.ok_or(BucketError::Changing)
    }

    /// `fields`: their values, `None` to remove a field. Returns `None` if the version in force isn't `known`.
    async fn write_control(
        &self,
        known: &str,
        fields: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> Result<Option<EffectiveState>, BucketError> {
        // Random, so that it differs from earlier versions even if Redis has lost the last one.
        let version = format!("{:016x}", fastrand::u64(..));
        let mut call = SCRIPT.on(&[self.keys.jobs(), self.keys.control(), self.keys.meter()]);
        call.arg(version).arg(self.incarnation_word()).arg(known);
        for (field, value) in fields {
            call.arg(field).arg(value.unwrap_or_default());
        }
        let mut reply = Reply::new("apply_overrides", self.store.run_durably::<Value>(&call).await?)?;
        if reply.begins_with("changed") {
            return self.learn(reply).map(Some);
        }
        match reply.text()?.as_str() {
            "other version" => Ok(None),
            "gone" => Err(BucketError::Gone),
            word => reply.unknown(word),
        }
    }
}
