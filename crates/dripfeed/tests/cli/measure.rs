use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value as Json;

use crate::intake::{BUCKET, Intake};
use crate::program::{Running, dripfeed, run};

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn a_bench_submits_at_its_rate_and_a_report_sums_it_up() {
    let intake = Intake::start(BUCKET).await;
    let file = |name: &str| intake.folder.path().join(name).display().to_string();
    let (of_bench, of_report) = (file("bench.svg"), file("report.svg"));
    let run = |command: &[&str]| run(&[command, &["--server", &intake.server]].concat());

    // The bucket has room for three of them.
    let bench = ["bench", "mail", "--rate", "50/s", "--time", "1s", "--svg", &of_bench, "-o", "json"];
    let ended = run(&bench);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let found = json(&ended.out);
    let counts = ["due", "accepted", "refused", "failed"].map(|name| found[name].as_u64().unwrap());
    assert_eq!(counts, [50, 3, 47, 0], "{found}");
    assert_eq!((&found["refused_by_code"]["bucket_full"], &found["due_per_s"]), (&47.into(), &50.0.into()));
    assert!(found["latency_ms"]["p99"].as_f64() > Some(0.0), "{found}");
    let chart = fs::read_to_string(&of_bench).unwrap();
    for shown in ["latency from when a submission was due", "50 due, 3 accepted, 47 refused, 0 failed", "; p50 "] {
        assert!(chart.contains(shown), "{shown}: {chart}");
    }

    let report = || run(&["report", "mail", "--window", "5m", "--svg", &of_report, "-o", "json"]);
    // The history is a second behind.
    let mut found = json(&report().out);
    while found["counts"]["refused"] != 47 {
        found = json(&report().out);
    }
    // It goes on from the intake's first look, which on a busy machine comes after the first submissions.
    assert!((1..=3).contains(&found["counts"]["accepted"].as_u64().unwrap()), "{found}");
    assert_eq!(found["latency_ms"], Json::Null, "{found}");
    let chart = fs::read_to_string(&of_report).unwrap();
    let from = format!("minutes since {}", found["from"].as_str().unwrap());
    for shown in ["the last 5m: jobs in each 5s", "refused 47", &from] {
        assert!(chart.contains(shown), "{shown}: {chart}");
    }
    let table = run(&["report", "mail"]);
    assert!(table.out.lines().any(|line| line.split_whitespace().eq(["Refused", "47"])), "{}", table.out);
    intake.end().await;
}

#[tokio::test]
async fn a_bench_of_nothing_ends_before_its_first_job() {
    let intake = Intake::start(BUCKET).await;
    let bench = |more: &[&str]| run(&[&["bench", "mail", "--server", &intake.server], more].concat()).code;
    assert_eq!(bench(&["--rate", "1/day", "--time", "1s"]), Some(2), "no submission is due");
    assert_eq!(run(&["bench", "none", "--server", &intake.server]).code, Some(1), "unknown bucket");
    assert_eq!(run(&["bench", "mail", "--server", "http://127.0.0.1:1"]).code, Some(69));
    assert!(run(&["jobs", "mail", "--server", &intake.server]).out.lines().count() <= 1);
    intake.end().await;
}

#[tokio::test]
async fn a_bench_without_the_scope_to_submit_is_not_allowed() {
    let made = json(&run(&["key", "new", "-o", "json"]).out);
    let hash = made["section"]["sha256"].as_str().unwrap();
    let section = format!("[[keys]]\nid = \"reader\"\nsha256 = \"{hash}\"\nscopes = [\"read\"]\n");
    let intake = Intake::start(&format!("{BUCKET}\n{section}")).await;
    let mut bench = dripfeed(&["bench", "mail", "--rate", "5/s", "--time", "1s", "--server", &intake.server]);
    let ended = bench.env("DRIPFEED_KEY", made["key"].as_str().unwrap()).output().unwrap();
    assert_eq!(ended.status.code(), Some(77), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("5 submissions failed"), "{ended:?}");
    intake.end().await;
}

#[tokio::test]
async fn a_bench_that_is_interrupted_says_so_and_fails() {
    let intake = Intake::start(BUCKET).await;
    let bench = ["bench", "mail", "--rate", "5/s", "--time", "10m", "-o", "json", "--server", &intake.server];
    let bench = Running::start(&mut dripfeed(&bench));
    while run(&["jobs", "mail", "--server", &intake.server]).out.lines().count() < 2 {}
    bench.signal(Signal::SIGINT);
    bench.prints("\"interrupted\": true");
    bench.says("interrupted before");
    assert_eq!(bench.end(), Some(1));
    intake.end().await;
}

#[test]
fn a_silent_server_does_not_keep_a_bench_from_ending() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", silent.local_addr().unwrap());
    let bench = Running::start(&mut dripfeed(&["bench", "mail", "--server", &server]));
    let _connection = silent.accept().unwrap();
    let begun = Instant::now();
    assert_eq!(bench.end(), Some(1));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_chart_that_cannot_be_written_is_reported_first_and_takes_no_results_along() {
    let intake = Intake::start(BUCKET).await;
    let run = |command: &[&str]| run(&[command, &["--server", &intake.server]].concat());
    let nowhere = intake.folder.path().join("none/x.svg").display().to_string();
    for command in [["bench", "mail", "--rate", "50/s", "--time", "1s"].as_slice(), &["report", "mail"]] {
        let refused = run(&[command, &["--svg", &nowhere]].concat());
        assert!(refused.code == Some(1) && refused.err.contains(&nowhere), "{}", refused.err);
        assert!(refused.out.is_empty() && run(&["jobs", "mail"]).out.lines().count() <= 1, "{}", refused.out);
    }
    let unused = intake.folder.path().join("x.svg");
    assert_eq!(run(&["bench", "none", "--svg", &unused.display().to_string()]).code, Some(1), "unknown bucket");
    assert!(!unused.exists());
    for command in [["bench", "mail", "--rate", "50/s", "--time", "1s"].as_slice(), &["report", "mail"]] {
        let full = run(&[command, &["--svg", "/dev/full"]].concat());
        assert!(full.code == Some(1) && full.err.contains("/dev/full"), "{}", full.err);
        assert!(full.out.contains("Accepted"), "{}", full.out);
    }
    intake.end().await;
}
