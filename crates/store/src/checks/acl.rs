//! Checks the permissions of the Redis user without executing commands.

use redis::{Arg, Cmd, Pipeline, cmd};

use crate::error::{ErrorKind, StoreError};
use crate::store::Store;

/// The number of checked commands per request.
const CHUNK: usize = 500;

const DENIED: &str = concat!("#!lua flags=no-writes\n", include_str!("denied.lua"));
const DENIED_BY_TYPE: &str = include_str!("denied_by_type.lua");

/// The commands that change strings, except those that only set one with a short TTL. In this order the key exists for
/// long only if both of the last two are denied.
const CHANGE_STRINGS: [&str; 4] = ["PERSIST", "MSET", "PEXPIRE", "DEL"];

/// Returns the error texts of those of `calls` that the ACL denies our user. Returns `None` if that can't be checked:
/// before Redis 7.0, and if the ACL denies the check.
///
/// # Errors
/// When Redis doesn't respond.
pub async fn acl_denials(store: &Store, calls: &[Cmd]) -> Result<Option<Vec<String>>, StoreError> {
    let mut who = cmd("ACL");
    who.arg("WHOAMI");
    let Some(user) = unless_refused(store.command::<String>(&who).await)? else { return Ok(None) };
    let mut denials = Vec::new();
    for calls in calls.chunks(CHUNK) {
        let dry_runs = dry_runs(&user, calls);
        let Some(replies) = unless_refused(store.pipeline::<Vec<String>>(&dry_runs).await)? else { return Ok(None) };
        denials.extend(replies.into_iter().filter(|reply| reply != "OK"));
    }
    denials.sort();
    denials.dedup();
    Ok(Some(denials))
}

fn dry_runs(user: &str, calls: &[Cmd]) -> Pipeline {
    let mut dry_runs = Pipeline::new();
    for call in calls {
        dry_runs.cmd("ACL").arg("DRYRUN").arg(user);
        for arg in call.args_iter() {
            if let Arg::Simple(word) = arg {
                dry_runs.arg(word);
            }
        }
    }
    dry_runs
}

/// Like [`acl_denials`], for a server where that returns `None`. Uses a script, so it doesn't check commands that
/// scripts may not call. Read commands are executed, so their keys must not exist. Write commands must have the key
/// `key`, which must not exist. Returns `None` if the script is denied or Redis is at `maxmemory`.
///
/// # Errors
/// When Redis doesn't respond.
pub async fn acl_denials_in_scripts(
    store: &Store,
    key: &str,
    calls: &[Cmd],
) -> Result<Option<Vec<String>>, StoreError> {
    let mut calls: Vec<Words<'_>> = calls.iter().map(words).collect();
    let errors = match try_calls(store, DENIED, key, &calls).await {
        // Before Redis 7.0 scripts can't have flags.
        Err(error) if error.kind() == ErrorKind::Rejected => {
            calls.sort_by_key(|words| CHANGE_STRINGS.iter().position(|name| words.first() == Some(&name.as_bytes())));
            calls.insert(0, vec![b"SET"]);
            try_calls(store, DENIED_BY_TYPE, key, &calls[1..]).await
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

async fn try_calls(store: &Store, source: &str, key: &str, calls: &[Words<'_>]) -> Result<Vec<String>, StoreError> {
    let mut script = cmd("EVAL");
    script.arg(source).arg(1).arg(key);
    calls.iter().for_each(|words| {
        script.arg(words.len()).arg(words);
    });
    store.command(&script).await
}

fn unless_refused<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Rejected) => Ok(None),
        Err(error) => Err(error),
    }
}
