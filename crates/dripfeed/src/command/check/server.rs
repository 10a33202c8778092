//! Checks a Redis server.

use dripfeed_store::{Durability, ServerInfo, Severity, Store, provided_durability, server_findings};

use crate::exit::Failure;
use crate::output;

/// The result of the check of a server.
pub(super) struct CheckedServer {
    pub(super) errors: usize,
    pub(super) refuses_writes: bool,
    /// The durability class that the server provides.
    pub(super) durability: Durability,
    pub(super) max_memory: u64,
}

/// Checks a server and prints its findings.
pub(super) async fn check_server(server: &Store, durability: Durability) -> Result<CheckedServer, Failure> {
    let info = ServerInfo::gather(server, durability).await?;
    output::line(format!("{} at {}", info.product, server.address()))?;
    let findings = server_findings(&info, durability);
    for finding in &findings {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        output::line(format!("{severity}: {}: {}", finding.what, finding.what_to_do))?;
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let refuses_writes = info.refuses_writes.is_some();
    Ok(CheckedServer {
        errors,
        refuses_writes,
        durability: provided_durability(durability, &info),
        max_memory: info.max_memory,
    })
}
