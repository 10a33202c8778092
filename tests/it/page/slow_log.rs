use dripfeed_tests::service::{Service, until};

use super::reader::Reader;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const SECRET: &str = "a-payload-that-stays-where-it-is";

#[tokio::test]
async fn slow_scripts_are_named_without_their_arguments() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let processor = service.processor().await;
    let reader = Reader::of(&intake);
    let quick = reader.text("/redis").await;
    assert!(quick.contains("Slow commands"), "{quick}");
    // In µs: shorter than a script, and longer than a command in it.
    set(&service, &["CONFIG", "SET", "slowlog-log-slower-than", "30"]).await;
    // Scripts of the intake and of the processor.
    for script in ["admit", "settle"] {
        until("the script is shown", async || {
            intake.client().submit("b", SECRET).await.expect("an answer");
            let page = reader.text("/redis").await;
            assert!(!page.contains(SECRET), "{page}");
            page.contains(&format!("<td><code>{script}</code></td>"))
        })
        .await;
    }
    let state = reader.get("/v1/redis").await;
    assert!(!String::from_utf8_lossy(&state.body).contains(SECRET), "{state:?}");
    let commands = state.json()["servers"][0]["slow_commands"].as_array().expect("a list").clone();
    assert!(commands.len() <= 16 && commands[0]["at"].is_string(), "{commands:?}");
    drop(processor);
}

/// Redis cuts the source of a script in its log.
#[tokio::test]
async fn a_script_that_redis_did_not_know_is_named_too() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    set(&service, &["CONFIG", "SET", "slowlog-log-slower-than", "30"]).await;
    until("its first run is named", async || {
        set(&service, &["SCRIPT", "FLUSH"]).await;
        intake.client().submit("b", SECRET).await.expect("an answer");
        let state = reader.get("/v1/redis").await;
        assert!(!String::from_utf8_lossy(&state.body).contains(SECRET), "{state:?}");
        let commands = state.json()["servers"][0]["slow_commands"].as_array().expect("a list").clone();
        commands.iter().any(|slow| slow["command"] == "eval" && slow["script"] == "admit")
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_refuses_its_slow_log_is_shown_with_the_remedy() {
    let service = Service::new(BUCKET).await;
    set(&service, &["ACL", "SETUSER", "default", "-slowlog"]).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    for _ in 0..2 {
        let page = reader.text("/redis").await;
        assert!(page.contains("+slowlog|get") && page.contains("append-only file"), "{page}");
    }
    assert!(reader.text("/").await.contains("href=\"/buckets/b\""), "all buckets are shown");
}

async fn set(service: &Service, words: &[&str]) {
    let mut set = redis::cmd(words[0]);
    set.arg(&words[1..]);
    service.store().command::<()>(&set).await.expect("Redis answers");
}
