//! Asks the Sentinels for the current master.

use std::collections::HashMap;

use futures::FutureExt;
use redis::{ErrorKind, RedisError, RedisResult, Value, aio::MultiplexedConnection, cmd, pipe};

use crate::connect::connect_options;
use crate::connect::highest_epoch::{HasEpoch, highest_epoch};
use crate::connect::latest_master::NamedMaster;
use crate::error::code_of;
use crate::url::{HostPort, Sentinels, Tls};

impl HasEpoch for NamedMaster {
    fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Returns the master with the highest epoch that a Sentinel names.
pub(crate) async fn master(sentinels: &Sentinels, tls: Option<&Tls>) -> RedisResult<NamedMaster> {
    let latest = highest_epoch(sentinels.at.iter().map(|at| ask(at, sentinels, tls).boxed()).collect()).await;
    latest.unwrap_or_else(|| Err(unknown_master(&sentinels.master)))
}

async fn ask(at: &HostPort, sentinels: &Sentinels, tls: Option<&Tls>) -> RedisResult<NamedMaster> {
    let client = connect_options::client(at, tls, connect_options::greeting(&sentinels.login)).await?;
    let mut connection = client.get_multiplexed_async_connection_with_config(&connect_options::config()).await?;
    // During a failover only GET-MASTER-ADDR-BY-NAME returns the new address, while both have the new epoch. So the
    // address is read first, lest an old one gets a new epoch.
    let mut commands = pipe();
    commands.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&sentinels.master);
    commands.cmd("SENTINEL").arg("MASTER").arg(&sentinels.master);
    let replies: (Option<(String, u16)>, HashMap<String, String>) =
        commands.query_async(&mut connection).await.map_err(|error| {
            // The code of "No such master with that name".
            if code_of(&error).as_deref() == Some("ERR") { unknown_master(&sentinels.master) } else { error }
        })?;
    let (Some((host, port)), fields) = replies else { return Err(unknown_master(&sentinels.master)) };
    let epoch = fields.get("config-epoch").and_then(|epoch| epoch.parse().ok()).unwrap_or(0);
    Ok(NamedMaster { at: HostPort { host, port }, epoch })
}

fn unknown_master(name: &str) -> RedisError {
    let what = "Sentinel has no master with this name";
    RedisError::from((ErrorKind::MasterNameNotFoundBySentinel, what, name.to_owned()))
}

/// Fails if the server isn't a master, because a Sentinel may not know of a failover yet, and name the old one.
pub(crate) async fn require_master(connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let role: Vec<Value> = cmd("ROLE").query_async(connection).await?;
    let role: Option<String> = role.into_iter().next().map(redis::from_redis_value).transpose()?;
    if role.as_deref() == Some("master") {
        return Ok(());
    }
    Err(RedisError::from((
        ErrorKind::MasterNameNotFoundBySentinel,
        "the server that Sentinel reported isn't a master (yet)",
    )))
}
