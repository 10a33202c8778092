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
    /// Versions and ciphers; whom to trust is each upstream's own.
    tls: ConfigBuilder<ClientConfig, WantsVerifier>,
    names: Names,
    dials: Shared<Reach, Dial>,
    clients: Shared<Origin, HttpClient>,
}

#[derive(Debug, Error)]
#[error("TLS can't be set up for calls to upstreams")]
pub struct ConnectorError(#[from] rustls::Error);

impl Connector {
    /// # Errors
    /// When the TLS library can't be set up.
    pub fn new() -> Result<Self, ConnectorError> {
        // Named, because a provider installed for the whole process is nobody's promise.
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let tls = tls.with_safe_default_protocol_versions()?;
        Ok(Self { tls, names: Names::default(), dials: Shared::none_yet(), clients: Shared::none_yet() })
    }

    /// The client of all upstreams of its origin that trust and may reach the same.
    pub(crate) fn client(&self, upstream: &Upstream) -> Arc<HttpClient> {
        self.clients.get(Origin::of(upstream), |origin| {
            let dial = self.dials.get(origin.reach.clone(), |reach| dial(self.tls.clone(), reach, self.names.clone()));
            HttpClient::new(dial, upstream.url().clone())
        })
    }
}
