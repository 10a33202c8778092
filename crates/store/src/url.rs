//! The forms of `redis.url`, parsed once into an [`Address`].

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use percent_encoding::percent_decode_str;
use secrecy::SecretString;

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// Where Redis is and as whom to speak to it. Never prints the password.
///
/// | form | meaning |
/// |---|---|
/// | `redis://[user:password@]host[:port][/db]` | TCP |
/// | `rediss://…[?ca=/path/to/ca.pem]` | TLS, trusting the public authorities or that file alone |
/// | `unix:///path[?db=1&user=u&pass=p]`, `redis+unix://…` | a socket of this machine |
/// | `redis+sentinel://[user:password@]host[:port],…/name[/db]` | the master that Sentinel names |
#[derive(Clone)]
pub struct Address {
    pub(crate) place: Place,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<SecretString>,
    pub(crate) db: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp(HostPort),
    /// `ca`: a PEM file with the only authorities to trust.
    Tls {
        at: HostPort,
        ca: Option<PathBuf>,
    },
    Unix(PathBuf),
    Sentinel {
        sentinels: Vec<HostPort>,
        master: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPort {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// What is wrong with a `redis.url`. Shows no part of it that may hold the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No `scheme://`.
    #[error("redis.url has no scheme; write it like redis://127.0.0.1:6379")]
    NoScheme,
    /// A scheme of no known form.
    #[error(
        "redis.url has the unknown scheme `{0}`; use redis://host:6379, rediss://host:6379, \
         unix:///path/redis.sock or redis+sentinel://host1:26379,host2:26379/name"
    )]
    UnknownScheme(String),
    /// `redis+cluster://`.
    #[error(
        "redis.url names a Redis Cluster, which is not supported yet; use one master with replicas, \
         like redis+sentinel://host1:26379,host2:26379/name"
    )]
    ClusterNotSupported,
    /// An empty host name.
    #[error("redis.url has no host; write it like redis://127.0.0.1:6379")]
    NoHost,
    /// Several hosts where one is meant.
    #[error("redis.url names several hosts; that is for Sentinel: redis+sentinel://host1,host2/name")]
    SeveralHosts,
    /// A port out of range, or a password that isn't percent-encoded.
    #[error(
        "redis.url has a port that isn't a number from 1 to 65535; write it like \
         redis://127.0.0.1:6379, and `/ : @ ? #` in a password percent-encoded (`/` is %2F)"
    )]
    BadPort,
    /// A database that isn't a number.
    #[error(
        "redis.url has a database that isn't a number from 0 up; write it like \
         redis://127.0.0.1:6379/0, and `/ : @ ? #` in a password percent-encoded (`/` is %2F)"
    )]
    BadDatabase,
    /// No path to the socket.
    #[error("redis.url has no absolute path to a socket; write it like unix:///run/redis/redis.sock")]
    NoSocketPath,
    /// Sentinel without the name of a master.
    #[error(
        "redis.url has no master's name for Sentinel; write it like \
         redis+sentinel://host1:26379,host2:26379/mymaster"
    )]
    NoMasterName,
    /// Something after `?` that means nothing here.
    #[error(
        "redis.url has a parameter after `?` that means nothing here; unix:///path knows \
         ?db=0&user=name&pass=word, rediss://host:6379 knows ?ca=/path/to/ca.pem"
    )]
    UnknownParameter,
    /// `#insecure` and the like.
    #[error(
        "redis.url has a part after `#`, which means nothing here: TLS is always verified \
         (rediss://host:6379?ca=/path/to/ca.pem for an authority of your own), and a `#` in a \
         password is written %23"
    )]
    Fragment,
    /// Percent-encoding that isn't UTF-8.
    #[error("redis.url holds a percent-encoding that isn't UTF-8")]
    NotText,
}

