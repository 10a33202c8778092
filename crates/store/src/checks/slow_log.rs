//! Reads the latest slow commands of a server.

use redis::{Value, cmd};

use crate::error::{ErrorKind, StoreError};
use crate::script;
use crate::store::Store;

/// Few, as Redis sends up to 4 KiB of arguments with each entry.
const MAX_ENTRIES: usize = 16;
const MAX_NAME: usize = 32;

/// A command that took longer than `slowlog-log-slower-than`, without its arguments, which may be secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowCommand {
    /// In seconds since the Unix epoch.
    pub at_s: u64,
    /// In microseconds.
    pub took_us: u64,
    /// The name of the command, such as `evalsha`.
    pub command: String,
    /// The name of the script, if this process knows it.
    pub script: Option<&'static str>,
}

impl SlowCommand {
    /// Returns the latest entries, the newest first, or `None` if Redis denies SLOWLOG.
    ///
    /// # Errors
    /// When Redis doesn't respond.
    pub async fn latest(store: &Store) -> Result<Option<Vec<Self>>, StoreError> {
        // Not tried again after a denial, as each adds a line to the ACL LOG of Redis.
        if store.is_slow_log_denied() {
            return Ok(None);
        }
        let mut ask = cmd("SLOWLOG");
        ask.arg("GET").arg(MAX_ENTRIES);
        match store.command::<Vec<Value>>(&ask).await {
            Ok(entries) => Ok(Some(entries.iter().filter_map(Self::of).collect())),
            Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Rejected) => {
                store.slow_log_was_denied();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Parses an entry: number, time, duration, command with arguments, and values that aren't used.
    fn of(entry: &Value) -> Option<Self> {
        let Value::Array(parts) = entry else { return None };
        let [_, Value::Int(at), Value::Int(took), Value::Array(words), ..] = &parts[..] else { return None };
        let word = |at: usize| match words.get(at) {
            Some(Value::BulkString(word)) => String::from_utf8_lossy(word).into_owned(),
            _ => String::new(),
        };
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
        let command: String = word(0).to_lowercase().chars().filter(is_plain).take(MAX_NAME).collect();
        let script = command.starts_with("eval").then(|| script::named(&word(1))).flatten();
        Some(Self { at_s: u64::try_from(*at).ok()?, took_us: u64::try_from(*took).ok()?, command, script })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    static SCRIPT: Script = Script::new("slow", &[], "return 'slow'");
    static LONG: Script = Script::new("long", &[], LONG_SOURCE);
    const LONG_SOURCE: &str = "-- The slow log shows 128 bytes of an argument, and says how many more there are.
        -- This script is longer than that.
        return 'long'";

    fn entry(words: &[&str]) -> Value {
        let text = |text: &&str| Value::BulkString(text.as_bytes().to_vec());
        let words = Value::Array(words.iter().map(text).collect());
        Value::Array(vec![Value::Int(7), Value::Int(1000), Value::Int(20_000), words, text(&"127.0.0.1:1"), text(&"")])
    }

    #[test]
    fn a_script_is_named_and_no_argument_is_read() {
        let slow = |command: &str, script| {
            Some(SlowCommand { at_s: 1000, took_us: 20_000, command: command.to_owned(), script })
        };
        let known = entry(&["EVALSHA", SCRIPT.sha1(), "1", "key", "secret"]);
        assert_eq!(SlowCommand::of(&known), slow("evalsha", Some("slow")));
        assert_eq!(SlowCommand::of(&entry(&["evalsha", "0123", "0"])), slow("evalsha", None));
        assert_eq!(SlowCommand::of(&entry(&["EVAL", SCRIPT.source(), "0"])), slow("eval", Some("slow")));
        let cut = format!("{}... ({} more bytes)", &LONG.source()[..128], LONG.source().len() - 128);
        assert_eq!(SlowCommand::of(&entry(&["eval", &cut, "0"])), slow("eval", Some("long")));
        assert_eq!(SlowCommand::of(&entry(&["eval", "return secret", "0"])), slow("eval", None));
        assert_eq!(SlowCommand::of(&entry(&["S\u{1b}ET<", "secret"])), slow("set", None));
        assert_eq!(SlowCommand::of(&Value::Nil), None);
    }
}
