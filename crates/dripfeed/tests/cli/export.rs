mod progress;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::Value as Json;

use crate::intake::{BUCKET, EndedIntake, Intake};
use crate::program::{dripfeed, run, write};

/// More than fit into a page.
const JOBS: usize = 1500;

/// An intake whose lists have this one item.
fn listing(item: &Json) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let page = serde_json::json!({ "items": [item], "next": null }).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{page}", page.len());
    std::thread::spawn(move || {
        for call in listener.incoming() {
            let mut call = call.unwrap();
            let _ = call.read(&mut [0; 4096]);
            let _ = call.write_all(answer.as_bytes());
        }
    });
    url
}

#[test]
fn a_table_says_which_answers_are_cut_or_compressed() {
    let answer = serde_json::json!({ "body": "H4sI", "base64": true, "truncated": true, "content_encoding": "gzip" });
    let server = listing(&serde_json::json!({ "id": "1-0", "outcome": answer }));
    for list in ["dead", "jobs", "outcomes"] {
        let exported = run(&[list, "mail", "export", "--format", "csv", "--server", &server]);
        let mut lines = exported.out.lines().map(|line| line.split(','));
        let row: Vec<_> = lines.next().unwrap().zip(lines.next().unwrap()).collect();
        let expected =
            [("answer", "H4sI"), ("answer_base64", "true"), ("truncated", "true"), ("answer_encoding", "gzip")];
        assert!(row.ends_with(&expected), "{list}: {row:?}");
    }
}

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
