//! Creates the HTTP clients of all upstreams.

use std::sync::Arc;

use dripfeed_outbound::{Dial, HttpClient};
use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
use thiserror::Error;

use crate::upstream::Upstream;
use crate::upstream::dial::dial;
use crate::upstream::names::Names;
use crate::upstream::shared_clients::{Origin, Reach, Shared};

/// Creates the HTTP clients of all upstreams. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    /// TLS versions and ciphers. The trusted authorities are added for each upstream.
    tls: ConfigBuilder<ClientConfig, WantsVerifier>,
    names: Names,
    dials: Shared<Reach, Dial>,
    clients: Shared<Origin, HttpClient>,
}

#[derive(Debug, Error)]
#[error("TLS can't be set up for calls to upstreams")]
pub struct ConnectorError(#[from] rustls::Error);

impl Connector {
    /// Sets up TLS.
    ///
    /// # Errors
    /// When the TLS library can't be set up.
    pub fn new() -> Result<Self, ConnectorError> {
        // Explicit, as nothing guarantees that a default provider is installed for the process.
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let tls = tls.with_safe_default_protocol_versions()?;
        Ok(Self { tls, names: Names::default(), dials: Shared::empty(), clients: Shared::empty() })
    }

    /// The client of an upstream, shared as described in `shared_clients`.
    pub(crate) fn client(&self, upstream: &Upstream) -> Arc<HttpClient> {
        self.clients.get(Origin::of(upstream), |origin| {
            let dial = self.dials.get(origin.reach.clone(), |reach| dial(self.tls.clone(), reach, self.names.clone()));
            HttpClient::new(dial, upstream.url().clone())
        })
    }
}
