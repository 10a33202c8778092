use dripfeed_store::{Certainty, ErrorKind, Fragment, Script};
use redis::cmd;

use crate::bench::{Bench, arguments};

fn append() -> Script {
    let add = Fragment::new("add", "local function add(key, value) return redis.call('RPUSH', key, value) end");
    Script::new("append", &[&[add]], "-- needs: add\nreturn add(KEYS[1], ARGV[1])")
}

#[tokio::test]
async fn a_script_runs_also_when_redis_forgot_it() {
    let bench = Bench::new().await;
    let script = append();
    let mut call = script.on(&["list"]);
    call.arg(&b"\x00body\xff"[..]);

    assert_eq!(bench.store.run::<u64>(&call).await.unwrap(), 1);
    let flush = cmd("SCRIPT").arg("FLUSH").to_owned();
    bench.store.command::<()>(&flush).await.unwrap();
    assert_eq!(bench.store.run::<u64>(&call).await.unwrap(), 2);

    let mut read = cmd("LRANGE");
    read.arg("list").arg(0).arg(-1);
    let bodies: Vec<Vec<u8>> = bench.store.command(&read).await.unwrap();
    assert_eq!(bodies, [b"\x00body\xff", b"\x00body\xff"]);
}

#[tokio::test]
async fn errors_name_the_script_and_what_failed() {
    let bench = Bench::with(arguments("--maxmemory 1")).await;
    let script = append();
    let mut call = script.on(&["list"]);
    call.arg("body");
    let error = bench.store.run::<u64>(&call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Full);
    assert_eq!(error.certainty(), Certainty::NotStored);
    assert!(error.to_string().starts_with("script append"), "{error}");

    let broken = Script::new("broken", &[], "return nothing.at.all");
    let call = broken.on::<&str>(&[]);
    let error = bench.store.run::<u64>(&call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Script);
    assert_eq!(error.certainty(), Certainty::Unknown);
}

#[tokio::test]
async fn a_key_of_another_type_is_told() {
    let bench = Bench::new().await;
    let mut set = cmd("SET");
    set.arg("list").arg("text");
    bench.store.command::<()>(&set).await.unwrap();
    let script = append();
    let mut call = script.on(&["list"]);
    call.arg("body");
    let error = bench.store.run::<u64>(&call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType);
}

#[tokio::test]
async fn nothing_small_waits_behind_what_is_large() {
    let bench = Bench::new().await;
    let script = append();
    let (mut large, mut small) = (script.on(&["list"]), script.on(&["list"]));
    large.arg("large".repeat(100_000));
    small.arg("small");
    let list = cmd("CLIENT").arg("LIST").arg("TYPE").arg("normal").to_owned();
    // Each connection with its last command: this one goes with what is small.
    for call in [large, small.with_large_reply()] {
        bench.store.run::<u64>(&call).await.unwrap();
        let clients: String = bench.store.command(&list).await.unwrap();
        let mut last: Vec<_> = clients.split_whitespace().filter_map(|word| word.strip_prefix("cmd=")).collect();
        last.sort_unstable();
        assert_eq!(last.len(), 2, "{clients}");
        assert!(last.iter().any(|command| command.starts_with("eval")), "{clients}");
        assert!(last.iter().any(|command| command.starts_with("client")), "{clients}");
    }
}
