//! The error code of a Redis reply.

use redis::RedisError;

/// Returns the error code of a reply. Redis 6.2 wraps the code of an error in a script in an `ERR`; returns the inner
/// one.
pub(crate) fn code_of(error: &RedisError) -> Option<String> {
    let replies = error.clone().into_server_errors();
    let (code, detail) = match replies.as_deref().and_then(|replies| replies.first()) {
        Some((_, first)) => (first.code().to_owned(), first.details().map(str::to_owned)),
        None => (error.code()?.to_owned(), error.detail().map(str::to_owned)),
    };
    match detail.as_deref().and_then(wrapped_code) {
        Some(inner) if code == "ERR" => Some(inner.to_owned()),
        _ => Some(code),
    }
}

/// Returns the index of the first command of a pipeline that was refused.
pub(super) fn first_refused(error: &RedisError) -> Option<usize> {
    let replies = error.clone().into_server_errors()?;
    replies.first().map(|(command, _)| *command)
}

/// Returns the number of commands of a pipeline that were refused. A pipeline goes on after a refusal.
pub(super) fn refused(error: &RedisError) -> usize {
    error.clone().into_server_errors().map_or(0, |replies| replies.len())
}

/// Returns `WRONGTYPE` of `Error running script (call to f_…): @user_script:1: WRONGTYPE Operation against a key …`,
/// and `OOM` of a refusal before the command ran, `…: @user_script:1: @user_script: 1: -OOM command not allowed …`.
fn wrapped_code(detail: &str) -> Option<&str> {
    let is_place = |part: &&str| part.contains("user_script") || part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = detail.strip_prefix("Error running script")?.split(": ").skip(1).skip_while(is_place);
    let code = parts.next()?.split_whitespace().next()?;
    let code = code.strip_prefix('-').unwrap_or(code);
    code.bytes().all(|b| b.is_ascii_uppercase()).then_some(code)
}
