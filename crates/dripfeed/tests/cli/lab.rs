use std::fs;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::program::{Running, dripfeed, redis, run};

fn charts(folder: &TempDir) -> (String, impl Fn() -> Vec<String>) {
    let path = folder.path().join("charts");
    let out = path.display().to_string();
    let list =
        move || fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    (out, list)
}

#[tokio::test]
async fn an_experiment_comes_to_a_table_and_a_chart_and_leaves_nothing_in_a_given_redis() {
    let (folder, server) = redis(&[]).await;
    let (out, charts) = charts(&folder);
    let ended = run(&["lab", "--only", "sliding-counter", "--out", &out, "--redis", &server.url()]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].trim_start().starts_with("EXPERIMENT"), "{}", ended.out);
    let words: Vec<&str> = lines[1].split_whitespace().collect();
    assert!(words[0] == "sliding-counter" && words.ends_with(&["35", "35", "35", "=", "35", "yes"]), "{}", ended.out);
    assert!(!ended.out.contains("redis-time"), "{}", ended.out);

    assert_eq!(charts(), ["sliding-counter.svg"]);
    let svg = fs::read_to_string(folder.path().join("charts/sliding-counter.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains("kind sliding, 40 per 2 s") && svg.contains("calls / 100 ms"), "{svg}");

    let settings = dripfeed_store::RedisSettings::new(server.address(), "", dripfeed_store::Durability::Process);
    let store = dripfeed_store::Store::connect(&settings).await.unwrap();
    assert_eq!(store.command::<u64>(&::redis::cmd("DBSIZE")).await.unwrap(), 0);
    server.stop().await.unwrap();
}

#[test]
fn the_exit_code_tells_whether_all_held() {
    let folder = TempDir::new().unwrap();
    let (out, charts) = charts(&folder);
    let ended = run(&["lab", "--only", "redis-time", "--out", &out, "-o", "json"]);
    let outcomes: Json = serde_json::from_str(&ended.out).unwrap();
    let rows = outcomes[0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{}", ended.out);
    assert_eq!(rows[0]["bound"], serde_json::json!({ "at_most": 10.0 }));
    // Which of them it is depends on the machine.
    let held = rows.iter().all(|row| row["held"].as_bool().unwrap());
    assert_eq!(ended.code, Some(i32::from(!held)), "{}", ended.err);
    assert_eq!(ended.err.contains("bounds were exceeded: redis-time"), !held, "{}", ended.err);
    assert_eq!(charts(), ["redis-time.svg"]);
}

#[test]
fn a_chart_that_cannot_be_written_takes_no_results_along() {
    let folder = TempDir::new().unwrap();
    let (out, _) = charts(&folder);
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink("/dev/full", format!("{out}/sliding-counter.svg")).unwrap();
    let ended = run(&["lab", "--only", "sliding-counter", "--out", &out, "-o", "json"]);
    assert!(ended.code == Some(1) && ended.err.contains("sliding-counter.svg"), "{}", ended.err);
    let outcomes: Json = serde_json::from_str(&ended.out).unwrap();
    assert!(!outcomes[0]["rows"].as_array().unwrap().is_empty(), "{}", ended.out);
}

#[test]
fn time_series_need_a_server_that_has_them() {
    let folder = TempDir::new().unwrap();
    let (out, charts) = charts(&folder);
    let ended = run(&["lab", "--timeseries", "--out", &out]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.err.contains("TS.ADD") && ended.err.contains("--redis"), "{}", ended.err);
    assert!(charts().is_empty());
}

#[test]
fn told_to_stop_it_takes_its_redis_along() {
    let folder = TempDir::new().unwrap();
    let (out, charts) = charts(&folder);
    let mut command = dripfeed(&["lab", "--out", &out]);
    let lab = Running::start(command.env("TMPDIR", folder.path()));
    lab.says("counter-with-resetter");
    let own = |file: fs::DirEntry| fs::read_to_string(file.path().join("redis.pid")).ok()?.trim().parse().ok();
    let pid = fs::read_dir(folder.path()).unwrap().find_map(|file| own(file.unwrap())).map(Pid::from_raw).unwrap();
    kill(pid, None).unwrap();
    assert_eq!(lab.end(), Some(1));
    assert!(kill(pid, None).is_err(), "Redis runs on");
    assert!(charts().is_empty());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "its folder is still there, besides that of the charts"
    );
}

#[test]
fn an_experiment_that_is_not_there_is_a_wrong_usage_that_names_those_that_are() {
    let ended = run(&["lab", "--only", "perpetual-motion"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("counter-with-resetter") && ended.err.contains("redis-time"), "{}", ended.err);
}
