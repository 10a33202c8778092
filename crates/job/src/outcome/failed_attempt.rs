//! The record of a failed attempt.

use serde::{Deserialize, Serialize};

use crate::outcome::{AnswerBody, shorten};

/// Of its reason, in bytes.
const LONGEST_REASON: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// From 1.
    pub attempt: u32,
    /// When its job was claimed, ms since the epoch.
    pub at_ms: u64,
    /// From then to its end.
    pub took_ms: u64,
    pub replica: String,
    /// None: no whole answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub reason: String,
    /// None: nothing came, nothing is kept, or the job's outcome has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody>,
}

impl FailedAttempt {
    /// What a line takes besides the answer's body, at most.
    pub const MOST_BYTES: u64 = 1024;

    /// As one line, with no more bytes of the answer's body than this, as they are written.
    #[must_use]
    pub fn to_line(mut self, most_answer: u64) -> String {
        shorten(&mut self.reason, LONGEST_REASON);
        if let Some(answer) = &mut self.answer {
            answer.shorten(usize::try_from(most_answer).unwrap_or(usize::MAX));
        }
        // Strings and numbers always serialize, and no line break is in JSON.
        serde_json::to_string(&self).unwrap_or_default()
    }

    /// Those of some lines; what can't be read is left out.
    #[must_use]
    pub fn read_all(lines: &str) -> Vec<Self> {
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn failed(body: &[u8]) -> FailedAttempt {
        FailedAttempt {
            attempt: 2,
            at_ms: 1_700_000_000_000,
            took_ms: 30_000,
            replica: "host-1-abc".to_owned(),
            status: Some(503),
            reason: "the upstream answered 503".to_owned(),
            answer: Some(AnswerBody::new(Some("text/plain".to_owned()), body, false)),
        }
    }

    #[test]
    fn attempts_are_lines_that_read_back() {
        let (first, second) = (failed(b"two\nlines"), FailedAttempt { answer: None, status: None, ..failed(b"") });
        let lines = [first.clone().to_line(100), second.clone().to_line(100)].join("\n");
        assert_eq!(FailedAttempt::read_all(&lines), [first, second]);
        assert_eq!(FailedAttempt::read_all("no JSON\n"), []);
    }

    #[test]
    fn a_line_is_bounded_whatever_came() {
        for body in [vec![b'a'; 5000], vec![1; 5000], vec![0xff; 5000], "ä\"".repeat(2000).into_bytes()] {
            let long = FailedAttempt { reason: "é\"\u{1}".repeat(5000), ..failed(&body) };
            let line = long.to_line(1000);
            let answer = FailedAttempt::read_all(&line).pop().and_then(|attempt| attempt.answer).unwrap();
            assert!(line.len() as u64 <= 1000 + FailedAttempt::MOST_BYTES, "{} B", line.len());
            let kept = answer.bytes();
            assert!(answer.truncated && !kept.is_empty() && body.starts_with(&kept), "{line}");
        }
        let none = failed(b"body").to_line(0);
        let answer = FailedAttempt::read_all(&none).pop().and_then(|attempt| attempt.answer).unwrap();
        assert!(answer.truncated && answer.body.is_empty(), "{none}");
    }
}
