//! The options of all connections: sockets, TLS, credentials. Timeouts are enforced elsewhere.

use std::{io, path::Path, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo,
    RedisConnectionInfo, RedisResult, TlsCertificates,
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};
use secrecy::ExposeSecret;

use crate::url::{HostPort, Login, Tls};

/// The kernel closes a TCP connection after this time without a reply to a keepalive probe or to sent bytes. This
/// bounds how long a subscriber waits for a dead peer.
const DEAD_PEER: Duration = Duration::from_secs(10);

/// Without timeouts, because the callers limit connecting and each call as a whole.
pub(crate) fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None)
}

/// Returns a client for connections to `at`. `greeting`: user, password and other options that are sent first.
pub(crate) async fn client(at: &HostPort, tls: Option<&Tls>, greeting: RedisConnectionInfo) -> RedisResult<Client> {
    let HostPort { host, port } = at.clone();
    let Some(tls) = tls else {
        return Client::open(info(ConnectionAddr::Tcp(host, port))?.set_redis_settings(greeting));
    };
    let at = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
    Client::build_with_tls(info(at)?.set_redis_settings(greeting), certificates(tls).await?)
}

/// Returns the options that are sent first on a connection.
pub(crate) fn greeting(login: &Login) -> RedisConnectionInfo {
    let mut greeting = RedisConnectionInfo::default();
    if let Some(user) = &login.user {
        greeting = greeting.set_username(user);
    }
    if let Some(password) = &login.password {
        greeting = greeting.set_password(password.expose_secret());
    }
    greeting
}

/// Returns the options of a connection to `at`, without a login.
pub(crate) fn info(at: ConnectionAddr) -> RedisResult<ConnectionInfo> {
    let probes = TcpKeepalive::new().with_time(DEAD_PEER / 2).with_interval(DEAD_PEER / 10);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(probes);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(DEAD_PEER);
    Ok(at.into_connection_info()?.set_tcp_settings(settings))
}

/// Reads the certificates for each connection, so that the next one uses renewed ones.
async fn certificates(tls: &Tls) -> io::Result<TlsCertificates> {
    let root_cert = match &tls.ca {
        Some(ca) => Some(read(ca).await?),
        None => None,
    };
    let client_tls = match &tls.client {
        Some((certificate, key)) => {
            Some(ClientTlsConfig { client_cert: read(certificate).await?, client_key: read(key).await? })
        }
        None => None,
    };
    Ok(TlsCertificates { client_tls, root_cert })
}

async fn read(path: &Path) -> io::Result<Vec<u8>> {
    let content = tokio::fs::read(path).await;
    content.map_err(|error| io::Error::new(error.kind(), format!("can't read {}: {error}", path.display())))
}
