//! The permissions of the Redis user, checked without executing a command.

use redis::{Arg, Cmd, Pipeline, cmd};

use crate::error::{ErrorKind, StoreError};
use crate::store::Store;

/// Which of `calls` the ACL denies our user, in the words of Redis; empty when none. `None` where that can't be asked:
/// before Redis 7.0, and where the ACL denies the question itself.
///
/// # Errors
/// When Redis doesn't answer.
pub async fn denied(store: &Store, calls: &[Cmd]) -> Result<Option<Vec<String>>, StoreError> {
    let mut who = cmd("ACL");
    who.arg("WHOAMI");
    let Some(user) = unless_refused(store.command::<String>(&who).await)? else { return Ok(None) };
    let mut questions = Pipeline::new();
    for call in calls {
        questions.cmd("ACL").arg("DRYRUN").arg(&user);
        for arg in call.args_iter() {
            if let Arg::Simple(word) = arg {
                questions.arg(word);
            }
        }
    }
    let Some(answers) = unless_refused(store.pipeline::<Vec<String>>(&questions).await)? else { return Ok(None) };
    let mut denials: Vec<String> = answers.into_iter().filter(|answer| answer != "OK").collect();
    denials.sort();
    denials.dedup();
    Ok(Some(denials))
}

fn unless_refused<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Rejected) => Ok(None),
        Err(error) => Err(error),
    }
}
