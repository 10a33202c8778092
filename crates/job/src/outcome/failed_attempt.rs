//! The record of a failed attempt.

use serde::{Deserialize, Serialize};

use crate::outcome::{AnswerBody, shorten};

const MAX_REASON_BYTES: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttempt {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When its job was claimed, in ms since the epoch.
    pub at_ms: u64,
    /// The time from the claim to the end of the attempt.
    pub took_ms: u64,
    pub replica: String,
    /// `None` if no complete answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub reason: String,
    /// `None` if no answer came, answers aren't kept, or it is in the job's outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody>,
}

impl FailedAttempt {
    /// The maximum size of a line without the answer's body.
    pub const MOST_BYTES: u64 = 1024;

    /// Encodes the attempt as one line, with at most `most_answer` bytes of the answer's body.
    #[must_use]
    pub fn to_line(mut self, most_answer: u64) -> String {
        shorten(&mut self.reason, MAX_REASON_BYTES);
        if let Some(answer) = &mut self.answer {
            answer.shorten(usize::try_from(most_answer).unwrap_or(usize::MAX));
        }
        // Strings and numbers always serialize, and JSON escapes line breaks.
        serde_json::to_string(&self).unwrap_or_default()
    }

    /// Parses lines, and omits those that can't be parsed.
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

    #[test]
    fn an_answer_with_escapes_is_cut_no_shorter_than_it_must_be() {
        for part in ["{\"n\": 1}", "ä\"", "\u{1}", "a"] {
            let line = failed(part.repeat(2000).as_bytes()).to_line(1000);
            let answer = FailedAttempt::read_all(&line).pop().and_then(|attempt| attempt.answer).unwrap();
            let stored = serde_json::to_string(&answer.body).unwrap().len() - 2;
            assert!(answer.truncated && (995..=1000).contains(&stored), "{stored} B: {line}");
        }
    }
}
