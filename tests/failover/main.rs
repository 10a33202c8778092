//! Masters that are replaced and slots that move, under load, with accepted jobs kept by the class `replicated`: nothing is
//! lost, and jobs are taken again by themselves.

use std::time::Duration;

use dripfeed_tests::callers::Callers;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::RunningRedis;
use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::Upstream;

/// Redis Cluster: slots that move, masters that die or step down.
mod cluster;
/// Sentinel: masters that die, hang or step down.
mod sentinel;

/// How soon after there is a master again jobs are taken.
const TAKING_AGAIN: Duration = Duration::from_secs(10);

/// Two intakes and two processors under the load of eight callers.
struct Load {
    upstream: Upstream,
    intakes: [Process; 2],
    processors: [Process; 2],
    callers: Callers,
}

fn buckets(upstream: &Upstream) -> String {
    format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 500", upstream.url())
}

impl Load {
    async fn on<R: RunningRedis>(service: &Service<R>, upstream: Upstream) -> Self {
        let intakes = [service.intake().await, service.intake().await];
        let processors = [service.processor().await, service.processor().await];
        let callers = Callers::start(8, &intakes.each_ref().map(Process::client), "b");
        let load = Self { upstream, intakes, processors, callers };
        load.flows().await;
        load
    }

    /// Returns when some more jobs went through.
    async fn flows(&self) {
        self.upstream.has_got(self.upstream.calls().len() + 50).await;
    }

    /// Ends it: all that was accepted is delivered, once per key.
    async fn ends_well<R: RunningRedis>(self, service: &Service<R>) {
        let seen = self.callers.stop().await;
        service.store().connected().await;
        service.drained("b").await;
        seen.kept_by(&self.upstream);
        let calls = self.upstream.calls().len();
        println!(
            "{} accepted, {calls} calls, {} refused, {} of them unknown",
            seen.accepted.len(),
            seen.refusals.len(),
            seen.unknown
        );
        drop((self.intakes, self.processors));
    }
}
