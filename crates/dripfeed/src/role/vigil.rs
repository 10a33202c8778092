//! Redis is looked at now and again: what it is set to may change, and another server may take its place.

use std::time::Duration;

use dripfeed_store::{Durability, Facts, Finding, Severity, Store, findings};
use tokio_util::sync::CancellationToken;

use super::connect;

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
        let Ok(servers) = connect::servers(&store).await else { continue };
        let wrong = wrong(&servers, durability);
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

/// What is wrong with each of them.
pub(super) fn wrong(servers: &[(Store, Facts)], durability: Durability) -> Vec<Wrong> {
    let of = |(server, facts): &(Store, Facts)| {
        let address = server.address().to_string();
        findings(facts, durability).into_iter().map(move |finding| (address.clone(), finding))
    };
    servers.iter().flat_map(of).collect()
}
