use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value as Json;

use crate::intake::{BUCKET, EndedIntake, Intake};
use crate::program::{dripfeed, run, write};

/// More than fit into a page.
const JOBS: usize = 1500;

#[tokio::test]
async fn an_export_goes_on_where_its_intake_is_started_again() {
    let intake = Intake::start(&BUCKET.replace("capacity = 3", "capacity = 5000")).await;
    let file = write(intake.folder.path(), "jobs.ndjson", &"{\"body\":1}\n".repeat(JOBS));
    let pushed = run(&["push", "mail", "--ndjson", &file, "--server", &intake.server]);
    assert_eq!(pushed.code, Some(0), "{}", pushed.err);

    let mut export = dripfeed(&["jobs", "mail", "export", "--server", &intake.server]);
    let mut export = export.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(export.stdout.take().unwrap()).lines().map(Result::unwrap);
    // It has no room in the pipe for the rest of its first page, and doesn't ask for the next one.
    let first = lines.next().unwrap();
    let ended = EndedIntake::of(intake);
    // It asks for the next one, and nobody is there.
    let rest = std::thread::spawn(move || lines.collect::<Vec<_>>());
    let intake = ended.start();
    let mut ids: Vec<Json> = [first]
        .iter()
        .chain(&rest.join().unwrap())
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["id"].take())
        .collect();
    assert!(export.wait().unwrap().success());
    ids.sort_by_key(Json::to_string);
    ids.dedup();
    assert_eq!(ids.len(), JOBS);
    intake.end().await;
}
