//! Changes settings at run time, under a new version (see `in_force`).

use std::sync::LazyLock;

use dripfeed_store::Script;

use crate::changes::Changes;
use crate::core::Core;
use crate::error::BucketError;

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new("change", &[include_str!("change.lua")]));

impl Core {
    pub(crate) async fn change(&self, changes: &Changes) -> Result<(), BucketError> {
        // Any other text than before, also after Redis lost the one that was.
        let version = format!("{:016x}", fastrand::u64(..));
        let mut call = SCRIPT.on(&[self.keys.control()]);
        call.arg(version);
        for (field, value) in changes.fields() {
            call.arg(field).arg(value.unwrap_or_default());
        }
        Ok(self.store.run_durably::<()>(&call).await?)
    }

    pub(crate) async fn pause(&self, paused: bool) -> Result<(), BucketError> {
        let mut set = redis::cmd("HSET");
        set.arg(self.keys.control()).arg("paused").arg(u8::from(paused));
        Ok(self.store.command::<()>(&set).await?)
    }
}
