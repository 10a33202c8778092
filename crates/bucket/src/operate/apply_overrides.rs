//! Changes settings at run time, under a new version (see `effective_settings`).

use dripfeed_store::Script;

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;
use crate::settings::overrides::Overrides;

static SCRIPT: Script = Script::new("apply_overrides", SHARED, include_str!("apply_overrides.lua"));

impl RedisBucket {
    pub(crate) async fn apply_overrides(&self, overrides: &Overrides) -> Result<(), BucketError> {
        self.write_control(overrides.fields()).await
    }

    pub(crate) async fn pause(&self, paused: bool) -> Result<(), BucketError> {
        self.write_control([("paused", paused.then(|| "1".to_owned()))]).await
    }

    /// A value to write, or None to remove it.
    async fn write_control(
        &self,
        fields: impl IntoIterator<Item = (&'static str, Option<String>)>,
    ) -> Result<(), BucketError> {
        // Any other text than before, also after Redis lost the one that was.
        let version = format!("{:016x}", fastrand::u64(..));
        let mut call = SCRIPT.on(&[self.keys.control()]);
        call.arg(version);
        for (field, value) in fields {
            call.arg(field).arg(value.unwrap_or_default());
        }
        Ok(self.store.run_durably::<()>(&call).await?)
    }
}
