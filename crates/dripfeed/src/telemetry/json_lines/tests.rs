#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing_subscriber::fmt;

use super::*;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("Redis can't be reached")]
struct Unreachable(#[source] io::Error);

fn logged(log: impl FnOnce()) -> Vec<Value> {
    let written = Written::default();
    let writer = written.clone();
    let subscriber = fmt().event_format(JsonLines).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, log);
    let text = String::from_utf8(written.0.lock().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_record_of_a_library_has_its_own_target() {
    let lines = logged(|| {
        tracing::event!(
            target: "log",
            Level::INFO,
            { log.target = "mio::poll", log.file = "/src/poll.rs", log.line = 1 },
            "registered"
        );
    });
    let mut names: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!((&lines[0]["target"], &lines[0]["message"]), (&"mio::poll".into(), &"registered".into()));
    assert_eq!(names, ["level", "message", "target", "timestamp"]);
}

#[test]
fn an_error_is_logged_with_its_causes() {
    let error = Unreachable(io::Error::other("connection refused"));
    let lines = logged(|| {
        tracing::warn!(bucket = %"b", jobs = 7_u64, error = &error as &dyn Error, "could not \"ask\"\n");
        tracing::info!(error = &io::Error::other("alone") as &dyn Error, ratio = 0.5, on = true, "plain");
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((&lines[0]["error"], &lines[0]["bucket"]), (&"Redis can't be reached".into(), &"b".into()));
    assert_eq!(lines[0]["error.sources"], serde_json::json!(["connection refused"]));
    assert_eq!((&lines[0]["level"], &lines[0]["jobs"]), (&"WARN".into(), &7.into()));
    assert_eq!(lines[0]["message"], "could not \"ask\"\n");
    assert!(lines[0]["timestamp"].as_str().unwrap().parse::<Timestamp>().is_ok(), "{}", lines[0]);
    assert!(lines[0]["target"].as_str().unwrap().contains("json_lines"), "{}", lines[0]);
    assert_eq!((&lines[1]["error.sources"], &lines[1]["on"]), (&Value::Null, &true.into()));
}
