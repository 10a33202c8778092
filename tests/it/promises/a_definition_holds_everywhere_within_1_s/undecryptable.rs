use super::credentials::{CANARY, KEYS, authorization, service, with_credentials, write};
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_cannot_be_decrypted_are_reported_and_not_taken_for_a_removed_bucket() {
    let upstream = Upstream::willing().await;
    let (service, file) = service(&[&upstream], &KEYS[..1]).await;
    let mut first = service.intake().await;
    assert_eq!(put(&first.client(), "sealed", &with_credentials(&upstream)).await.status, 201);
    assert_eq!(put(&first.client(), "open", &calling(&upstream)).await.status, 201);
    assert_eq!(submit(&first.client(), "sealed").await.status, 202);
    first.terminate();
    first.ended().await;

    write(&file, &KEYS[1..]);
    service.silence("sealed stream ").await;
    let (intake, processor) = tokio::join!(service.intake(), service.processor());
    let client = intake.client();
    for answer in [submit(&client, "sealed").await, get(&client, "/v1/buckets/sealed").await] {
        assert_eq!((answer.status, answer.text("code").as_str()), (503, "sealed_bucket"), "{answer:?}");
        for part in ["credentials", "headers, signing_secret", "define.seal_key_file"] {
            assert!(answer.text("detail").contains(part), "{part}: {answer:?}");
        }
    }
    assert_eq!(submit(&client, "nowhere").await.status, 404);
    // The other buckets still work.
    assert_eq!(submit(&client, "open").await.status, 202);
    upstream.has_got(1).await;
    assert_eq!(authorization(&upstream), [None]);
    // The roles note the bucket in Redis as theirs, so that its jobs don't count as stranded.
    let mut noted = redis::cmd("HGET");
    noted.arg("dripfeed:{@installation}:buckets").arg("sealed stream ");
    let is_noted = async || service.store().command::<Option<u64>>(&noted).await.expect("Redis answers") > Some(1);
    until("the roles have noted it", is_noted).await;
    let (_, said) = service.run(&["doctor"]).await;
    assert!(said.contains("define.seal_key_file") && !said.contains("drain"), "{said}");
    for log in [intake.log(), processor.log()] {
        assert!(log.contains("can't be decrypted") && log.contains("define.seal_key_file"), "{log}");
        assert!(!log.contains("drain"), "{log}");
    }

    // With the key the bucket is served again.
    write(&file, &[KEYS[1], KEYS[0]]);
    for role in [&intake, &processor] {
        role.hang_up();
    }
    until("the job is called", async || upstream.count() == 2).await;
    assert_eq!(authorization(&upstream)[1], Some(CANARY.to_owned()));
    assert_eq!(submit(&client, "sealed").await.status, 202);
}
