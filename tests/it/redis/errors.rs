//! Every error that Redis can answer, once, at every script and command: callers learn what is true, nothing is lost,
//! nobody asks in a hot loop or fills the log, and all goes on on its own.

/// What the intake asks of a bucket that was full.
mod full_bucket;
/// What the intake asks, by the call that asks it.
mod intake;
/// What intakes ask about API keys.
mod keys;
/// What limiters ask.
mod limits;
/// What operators' commands ask, and every role at its start.
mod operator;
/// What hands over outcome jobs asks.
mod outcomes;
/// What breaks off in the middle.
mod parts;
/// What the processor asks, by what makes it ask.
mod processor;
/// What is recorded of operations whose reply is lost.
mod unconfirmed;

use std::collections::BTreeSet;

use dripfeed_tests::redis_fault_proxy::ProxyFault;
use dripfeed_tests::sources;

/// As Redis says them.
const ERRORS: [&str; 25] = [
    "LOADING Redis is loading the dataset in memory",
    "READONLY You can't write against a read only replica.",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "NOSCRIPT No matching script. Please use EVAL.",
    "NOGROUP No such key 'jobs' or consumer group 'processors'",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Errors writing to the AOF file: No space left on device",
    "NOAUTH Authentication required.",
    "NOPERM this user has no permissions to run the command",
    "WRONGPASS invalid username-password pair or user is disabled.",
    "NOPROTO unsupported protocol version",
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "MOVED 3999 127.0.0.1:6381",
    "ASK 3999 127.0.0.1:6381",
    "CROSSSLOT Keys in request don't hash to the same slot",
    "CLUSTERDOWN The cluster is down",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "NOREPLICAS Not enough good replicas to write.",
    "NOTBUSY No scripts in execution right now.",
    "UNKILLABLE Sorry the script already executed write commands against the dataset.",
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "EXECABORT Transaction discarded because of previous errors.",
    "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
    "BUSYKEY Target key name already exists.",
    "ERR something that no version said before",
];

/// The errors, and answers that don't come, or not as they should.
fn faults() -> impl Iterator<Item = ProxyFault> {
    let answers = [ProxyFault::Drop, ProxyFault::Close, ProxyFault::Half, ProxyFault::Garbage];
    ERRORS.map(ProxyFault::Error).into_iter().chain(answers)
}

/// Lines that a log may have after so long, in which many things went wrong.
fn most_lines(seconds: u64) -> usize {
    usize::try_from(10 * seconds.max(1)).expect("a small number")
}

#[test]
fn no_script_is_forgotten() {
    let of_intakes = [&intake::SCRIPTS[..], &full_bucket::SCRIPTS, &limits::SCRIPTS].concat();
    let others = [&operator::SCRIPTS[..], &outcomes::SCRIPTS].concat().into_iter().chain(processor::scripts());
    let listed: BTreeSet<String> = of_intakes.into_iter().chain(others).map(str::to_owned).collect();
    assert_eq!(listed, sources::scripts());
    // The proxy knows a script by the file of its verb.
    let files: BTreeSet<String> =
        sources::of_the_product("lua").iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect();
    assert!(listed.is_subset(&files), "no file: {:?}", listed.difference(&files));
}
