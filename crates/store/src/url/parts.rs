//! Splits a `redis.url` into parts, and interprets them for each form.

use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use super::address::{Address, Deployment, HostPort, Login, Route, Sentinels, Tls};
use super::error::AddressError;

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The parts after `scheme://`. Parameters are removed when they are used.
pub(super) struct UrlParts {
    login: Login,
    hosts: String,
    path: String,
    parameters: Vec<(String, String)>,
}

impl UrlParts {
    pub(super) fn split(rest: &str) -> Result<Self, AddressError> {
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
            login: Login { user: not_empty(decoded(user)?), password },
            hosts: hosts.to_owned(),
            path: path.to_owned(),
            parameters,
        })
    }

    pub(super) fn tcp(&mut self) -> Result<Address, AddressError> {
        if self.hosts.contains(',') {
            return Err(AddressError::SeveralHosts);
        }
        let route = Route::Tcp(host_port(&self.hosts, REDIS_PORT)?);
        let db = database(self.path.trim_matches('/'))?;
        Ok(self.address(Deployment::Server(route), db))
    }

    pub(super) fn unix(&mut self) -> Result<Address, AddressError> {
        if !self.hosts.is_empty() || self.path.len() < 2 {
            return Err(AddressError::NoSocketPath);
        }
        let db = database(&self.parameter("db").unwrap_or_default())?;
        let Login { user, password } = self.login_of("user", "pass");
        self.login = Login { user: user.or(self.login.user.take()), password: password.or(self.login.password.take()) };
        let route = Route::Unix(decoded(&self.path)?.into());
        Ok(self.address(Deployment::Server(route), db))
    }

    pub(super) fn sentinel(&mut self) -> Result<Address, AddressError> {
        let at = self.several_hosts(SENTINEL_PORT)?;
        let path = self.path.trim_matches('/');
        let (master, db) = path.split_once('/').unwrap_or((path, ""));
        let master = not_empty(decoded(master)?).ok_or(AddressError::NoMasterName)?;
        let db = database(db)?;
        let login = self.login_of("sentinel_user", "sentinel_pass");
        let route = Route::Sentinel(Sentinels { at, master, login });
        Ok(self.address(Deployment::Server(route), db))
    }

    pub(super) fn cluster(&mut self) -> Result<Address, AddressError> {
        let nodes = self.several_hosts(REDIS_PORT)?;
        match database(self.path.trim_matches('/'))? {
            0 => Ok(self.address(Deployment::Cluster(nodes), 0)),
            _ => Err(AddressError::ClusterDatabase),
        }
    }

    pub(super) fn tls(&mut self) -> Result<Tls, AddressError> {
        let ca = self.parameter("ca").map(Into::into);
        let client = match (self.parameter("cert"), self.parameter("key")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(AddressError::HalfACertificate),
        };
        Ok(Tls { ca, client })
    }

    /// Fails if there is a parameter that wasn't used.
    pub(super) fn refuse_unused(&self) -> Result<(), AddressError> {
        if self.parameters.is_empty() { Ok(()) } else { Err(AddressError::UnknownParameter) }
    }

    fn address(&mut self, deployment: Deployment, db: i64) -> Address {
        Address { deployment, tls: None, login: std::mem::take(&mut self.login), db }
    }

    fn several_hosts(&self, default_port: u16) -> Result<Vec<HostPort>, AddressError> {
        self.hosts.split(',').map(|host| host_port(host, default_port)).collect()
    }

    fn login_of(&mut self, user: &str, password: &str) -> Login {
        Login {
            user: self.parameter(user).and_then(not_empty),
            password: self.parameter(password).map(SecretString::from),
        }
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
