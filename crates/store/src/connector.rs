//! Makes one connection to the server that `redis.url` names.

use std::{convert::Infallible, path::Path, time::Duration};

use redis::{
    Client, ConnectionAddr, ConnectionInfo, ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo, RedisResult,
    TlsCertificates, aio::MultiplexedConnection,
};
use secrecy::ExposeSecret;

use crate::{
    dial,
    error::StoreError,
    sentinel,
    settings::RedisSettings,
    url::{Address, HostPort, Place},
};

/// Knows how to connect; each call makes a new connection and asks Sentinel anew.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    address: Address,
    limit: Duration,
}

impl Connector {
    pub(crate) fn new(settings: &RedisSettings) -> Self {
        if matches!(settings.url.place, Place::Tls { .. }) {
            // Fails when the program has installed one already: then that one is used.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Self { address: settings.url.clone(), limit: settings.connect_timeout }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// A connection without a response timeout. `on_disconnect` is called once, when it is lost.
    pub(crate) async fn connect(
        &self,
        on_disconnect: impl Fn() + Send + Sync + 'static,
    ) -> Result<MultiplexedConnection, StoreError> {
        tokio::time::timeout(self.limit, self.connect_unbounded(on_disconnect))
            .await
            .map_err(|_| StoreError::unreachable(&self.address))?
            .map_err(|error| StoreError::connecting(&self.address, error))
    }

    async fn connect_unbounded(
        &self,
        on_disconnect: impl Fn() + Send + Sync + 'static,
    ) -> RedisResult<MultiplexedConnection> {
        let config = dial::config().set_push_sender(move |push: PushInfo| {
            if push.kind == PushKind::Disconnection {
                on_disconnect();
            }
            Ok::<(), Infallible>(())
        });
        let client = match &self.address.place {
            Place::Tcp(at) => self.client(dial::tcp(at))?,
            Place::Tls { at, ca: None } => self.client(dial::tls(at))?,
            Place::Tls { at, ca: Some(ca) } => self.client_trusting(at, ca).await?,
            Place::Unix(path) => self.client(ConnectionAddr::Unix(path.clone()))?,
            Place::Sentinel { sentinels, master } => {
                let master = sentinel::master(sentinels, master).await?;
                self.client(dial::tcp(&master))?
            }
        };
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        if matches!(self.address.place, Place::Sentinel { .. }) {
            sentinel::require_master(&mut connection).await?;
        }
        Ok(connection)
    }

    fn client(&self, at: ConnectionAddr) -> RedisResult<Client> {
        Client::open(self.info(at)?)
    }

    async fn client_trusting(&self, at: &HostPort, ca: &Path) -> RedisResult<Client> {
        let certificates = TlsCertificates { client_tls: None, root_cert: Some(tokio::fs::read(ca).await?) };
        Client::build_with_tls(self.info(dial::tls(at))?, certificates)
    }

    fn info(&self, at: ConnectionAddr) -> RedisResult<ConnectionInfo> {
        // RESP3: only there the loss of a connection is told at once, before the next call needs it.
        let mut login = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_db(self.address.db)
            .set_lib_name("dripfeed", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.address.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.address.password {
            login = login.set_password(password.expose_secret());
        }
        Ok(dial::info(at)?.set_redis_settings(login))
    }
}
