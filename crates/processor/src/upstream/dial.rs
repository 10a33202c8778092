//! Makes connections to upstreams, only to allowed addresses.
//!
//! Redirects, proxies from the environment and decompression aren't supported. TLS is rustls with ring.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use std::{io, vec};

use dripfeed_outbound::Dial;
use http::Uri;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
use thiserror::Error;
use tokio::time::timeout;
use tower::timeout::Timeout;
use tower::{BoxError, Service, ServiceExt as _};

use crate::upstream::Upstream;
use crate::upstream::names::{Names, look_up};
use crate::upstream::shared_clients::Reach;
use crate::upstream::source_address::{NoSourceAddress, has_source_for};
use crate::upstream::ssrf::is_public;

const KEEPALIVE: Duration = Duration::from_secs(15);

pub(super) fn dial(tls: ConfigBuilder<ClientConfig, WantsVerifier>, reach: &Reach, names: Names) -> Dial {
    let allow_private = reach.allow_private;
    let resolver = tower::service_fn(move |name| {
        let names = names.clone();
        async move { resolve(&names, name, allow_private).await }
    });
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    // The connector divides this among the addresses of a name, so that a silent one leaves time for the others.
    tcp.set_connect_timeout(Some(reach.connect_timeout));
    let tcp = tower::service_fn(move |to| connect(tcp.clone(), to));
    let tls = match reach.root_certs.roots() {
        None => tls.with_webpki_roots(),
        Some(roots) => tls.with_root_certificates(roots),
    };
    let tls = HttpsConnectorBuilder::new()
        .with_tls_config(tls.with_no_client_auth())
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Dial::new(Timeout::new(tls, reach.connect_timeout))
}

impl Upstream {
    /// Returns whether its name currently resolves to a private address that isn't allowed. Each connection checks
    /// again, because DNS may change.
    pub async fn has_private_address(&self) -> bool {
        let name = self.url().host().and_then(|host| host.parse::<Name>().ok());
        let Some(name) = name.filter(|_| !self.allow_private()) else { return false };
        match timeout(self.connect_timeout(), look_up(&name)).await {
            Ok(Ok(addresses)) => addresses.iter().any(|address| !is_public(address.ip())),
            _ => false,
        }
    }
}

/// Connects to a host. If the URL has an address, and this machine has none to reach it from, the error says so;
/// `resolve` does that for names.
async fn connect<T>(tcp: T, to: Uri) -> Result<T::Response, BoxError>
where
    T: Service<Uri, Error: Into<BoxError>>,
{
    let address = to.host().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
    tcp.oneshot(to).await.map_err(|error| match address {
        Some(address) if !has_source_for(address) => NoSourceAddress(address.to_string()).into(),
        _ => error.into(),
    })
}

/// The allowed addresses of a name. The connection is made to these: the name isn't resolved a second time, when it
/// might have others.
async fn resolve(names: &Names, name: Name, allow_private: bool) -> io::Result<vec::IntoIter<SocketAddr>> {
    let addresses = names.look_up(&name).await?;
    let mut allowed: Vec<_> = addresses.iter().copied().filter(|at| allow_private || is_public(at.ip())).collect();
    if allowed.is_empty() && !addresses.is_empty() {
        return Err(io::Error::other(PrivateName(name.to_string())));
    }
    allowed.retain(|at| has_source_for(at.ip()));
    if allowed.is_empty() && !addresses.is_empty() {
        return Err(io::Error::other(NoSourceAddress(name.to_string())));
    }
    Ok(allowed.into_iter())
}

#[derive(Debug, Error)]
#[error("{0} has only private addresses, and `allow_private` is false")]
struct PrivateName(String);

#[cfg(test)]
mod tests;
