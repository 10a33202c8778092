//! Asks the Sentinels who the master is.
//!
//! All of them at once: one that is gone costs no time, where asking in turn would spend the whole
//! time for connecting on it.

use futures::future::select_ok;
use redis::{Client, ErrorKind, RedisError, RedisResult, Value, aio::MultiplexedConnection, cmd};

use crate::{dial, url::HostPort};

/// The address of the master called `name`, as the first Sentinel says that knows it.
pub(crate) async fn master(sentinels: &[HostPort], name: &str) -> RedisResult<HostPort> {
    let questions = sentinels.iter().map(|at| Box::pin(ask(at, name)));
    select_ok(questions).await.map(|(master, _)| master)
}

async fn ask(at: &HostPort, name: &str) -> RedisResult<HostPort> {
    let mut connection =
        Client::open(dial::info(dial::tcp(at))?)?.get_multiplexed_async_connection_with_config(&dial::config()).await?;
    let known: Option<(String, u16)> =
        cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name).query_async(&mut connection).await?;
    let (host, port) = known.ok_or_else(|| {
        RedisError::from((
            ErrorKind::MasterNameNotFoundBySentinel,
            "Sentinel doesn't know a master of this name",
            name.to_owned(),
        ))
    })?;
    Ok(HostPort { host, port })
}

/// Fails when the server at hand isn't a master: a Sentinel that hasn't heard of a failover yet
/// names the old one.
pub(crate) async fn require_master(connection: &mut MultiplexedConnection) -> RedisResult<()> {
    let role: Vec<Value> = cmd("ROLE").query_async(connection).await?;
    let role: Option<String> = role.into_iter().next().map(redis::from_redis_value).transpose()?;
    if role.as_deref() == Some("master") {
        return Ok(());
    }
    Err(RedisError::from((
        ErrorKind::MasterNameNotFoundBySentinel,
        "the server that Sentinel names isn't a master (yet)",
    )))
}
