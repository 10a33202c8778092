//! Opens one connection to the server of a route.

use std::{any::Any, convert::Infallible, io, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use redis::{
    Client, ConnectionAddr, ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo, RedisError, RedisResult,
    aio::MultiplexedConnection,
};

use crate::connect::connect_options;
use crate::connect::latest_master::{LatestMaster, NamedMaster};
use crate::connect::sentinel;
use crate::error::StoreError;
use crate::settings::RedisSettings;
use crate::url::{Address, HostPort, Route};

/// Knows how to connect; each call makes a new connection and asks Sentinel again.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    address: Address,
    route: Route,
    limit: Duration,
    latest: LatestMaster,
}

impl Connector {
    /// To the server at the end of `route`, or to one of the nodes of the address of `settings`.
    pub(crate) fn new(settings: &RedisSettings, route: Route) -> Self {
        if settings.url.tls.is_some() {
            // Fails when the program has installed one already: then that one is used.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Self {
            address: settings.url.by(route.clone()),
            route,
            limit: settings.connect_timeout,
            latest: LatestMaster::default(),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Where the server is. None: on a Unix socket, or where Sentinel leads.
    pub(crate) fn at(&self) -> Option<&HostPort> {
        match &self.route {
            Route::Tcp(at) => Some(at),
            Route::Unix(_) | Route::Sentinel(_) => None,
        }
    }

    /// The master that Sentinel named last, to any clone of this.
    pub(crate) fn latest_master(&self) -> &LatestMaster {
        &self.latest
    }

    pub(crate) fn asks_sentinels(&self) -> bool {
        matches!(self.route, Route::Sentinel(_))
    }

    /// A connection without a response timeout, and the master that Sentinel named. `on_disconnect` is called once,
    /// when it is lost.
    pub(crate) async fn connect(
        &self,
        on_disconnect: impl Fn() + Send + Sync + 'static,
    ) -> Result<(MultiplexedConnection, Option<NamedMaster>), StoreError> {
        let on_push = move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                on_disconnect();
            }
        };
        self.connect_and_listen(on_push).await
    }

    /// The same, where all that Redis says unasked is of interest. `on_push` must not wait.
    pub(crate) async fn connect_and_listen(
        &self,
        on_push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<(MultiplexedConnection, Option<NamedMaster>), StoreError> {
        tokio::time::timeout(self.limit, caught(self.connect_unbounded(on_push)))
            .await
            .map_err(|_| StoreError::connecting(&self.address, self.timed_out()))?
            .map_err(|error| StoreError::connecting(&self.address, error))
    }

    fn timed_out(&self) -> RedisError {
        let tls = if self.address.tls.is_some() { "; does this port of Redis speak TLS?" } else { "" };
        io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {:?}{tls}", self.limit)).into()
    }

    async fn connect_unbounded(
        &self,
        on_push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> RedisResult<(MultiplexedConnection, Option<NamedMaster>)> {
        let config = connect_options::config().set_push_sender(move |push: PushInfo| {
            on_push(push);
            Ok::<(), Infallible>(())
        });
        let mut named = None;
        let client = match &self.route {
            Route::Tcp(at) => self.client(at).await?,
            Route::Unix(path) => {
                let at = connect_options::info(ConnectionAddr::Unix(path.clone()))?;
                Client::open(at.set_redis_settings(self.greeting()))?
            }
            Route::Sentinel(sentinels) => {
                let master = sentinel::master(sentinels, self.address.tls.as_ref()).await?;
                self.client(&named.insert(master).at).await?
            }
        };
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if let Some(named) = &named {
            sentinel::require_master(&mut connection).await?;
            self.latest.note(named);
        }
        Ok((connection, named))
    }

    async fn client(&self, at: &HostPort) -> RedisResult<Client> {
        connect_options::client(at, self.address.tls.as_ref(), self.greeting()).await
    }

    fn greeting(&self) -> RedisConnectionInfo {
        connect_options::greeting(&self.address.login)
            .set_db(self.address.db)
            .set_lib_name("dripfeed", env!("CARGO_PKG_VERSION"))
            // Only there the loss of a connection is reported at once, before the next call needs it.
            .set_protocol(ProtocolVersion::RESP3)
    }
}

/// A panic is a failed attempt like others, so that who connects goes on: a name is looked up and a certificate is read
/// on another thread, and where the system gives none, tokio panics.
async fn caught<T>(connecting: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    let ended = AssertUnwindSafe(connecting).catch_unwind().await;
    ended.unwrap_or_else(|panic| Err(io::Error::other(message_of(&*panic)).into()))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("the attempt panicked; this is a bug, please report it").to_owned()
}
