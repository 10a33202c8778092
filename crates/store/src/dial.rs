//! How every connection is made: what the sockets are set to, and that no time limit is kept here.

use std::time::Duration;

use redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisResult,
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};

use crate::url::HostPort;

/// After this long without an answer to a probe or to sent bytes, the kernel gives a TCP
/// connection up. It bounds how long a blocking read can wait on a peer that is gone.
const DEAD_PEER: Duration = Duration::from_secs(10);

/// Connecting as a whole and each call as a whole have their limits where they begin.
pub(crate) fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None)
}

pub(crate) fn tcp(at: &HostPort) -> ConnectionAddr {
    ConnectionAddr::Tcp(at.host.clone(), at.port)
}

pub(crate) fn tls(at: &HostPort) -> ConnectionAddr {
    ConnectionAddr::TcpTls { host: at.host.clone(), port: at.port, insecure: false, tls_params: None }
}

/// A connection to `at`, without a login.
pub(crate) fn info(at: ConnectionAddr) -> RedisResult<ConnectionInfo> {
    let probes = TcpKeepalive::new().with_time(DEAD_PEER / 2).with_interval(DEAD_PEER / 10);
    let settings = TcpSettings::default().set_nodelay(true).set_keepalive(probes);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(DEAD_PEER);
    Ok(at.into_connection_info()?.set_tcp_settings(settings))
}
