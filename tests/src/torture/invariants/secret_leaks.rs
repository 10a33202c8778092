use super::{Outcomes, Seen};
use crate::torture::jobs::CANARY;
use crate::torture::report::Report;

pub(super) async fn check(seen: &Seen<'_>, ended: &Outcomes, report: &mut Report) {
    for slot in seen.harness.slots() {
        for log in slot.logs() {
            report.must(!log.text().contains(CANARY), || format!("a canary in a log:\n{}", log.end()));
        }
        // Waits until each process has recovered.
        slot.ready().await;
        let client = slot.client().expect("it is ready");
        let metrics = client.get("/metrics").await.expect("metrics");
        let text = String::from_utf8_lossy(&metrics.body);
        report.must(metrics.status == 200 && !text.contains(CANARY), || format!("metrics with a canary:\n{text}"));
    }
    // Dead letters contain the whole job, for a replay; their outcomes must not contain secrets.
    for (job, end) in ended {
        report.must(!end.reason.contains(CANARY), || format!("a canary in the outcome of {job}: {}", end.reason));
    }
}
