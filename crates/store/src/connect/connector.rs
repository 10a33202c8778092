//! Opens a connection to the server of a route.

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

/// Opens connections. Asks Sentinel for each one.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    address: Address,
    route: Route,
    timeout: Duration,
    latest: LatestMaster,
}

impl Connector {
    /// Creates a connector to the server of `route`, with the other options of `settings`.
    pub(crate) fn new(settings: &RedisSettings, route: Route) -> Self {
        if settings.url.tls.is_some() {
            // Fails if the program has installed another provider, which is then used.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Self {
            address: settings.url.with_route(route.clone()),
            route,
            timeout: settings.connect_timeout,
            latest: LatestMaster::default(),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the host and port of the server, or `None` for a Unix socket or with Sentinel.
    pub(crate) fn at(&self) -> Option<&HostPort> {
        match &self.route {
            Route::Tcp(at) => Some(at),
            Route::Unix(_) | Route::Sentinel(_) => None,
        }
    }

    /// Returns the latest master that Sentinel named to any clone of this connector.
    pub(crate) fn latest_master(&self) -> &LatestMaster {
        &self.latest
    }

    pub(crate) fn asks_sentinels(&self) -> bool {
        matches!(self.route, Route::Sentinel(_))
    }

    /// Returns a connection without a response timeout, and the master that Sentinel named, if there is a Sentinel.
    /// Calls `on_disconnect` once, when the connection is lost.
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

    /// Like `connect`, but passes all push messages of Redis to `on_push`, which must not block.
    pub(crate) async fn connect_and_listen(
        &self,
        on_push: impl Fn(PushInfo) + Send + Sync + 'static,
    ) -> Result<(MultiplexedConnection, Option<NamedMaster>), StoreError> {
        tokio::time::timeout(self.timeout, catch_panic(self.connect_unbounded(on_push)))
            .await
            .map_err(|_| StoreError::connecting(&self.address, self.timed_out()))?
            .map_err(|error| StoreError::connecting(&self.address, error))
    }

    fn timed_out(&self) -> RedisError {
        let tls = if self.address.tls.is_some() { "; does this port of Redis speak TLS?" } else { "" };
        io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {:?}{tls}", self.timeout)).into()
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
            // Only RESP3 reports the loss of a connection at once, and not at the next call.
            .set_protocol(ProtocolVersion::RESP3)
    }
}

/// Converts a panic into an error, so that reconnecting goes on. tokio panics if it can't start a thread for looking up
/// a host name or reading a certificate.
async fn catch_panic<T>(connecting: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
    let result = AssertUnwindSafe(connecting).catch_unwind().await;
    result.unwrap_or_else(|panic| Err(io::Error::other(message_of(&*panic)).into()))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    text.unwrap_or("the attempt panicked; this is a bug, please report it").to_owned()
}
