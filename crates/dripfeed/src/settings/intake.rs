//! `[intake]`

pub(super) mod certificate;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use dripfeed_auth::Hosts;
use dripfeed_bucket::LARGEST_BODY;
use dripfeed_http::{TlsError, TlsIdentity};
use dripfeed_intake::IntakeSettings;
use dripfeed_job::redaction::Redaction;
use dripfeed_job::size;
use ipnet::IpNet;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::deserialize;
use super::read::Reader;
use super::secret;
use super::tree::Step;

/// A batch is one script, which blocks Redis while it runs.
const MAX_BATCH: usize = 1000;

#[derive(Clone, Debug)]
pub(crate) struct IntakeRole {
    pub(crate) listen: SocketAddr,
    /// `None` if off.
    pub(crate) metrics_listen: Option<SocketAddr>,
    pub(crate) dashboard: DashboardPlace,
    /// `None` for HTTP without TLS.
    pub(crate) tls: Option<TlsIdentity>,
    /// Whether histograms have the label `bucket`.
    pub(crate) histograms_by_bucket: bool,
    pub(crate) settings: IntakeSettings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    #[serde(deserialize_with = "deserialize::address")]
    listen: SocketAddr,
    tls_cert: PathBuf,
    tls_key: PathBuf,
    #[serde(deserialize_with = "deserialize::size")]
    max_body: u64,
    #[serde(deserialize_with = "deserialize::size")]
    max_bodies: u64,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_batch: usize,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_connections: usize,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_connections_per_address: usize,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_waits: usize,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_waits_per_caller: usize,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_event_streams: usize,
    #[serde(deserialize_with = "deserialize::one_or_more")]
    max_event_streams_per_caller: usize,
    trusted_proxies: Vec<TrustedProxy>,
    #[serde(deserialize_with = "deserialize::time")]
    head_timeout: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    idle_timeout: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    body_timeout: Duration,
    #[serde(deserialize_with = "deserialize::time_or_zero")]
    drain_delay: Duration,
    #[serde(deserialize_with = "deserialize::time")]
    drain: Duration,
    hosts: Vec<String>,
    #[serde(deserialize_with = "deserialize::address_or_none")]
    metrics_listen: Option<SocketAddr>,
    dashboard: DashboardPlace,
    histograms_by_bucket: bool,
    redact: Vec<String>,
    x_ratelimit_headers: bool,
}

/// Where the dashboard is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum DashboardPlace {
    /// On the port of the API.
    Intake,
    Apart(SocketAddr),
    Off,
}

impl TryFrom<String> for DashboardPlace {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "intake" => Ok(Self::Intake),
            "off" => Ok(Self::Off),
            other => other.parse().map(Self::Apart).map_err(|_| {
                format!("`{}` is not valid: use intake, off, or an address with a port", other.escape_debug())
            }),
        }
    }
}

/// `10.0.0.0/8`, or a single address.
#[derive(Deserialize)]
struct TrustedProxy(#[serde(deserialize_with = "deserialize::network")] IpNet);

pub(super) fn read(reader: &mut Reader<'_>, anyone_may_call: bool) -> Option<IntakeRole> {
    let section: Section = reader.section("intake")?;
    require_keys_beyond_loopback(reader, &key("listen"), section.listen, anyone_may_call);
    if let DashboardPlace::Apart(address) = section.dashboard {
        require_keys_beyond_loopback(reader, &key("dashboard"), address, anyone_may_call);
    }
    if section.max_body > LARGEST_BODY as u64 {
        let most = size::show(LARGEST_BODY as u64);
        reader.error(&key("max_body"), format!("use at most {most}: a larger body would block Redis for too long"));
    }
    if section.max_bodies < section.max_body {
        let message = "is less than intake.max_body, the size of one body";
        reader.error(&key("max_bodies"), message);
    }
    if section.max_batch > MAX_BATCH {
        reader.error(
            &key("max_batch"),
            format!("use at most {MAX_BATCH}: a larger batch would block Redis for too long"),
        );
    }
    let hosts = Hosts::new(&section.hosts).unwrap_or_else(|| {
        reader.error(&key("hosts"), "use whole host names such as \"intake.example\", without a port or `*`");
        Hosts::default()
    });
    let redaction = Redaction::new(&section.redact).unwrap_or_else(|| {
        reader.error(&key("redact"), "use JSON pointers, such as \"/card/number\", or header names");
        Redaction::default()
    });
    let tls = tls(reader, &section);
    let settings = IntakeSettings {
        max_body: section.max_body,
        max_bodies: section.max_bodies,
        max_connections: section.max_connections,
        max_connections_per_address: section.max_connections_per_address,
        trusted_proxies: section.trusted_proxies.into_iter().map(|proxy| proxy.0).collect(),
        head_timeout: section.head_timeout,
        idle_timeout: section.idle_timeout,
        body_timeout: section.body_timeout,
        drain_delay: section.drain_delay,
        drain: section.drain,
        hosts,
        x_ratelimit_headers: section.x_ratelimit_headers,
        max_batch: section.max_batch,
        max_waits: section.max_waits,
        max_waits_per_caller: section.max_waits_per_caller,
        max_event_streams: section.max_event_streams,
        max_event_streams_per_caller: section.max_event_streams_per_caller,
        redaction,
    };
    Some(IntakeRole {
        listen: section.listen,
        metrics_listen: section.metrics_listen,
        dashboard: section.dashboard,
        tls,
        histograms_by_bucket: section.histograms_by_bucket,
        settings,
    })
}

/// Reports an address that other machines can reach if there are no API keys, as then anyone may do everything.
pub(super) fn require_keys_beyond_loopback(
    reader: &mut Reader<'_>,
    path: &[Step],
    listen: SocketAddr,
    anyone_may_call: bool,
) {
    let has_keys = reader.tree.json(&["keys".into()]).as_array().is_some_and(|keys| !keys.is_empty());
    if !listen.ip().is_loopback() && !has_keys && !anyone_may_call {
        let message = format!(
            "{listen} is not a loopback address, and no [[keys]] are configured: add a key, listen on 127.0.0.1, or \
                start with --insecure-no-auth"
        );
        reader.error(path, message);
    }
}

fn key(name: &str) -> [Step; 2] {
    ["intake".into(), name.into()]
}

/// Returns `None` if neither file is set, or after reporting an error.
fn tls(reader: &mut Reader<'_>, Section { tls_cert, tls_key, .. }: &Section) -> Option<TlsIdentity> {
    let incomplete = match (tls_cert.as_os_str().is_empty(), tls_key.as_os_str().is_empty()) {
        (true, true) => return None,
        (true, false) => Some(("tls_cert", "tls_key")),
        (false, true) => Some(("tls_key", "tls_cert")),
        (false, false) => None,
    };
    if let Some((missing, set)) = incomplete {
        reader.error(&key(set), format!("is set, but intake.{missing} isn't: TLS needs both"));
        return None;
    }
    let certificates = reader.accept(&key("tls_cert"), secret::read_public(tls_cert));
    let private = reader.accept(&key("tls_key"), secret::read_secret(tls_key));
    TlsIdentity::from_pem(&certificates?, private?.expose_secret())
        .map_err(|error| {
            let (name, file) = match &error {
                TlsError::Certificate(_) => ("tls_cert", tls_cert),
                TlsError::Key(_) | TlsError::Pair(_) => ("tls_key", tls_key),
            };
            reader.error(&key(name), format!("{} {error}", file.display()));
        })
        .ok()
}