impl Address {
    /// The socket at `path`, without a login.
    pub(crate) fn unix(path: &Path) -> Self {
        Self { place: Place::Unix(path.to_owned()), user: None, password: None, db: 0 }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(url: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = url.split_once("://").ok_or(AddressError::NoScheme)?;
        if rest.contains('#') {
            return Err(AddressError::Fragment);
        }
        let mut parts = Parts::split(rest)?;
        let address = match scheme {
            "redis" => parts.tcp(),
            "rediss" => parts.tls(),
            "unix" | "redis+unix" => parts.unix(),
            "redis+sentinel" => parts.sentinel(),
            "redis+cluster" => Err(AddressError::ClusterNotSupported),
            other => Err(AddressError::UnknownScheme(other.to_owned())),
        }?;
        if parts.parameters.is_empty() { Ok(address) } else { Err(AddressError::UnknownParameter) }
    }
}

/// What stands after `scheme://`, still to be given a meaning.
struct Parts {
    user: Option<String>,
    password: Option<SecretString>,
    hosts: String,
    path: String,
    parameters: Vec<(String, String)>,
}

impl Parts {
    fn split(rest: &str) -> Result<Self, AddressError> {
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(SecretString::from(decoded(password)?))),
            None => (login, None),
        };
        let parameters = query
            .split('&')
            .filter(|parameter| !parameter.is_empty())
            .map(|parameter| {
                let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                Ok((name.to_owned(), decoded(value)?))
            })
            .collect::<Result<_, AddressError>>()?;
        Ok(Self {
            user: not_empty(decoded(user)?),
            password,
            hosts: hosts.to_owned(),
            path: path.to_owned(),
            parameters,
        })
    }

    fn tcp(&mut self) -> Result<Address, AddressError> {
        let place = Place::Tcp(self.one_host()?);
        let db = database(self.path.trim_matches('/'))?;
        Ok(self.address(place, db))
    }

    fn tls(&mut self) -> Result<Address, AddressError> {
        let place = Place::Tls { at: self.one_host()?, ca: self.parameter("ca").map(PathBuf::from) };
        let db = database(self.path.trim_matches('/'))?;
        Ok(self.address(place, db))
    }

    fn unix(&mut self) -> Result<Address, AddressError> {
        if !self.hosts.is_empty() || self.path.len() < 2 {
            return Err(AddressError::NoSocketPath);
        }
        let db = database(&self.parameter("db").unwrap_or_default())?;
        if let Some(user) = self.parameter("user") {
            self.user = not_empty(user);
        }
        if let Some(password) = self.parameter("pass") {
            self.password = Some(SecretString::from(password));
        }
        let place = Place::Unix(decoded(&self.path)?.into());
        Ok(self.address(place, db))
    }

    fn sentinel(&mut self) -> Result<Address, AddressError> {
        let sentinels = self.hosts.split(',').map(|host| host_port(host, SENTINEL_PORT)).collect::<Result<_, _>>()?;
        let path = self.path.trim_matches('/');
        let (master, db) = path.split_once('/').unwrap_or((path, ""));
        let master = not_empty(decoded(master)?).ok_or(AddressError::NoMasterName)?;
        let db = database(db)?;
        Ok(self.address(Place::Sentinel { sentinels, master }, db))
    }

    fn address(&mut self, place: Place, db: i64) -> Address {
        Address { place, user: self.user.take(), password: self.password.take(), db }
    }

    fn one_host(&self) -> Result<HostPort, AddressError> {
        if self.hosts.contains(',') {
            return Err(AddressError::SeveralHosts);
        }
        host_port(&self.hosts, REDIS_PORT)
    }

    fn parameter(&mut self, name: &str) -> Option<String> {
        let at = self.parameters.iter().position(|(known, _)| known == name)?;
        Some(self.parameters.swap_remove(at).1)
    }
}

fn host_port(text: &str, default_port: u16) -> Result<HostPort, AddressError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(ipv6) => ipv6.split_once(']').ok_or(AddressError::NoHost)?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(number) => number.parse().ok().filter(|port| *port != 0).ok_or(AddressError::BadPort)?,
        None if port.is_empty() => default_port,
        None => return Err(AddressError::BadPort),
    };
    let host = not_empty(decoded(host)?).ok_or(AddressError::NoHost)?;
    Ok(HostPort { host, port })
}

fn database(text: &str) -> Result<i64, AddressError> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse::<u32>().map(i64::from).map_err(|_| AddressError::BadDatabase)
}

fn decoded(text: &str) -> Result<String, AddressError> {
    percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| AddressError::NotText)
}

fn not_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
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
        let user = self.user.as_ref().map(|user| format!("{user}@"));
        let user = user.as_deref().unwrap_or_default();
        let db = self.db;
        match &self.place {
            Place::Tcp(at) => write!(f, "redis://{user}{at}/{db}"),
            Place::Tls { at, .. } => write!(f, "rediss://{user}{at}/{db}"),
            Place::Unix(path) => write!(f, "unix://{user}{}?db={db}", path.display()),
            Place::Sentinel { sentinels, master } => {
                let hosts: Vec<_> = sentinels.iter().map(HostPort::to_string).collect();
                write!(f, "redis+sentinel://{user}{}/{master}/{db}", hosts.join(","))
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
