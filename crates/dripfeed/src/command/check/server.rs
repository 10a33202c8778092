//! A Redis server, and what of it isn't as dripfeed needs it.

use dripfeed_store::{Durability, ServerInfo, Severity, Store, findings, given};

use crate::exit::Failure;
use crate::output;

/// What one server is like.
pub(super) struct LookedAt {
    pub(super) errors: usize,
    pub(super) refuses_writes: bool,
    /// The class that the server gives.
    pub(super) durability: Durability,
    pub(super) max_memory: u64,
}

/// Prints the findings.
pub(super) async fn look_at_server(server: &Store, durability: Durability) -> Result<LookedAt, Failure> {
    let facts = ServerInfo::gather(server, durability).await?;
    output::line(format!("{} at {}", facts.product, server.address()))?;
    let findings = findings(&facts, durability);
    for finding in &findings {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        output::line(format!("{severity}: {}: {}", finding.what, finding.what_to_do))?;
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let refuses_writes = facts.refuses_writes.is_some();
    Ok(LookedAt { errors, refuses_writes, durability: given(durability, &facts), max_memory: facts.max_memory })
}
