//! Redis is looked at now and again: what it is set to may change, and another server may take its place.

use std::time::Duration;

use dripfeed_store::{Durability, Facts, Finding, Severity, Store, StoreError, findings};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(5);

/// What is wrong with a server, by its address.
type Wrong = (String, Finding);

/// Tells what is wrong and wasn't before, until `stop`. Who connects has told of `known`.
pub(super) async fn keep(store: Store, durability: Durability, mut known: Vec<Wrong>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        // That Redis is away is told by those who need it.
        let Ok(wrong) = look(&store, durability).await else { continue };
        for (server, finding) in wrong.iter().filter(|wrong| !known.contains(wrong)) {
            let Finding { severity, what, what_to_do } = finding;
            match severity {
                Severity::Error => tracing::error!(redis = server, "{what}: {what_to_do}"),
                Severity::Warning => tracing::warn!(redis = server, "{what}: {what_to_do}"),
            }
        }
        known = wrong;
    }
}

async fn look(store: &Store, durability: Durability) -> Result<Vec<Wrong>, StoreError> {
    let mut wrong = Vec::new();
    for server in store.masters() {
        let facts = Facts::gather(&server).await?;
        wrong.extend(of(&server, &facts, durability));
    }
    Ok(wrong)
}

/// What is wrong with one server.
pub(super) fn of(server: &Store, facts: &Facts, durability: Durability) -> Vec<Wrong> {
    let address = server.address().to_string();
    findings(facts, durability).into_iter().map(|finding| (address.clone(), finding)).collect()
}
