//! The permissions of the Redis user, checked without executing a command.

use redis::{Arg, Cmd, Pipeline, cmd};

use crate::error::{ErrorKind, StoreError};
use crate::store::Store;

/// Questions of one request.
const AT_ONCE: usize = 500;

const DENIED: &str = concat!("#!lua flags=no-writes\n", include_str!("denied.lua"));
const DENIED_BY_TYPE: &str = include_str!("denied_by_type.lua");

/// The commands that change a string, and not only one that is set with a short life, in this order: the key then lives
/// for long only where each of the last two is denied.
const CHANGE_STRINGS: [&str; 4] = ["PERSIST", "MSET", "PEXPIRE", "DEL"];

/// Which of `calls` the ACL denies our user, in the words of Redis; empty when none. `None` where that can't be asked:
/// before Redis 7.0, and where the ACL denies the question itself.
///
/// # Errors
/// When Redis doesn't answer.
pub async fn denied(store: &Store, calls: &[Cmd]) -> Result<Option<Vec<String>>, StoreError> {
    let mut who = cmd("ACL");
    who.arg("WHOAMI");
    let Some(user) = unless_refused(store.command::<String>(&who).await)? else { return Ok(None) };
    let mut denials = Vec::new();
    for calls in calls.chunks(AT_ONCE) {
        let questions = questions(&user, calls);
        let Some(answers) = unless_refused(store.pipeline::<Vec<String>>(&questions).await)? else { return Ok(None) };
        denials.extend(answers.into_iter().filter(|answer| answer != "OK"));
    }
    denials.sort();
    denials.dedup();
    Ok(Some(denials))
}

fn questions(user: &str, calls: &[Cmd]) -> Pipeline {
    let mut questions = Pipeline::new();
    for call in calls {
        questions.cmd("ACL").arg("DRYRUN").arg(user);
        for arg in call.args_iter() {
            if let Arg::Simple(word) = arg {
                questions.arg(word);
            }
        }
    }
    questions
}

/// Which of `calls` the ACL denies our user, as far as a script can find that: not commands that scripts may not call.
/// For a server that can't be asked by [`denied`]. Calls that only read are carried out, so they are to name keys that
/// don't exist, such as `key`, and the others are to name `key` alone. None where the script itself is denied, or Redis
/// is full.
///
/// # Errors
/// When Redis doesn't answer.
pub async fn denied_in_scripts(store: &Store, key: &str, calls: &[Cmd]) -> Result<Option<Vec<String>>, StoreError> {
    let mut calls: Vec<Words<'_>> = calls.iter().map(words).collect();
    let errors = match tried(store, DENIED, key, &calls).await {
        // Before Redis 7.0 a script can't have flags.
        Err(error) if error.kind() == ErrorKind::Rejected => {
            calls.sort_by_key(|words| CHANGE_STRINGS.iter().position(|name| words.first() == Some(&name.as_bytes())));
            calls.insert(0, vec![b"SET"]);
            tried(store, DENIED_BY_TYPE, key, &calls[1..]).await
        }
        errors => errors,
    };
    let Some(errors) = unless_refused(errors)? else { return Ok(None) };
    let is_denied =
        |error: &str| error.contains("The user executing the script can't") || error.contains("ACL failure");
    let denied = calls.iter().zip(&errors).filter(|(_, error)| is_denied(error));
    let name = |words: &Words<'_>| String::from_utf8_lossy(words.first().copied().unwrap_or_default()).to_lowercase();
    let mut denials: Vec<String> = denied.map(|(words, _)| format!("the command '{}'", name(words))).collect();
    if denials.is_empty() && errors.len() < calls.len() {
        return Ok(None);
    }
    denials.sort();
    denials.dedup();
    Ok(Some(denials))
}

type Words<'c> = Vec<&'c [u8]>;

fn words(call: &Cmd) -> Words<'_> {
    call.args_iter().filter_map(|arg| if let Arg::Simple(word) = arg { Some(word) } else { None }).collect()
}

async fn tried(store: &Store, source: &str, key: &str, calls: &[Words<'_>]) -> Result<Vec<String>, StoreError> {
    let mut script = cmd("EVAL");
    script.arg(source).arg(1).arg(key);
    calls.iter().for_each(|words| {
        script.arg(words.len()).arg(words);
    });
    store.command(&script).await
}

fn unless_refused<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Rejected) => Ok(None),
        Err(error) => Err(error),
    }
}
