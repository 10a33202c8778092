//! Reads all commands that Redis executes, including those of scripts, in their order, with MONITOR.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

/// Converts a command: whether a script calls it, and its words. Returns `None` to ignore it.
pub type Reader<T> = fn(bool, &[String]) -> Option<T>;

pub struct Monitor<T> {
    seen: Arc<Mutex<Vec<T>>>,
    _reading: AbortOnDropHandle<()>,
}

impl<T: Clone + Send + 'static> Monitor<T> {
    /// Monitors the server with this socket.
    pub async fn of(socket: &Path, read: Reader<T>) -> Self {
        let mut server = UnixStream::connect(socket).await.expect("Redis listens");
        server.write_all(b"MONITOR\r\n").await.expect("Redis reads");
        let mut lines = BufReader::new(server);
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).await.expect("Redis answers");
        assert_eq!(line, b"+OK\r\n");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&seen);
        let reading = tokio::spawn(async move {
            loop {
                line.clear();
                if !matches!(lines.read_until(b'\n', &mut line).await, Ok(1..)) {
                    return;
                }
                if let Some(found) = parse(&line).and_then(|(of_script, words)| read(of_script, &words)) {
                    written.lock().unwrap_or_else(PoisonError::into_inner).push(found);
                }
            }
        });
        Self { seen, _reading: AbortOnDropHandle::new(reading) }
    }

    /// The commands so far, in their order.
    pub fn seen(&self) -> Vec<T> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Parses a line `+1700000000.123456 [0 lua] "XLEN" "key"`.
fn parse(line: &[u8]) -> Option<(bool, Vec<String>)> {
    let line = String::from_utf8_lossy(line);
    let (of, rest) = line.split_once('[')?.1.split_once("] ")?;
    Some((of.ends_with(" lua"), words(rest)))
}

/// The quoted words. Escapes are replaced by one character, as no relevant word has any.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut open, mut is_escaped) = (Vec::new(), None::<String>, false);
    for character in text.chars() {
        match (&mut open, character) {
            (None, '"') => open = Some(String::new()),
            (None, _) => {}
            (Some(word), _) if is_escaped => {
                word.push(character);
                is_escaped = false;
            }
            (Some(_), '\\') => is_escaped = true,
            (Some(word), '"') => {
                words.push(std::mem::take(word));
                open = None;
            }
            (Some(word), _) => word.push(character),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis_server::TestRedis;
    use crate::service::until;

    #[test]
    fn a_line_has_words() {
        let line = br#"+1700000000.123456 [0 lua] "XADD" "a key" "*" "b\"o\\dy\n" """#;
        let words = ["XADD", "a key", "*", "b\"o\\dyn", ""].map(str::to_owned).to_vec();
        assert_eq!(parse(line), Some((true, words)));
        assert_eq!(parse(br#"+1700000000.1 [0 unix:/tmp/r.sock] "PING""#), Some((false, vec!["PING".to_owned()])));
    }

    #[tokio::test]
    async fn commands_of_a_script_come_behind_it() {
        let redis = TestRedis::start().await;
        let names = |_: bool, words: &[String]| words.first().cloned();
        let monitor = Monitor::of(&redis.folder().join("redis.sock"), names).await;
        let mut script = redis::cmd("EVAL");
        script.arg("redis.call('SET', KEYS[1], 1) return redis.call('GET', KEYS[1])").arg(1).arg("key");
        redis.store().await.command::<String>(&script).await.expect("Redis answers");
        until("all are seen", async || monitor.seen().contains(&"GET".to_owned())).await;
        let seen = monitor.seen();
        assert!(seen.ends_with(&["EVAL", "SET", "GET"].map(str::to_owned)), "{seen:?}");
    }
}
