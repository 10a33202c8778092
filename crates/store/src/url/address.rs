//! The parsed form of `redis.url`.

use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

/// The address and credentials of Redis. Never shows a password.
///
/// | form | meaning |
/// |---|---|
/// | `redis://[user:password@]host[:port][/db]` | TCP |
/// | `unix:///path[?db=1&user=u&pass=p]`, `redis+unix://…` | a socket of this machine |
/// | `redis+sentinel://[user:password@]host[:port],…/name[/db]` | the master that Sentinel names |
/// | `redis+cluster://[user:password@]host[:port],…` | a Redis Cluster, found through these nodes |
/// | `rediss://…`, `rediss+sentinel://…`, `rediss+cluster://…` | the same over TLS, also to the Sentinels |
///
/// TLS has the parameters `?ca=/path` (the authorities to trust instead of the public ones) and `?cert=/path&key=/path`
/// (the client certificate), Sentinel `?sentinel_user=u&sentinel_pass=p` (the login at the Sentinels).
#[derive(Clone)]
pub struct Address {
    pub(crate) deployment: Deployment,
    /// `None` for connections without TLS.
    pub(crate) tls: Option<Tls>,
    pub(crate) login: Login,
    pub(crate) db: i64,
}

#[derive(Debug, Clone)]
pub(crate) enum Deployment {
    Server(Route),
    /// The nodes from which to read the slot map first.
    Cluster(Vec<HostPort>),
}

/// The way to one server.
#[derive(Debug, Clone)]
pub(crate) enum Route {
    Tcp(HostPort),
    Unix(PathBuf),
    Sentinel(Sentinels),
}

/// The Sentinels of the master with the name `master`.
#[derive(Debug, Clone)]
pub(crate) struct Sentinels {
    pub(crate) at: Vec<HostPort>,
    pub(crate) master: String,
    pub(crate) login: Login,
}

/// The files of certificates and keys, in PEM format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The authorities to trust instead of the public ones.
    pub(crate) ca: Option<PathBuf>,
    /// The client certificate and its key.
    pub(crate) client: Option<(PathBuf, PathBuf)>,
}

/// User and password.
#[derive(Debug, Clone, Default)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<SecretString>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HostPort {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Returns whether this is a Redis Cluster, where the keys of a bucket must share a hash tag.
    pub fn is_cluster(&self) -> bool {
        matches!(self.deployment, Deployment::Cluster(_))
    }

    /// Returns the address of the socket at `path`, without a login.
    pub(crate) fn unix(path: &Path) -> Self {
        Self { deployment: Deployment::Server(Route::Unix(path.to_owned())), tls: None, login: Login::default(), db: 0 }
    }

    /// Returns the server of `route`, with the same TLS, login and database.
    pub(crate) fn with_route(&self, route: Route) -> Self {
        Self { deployment: Deployment::Server(route), ..self.clone() }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.user.as_ref().map(|user| format!("{user}@"));
        let user = user.as_deref().unwrap_or_default();
        let s = if self.tls.is_some() { "s" } else { "" };
        let db = self.db;
        match &self.deployment {
            Deployment::Server(Route::Tcp(at)) => write!(f, "redis{s}://{user}{at}/{db}"),
            Deployment::Server(Route::Unix(path)) => write!(f, "unix://{user}{}?db={db}", path.display()),
            Deployment::Server(Route::Sentinel(Sentinels { at, master, .. })) => {
                write!(f, "redis{s}+sentinel://{user}{}/{master}/{db}", joined(at))
            }
            Deployment::Cluster(nodes) => write!(f, "redis{s}+cluster://{user}{}", joined(nodes)),
        }
    }
}

fn joined(hosts: &[HostPort]) -> String {
    let hosts: Vec<_> = hosts.iter().map(HostPort::to_string).collect();
    hosts.join(",")
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
