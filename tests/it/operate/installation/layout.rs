use std::collections::HashMap;

use dripfeed_tests::service::{Service, until};

use super::buckets;

const STATE: &str = "dripfeed:{@installation}:state";

async fn state(service: &Service) -> HashMap<String, String> {
    service.redis(&format!("HGETALL {STATE}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_role_writes_the_layout_and_a_salt_and_the_others_keep_them() {
    let service = Service::new(&buckets(&[("b", "")])).await;
    let (code, said) = service.run(&["check", "--connect"]).await;
    assert!(code == Some(0) && said.contains("no intake or processor has run"), "{said}");
    assert!(state(&service).await.is_empty(), "a check writes nothing");

    let _intake = service.intake().await;
    let written = state(&service).await;
    assert_eq!(written["layout"], "1");
    assert!(written["salt"].len() == 32 && written["salt"] != "0".repeat(32), "{written:?}");
    let _processor = service.processor().await;
    let kept =
        async || state(&service).await.into_iter().filter(|(field, _)| field != "seen").collect::<HashMap<_, _>>();
    let written = HashMap::from(["layout", "salt"].map(|field| (field.to_owned(), written[field].clone())));
    assert_eq!(kept().await, written);
    for command in [&["check", "--connect"][..], &["doctor"]] {
        let (code, said) = service.run(command).await;
        assert!(code == Some(0) && said.contains("layout 1"), "{said}");
    }

    service.redis::<()>("FLUSHALL").await;
    until("the state is written again, with the same salt", async || kept().await == written).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layout_that_this_program_does_not_know_is_refused_and_left_as_it_is() {
    let service = Service::new(&buckets(&[("b", "")])).await;
    for layout in ["2", "0", "1.5", "next"] {
        service.redis::<()>("FLUSHALL").await;
        service.redis::<u64>(&format!("HSET {STATE} layout {layout}")).await;
        for command in [&["intake"][..], &["processor"], &["check", "--connect"], &["doctor", "--repair"]] {
            let (code, said) = service.run(command).await;
            assert_eq!(code, Some(78), "{command:?}: {said}");
            assert!(said.contains(&format!("layout `{layout}`")) && said.contains("`dripfeed`"), "{said}");
        }
        assert_eq!(state(&service).await, HashMap::from([("layout".to_owned(), layout.to_owned())]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_is_older_than_layouts_is_read_also_at_maxmemory() {
    let service = Service::new(&buckets(&[("b", "")])).await;
    service.redis::<String>("XADD dripfeed:{b}:jobs * body {}").await;
    service.redis::<()>("CONFIG SET maxmemory 1").await;
    let intake = service.intake().await;
    assert_eq!(state(&service).await["layout"], "1");
    let answer = intake.client().get("/v1/buckets/b").await.expect("an answer");
    assert_eq!(answer.json()["level"], 1);
}
