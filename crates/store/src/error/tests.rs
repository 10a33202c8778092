#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;

use super::*;

fn reply(line: &str) -> RedisError {
    redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap().extract_error().unwrap_err()
}

const SCRIPT: Operation<'static> = Operation::Script("admit");

fn judged(during: Operation<'_>, line: &str) -> (ErrorKind, Certainty) {
    let error = StoreError::calling(during, reply(line));
    (error.kind(), error.certainty())
}

#[test]
fn refusals_by_code_are_surely_not_stored() {
    for (line, kind) in [
        ("OOM command not allowed", ErrorKind::Full),
        ("READONLY You can't write", ErrorKind::Refused),
        ("NOREPLICAS Not enough good replicas", ErrorKind::Refused),
        ("LOADING Redis is loading", ErrorKind::Refused),
        ("BUSY Redis is busy", ErrorKind::Refused),
        ("CLUSTERDOWN The cluster is down", ErrorKind::Refused),
        ("MISCONF Errors writing to the AOF", ErrorKind::Refused),
        ("NOAUTH Authentication required.", ErrorKind::Denied),
        ("NOPERM User has no permissions", ErrorKind::Denied),
        ("WRONGPASS invalid pair", ErrorKind::Denied),
    ] {
        for during in [Operation::Command(&redis::cmd("XADD")), SCRIPT] {
            assert_eq!(judged(during, line), (kind, Certainty::NotStored), "{line}");
        }
    }
}

#[test]
fn a_script_that_breaks_half_way_may_have_written() {
    for (line, kind) in [
        ("ERR user_script:3: attempt to index a nil", ErrorKind::Script),
        ("NOGROUP No such key", ErrorKind::Script),
        ("WRONGTYPE Operation against a key", ErrorKind::WrongType),
    ] {
        assert_eq!(judged(SCRIPT, line), (kind, Certainty::Unknown), "{line}");
    }
    let command = redis::cmd("XADD");
    let refused = judged(Operation::Command(&command), "WRONGTYPE Operation against a key");
    assert_eq!(refused, (ErrorKind::WrongType, Certainty::NotStored));
}

#[test]
fn a_stream_without_ids_is_no_bug_and_no_outage() {
    for line in [
        "ERR The stream has exhausted the last possible ID, unable to add more items script: f0a1, on @user_script:12.",
        "ERR Error running script (call to f_f0a1): @user_script:12: ERR The stream has exhausted the last possible \
         ID, unable to add more items",
    ] {
        assert_eq!(judged(SCRIPT, line), (ErrorKind::NoIds, Certainty::Unknown), "{line}");
    }
}

#[test]
fn an_acl_denial_within_a_script_is_not_reported_as_a_bug() {
    for line in [
        "ERR The user executing the script can't run this command or subcommand script: f0a1, on @user_script:12.",
        "ERR The user executing the script can't access at least one of the keys mentioned in the command script: f0a1",
        "ERR ACL failure in script: User app has no permissions to run the 'xadd' command script: f0a1",
    ] {
        assert_eq!(judged(SCRIPT, line), (ErrorKind::Denied, Certainty::Unknown), "{line}");
    }
}

#[test]
fn a_command_of_a_pipeline_tells_nothing_about_the_others() {
    let judged = |commands: &redis::Pipeline| judged(Operation::Pipeline(commands), "READONLY You can't write").1;
    let (mut one, mut two) = (redis::pipe(), redis::pipe());
    assert_eq!(judged(two.cmd("XADD").cmd("XADD")), Certainty::Unknown);
    assert_eq!(judged(one.cmd("XADD")), Certainty::NotStored);
}

#[test]
fn a_request_that_may_have_been_executed_is_not_repeated_on_another_node() {
    let moved = || reply("MOVED 3999 127.0.0.1:6381");
    assert!(StoreError::calling(SCRIPT, moved()).redirection(None).is_some());
    let mut both = redis::pipe();
    both.cmd("SET").cmd("SET");
    assert_eq!(StoreError::calling(Operation::Pipeline(&both), moved()).redirection(None), None);
}

#[test]
fn the_code_inside_a_script_of_redis_6_is_found() {
    for (line, expected) in [
        (
            "@user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
            (ErrorKind::Full, Certainty::NotStored),
        ),
        ("@user_script:1: WRONGTYPE Operation against a key", (ErrorKind::WrongType, Certainty::Unknown)),
        ("@user_script:9: NOGROUP No such key", (ErrorKind::Script, Certainty::Unknown)),
        ("@user_script:9: user_script:9: attempt to index a nil: OOM", (ErrorKind::Script, Certainty::Unknown)),
    ] {
        let line = format!("ERR Error running script (call to f_ab): {line}");
        assert_eq!(judged(SCRIPT, &line), expected, "{line}");
    }
}

#[test]
fn codes_of_other_commands_stay_readable() {
    let cmd = redis::cmd("XREADGROUP");
    let error = StoreError::calling(Operation::Command(&cmd), reply("NOGROUP No such key"));
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert_eq!(error.code(), Some("NOGROUP"));
    assert!(!error.is_transient());
}

#[test]
fn a_broken_connection_leaves_the_write_unknown() {
    let broken = RedisError::from(io::Error::from(io::ErrorKind::BrokenPipe));
    let error = StoreError::calling(SCRIPT, broken);
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(error.certainty(), Certainty::Unknown);
    assert!(error.is_transient());
}

#[test]
fn an_unsent_request_is_certainly_not_stored() {
    let refused = RedisError::from(io::Error::from(io::ErrorKind::ConnectionRefused));
    let error = StoreError::connecting("redis://127.0.0.1:1", refused);
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(error.certainty(), Certainty::NotStored);
    assert!(error.to_string().contains("redis://127.0.0.1:1"), "{error}");
}

#[test]
fn a_redis_that_takes_no_more_clients_is_not_there_for_now() {
    for words in ["ERR max number of clients reached", "ERR max number of clients + cluster connections reached"] {
        let error = StoreError::connecting("redis://127.0.0.1:1", reply(words));
        assert_eq!((error.kind(), error.certainty()), (ErrorKind::Refused, Certainty::NotStored), "{words}");
        assert!(error.is_transient());
    }
}
