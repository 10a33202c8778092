//! The permissions of the Redis user, checked without executing a command.

use redis::{Arg, Cmd, Pipeline, cmd};

use crate::error::{ErrorKind, StoreError};
use crate::store::Store;

/// Questions of one request.
const AT_ONCE: usize = 500;

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
/// don't exist, such as `key`. Empty as well before Redis 7.0, and where the script itself is denied.
///
/// # Errors
/// When Redis doesn't answer.
pub async fn denied_in_scripts(store: &Store, key: &str, calls: &[Cmd]) -> Result<Vec<String>, StoreError> {
    let mut script = cmd("EVAL");
    script.arg(concat!("#!lua flags=no-writes\n", include_str!("denied.lua"))).arg(1).arg(key);
    let mut commands = Vec::new();
    for call in calls {
        let words = call.args_iter().filter_map(|arg| if let Arg::Simple(word) = arg { Some(word) } else { None });
        let words: Vec<&[u8]> = words.collect();
        commands.push(words.first().map(|name| String::from_utf8_lossy(name).to_lowercase()).unwrap_or_default());
        script.arg(words.len()).arg(&words);
    }
    let Some(errors) = unless_refused(store.command::<Vec<String>>(&script).await)? else { return Ok(Vec::new()) };
    let is_denied =
        |error: &str| error.contains("The user executing the script can't") || error.contains("ACL failure");
    let denied = commands.into_iter().zip(errors).filter(|(_, error)| is_denied(error));
    let mut denials: Vec<String> = denied.map(|(command, _)| format!("the command '{command}'")).collect();
    denials.sort();
    denials.dedup();
    Ok(denials)
}

fn unless_refused<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Rejected) => Ok(None),
        Err(error) => Err(error),
    }
}
