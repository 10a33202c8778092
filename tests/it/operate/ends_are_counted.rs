use dripfeed_tests::client::Client;
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use http::Method;
use tokio::sync::watch;

/// What the metrics of these processes say together of the ends of jobs of `b`.
async fn ended(roles: &[&Process], outcome: &str) -> u64 {
    let series = format!("dripfeed_jobs_settled_total{{bucket=\"b\",outcome=\"{outcome}\"}} ");
    let mut sum = 0;
    for role in roles {
        let page = role.client().get("/metrics").await.expect("an answer");
        let page = String::from_utf8_lossy(&page.body).into_owned();
        let counts = page.lines().filter_map(|line| line.strip_prefix(series.as_str()));
        sum += counts.map(|count| count.parse::<u64>().expect("a whole number")).sum::<u64>();
    }
    sum
}

async fn call(client: &Client, method: Method, path: &str) -> u16 {
    client.call(client.request(method, path), "").await.expect("an answer").status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_expires_while_no_processor_runs_is_counted() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n").await;
    let intake = service.intake().await;
    let client = intake.client();
    for _ in 0..3 {
        let job = client.request(Method::POST, "/v1/buckets/b/jobs").header("dripfeed-expires-in", "1ms");
        assert_eq!(client.call(job, "x").await.expect("an answer").status, 202);
    }
    until("they have expired", async || service.level("b").await == 0).await;
    until("each is counted", async || ended(&[&intake], "expired").await == 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_waits_for_room_among_the_dead_letters_is_counted_once_as_it_ends() {
    let (open, gate) = watch::channel(false);
    let upstream = Upstream::start(move |_| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.expect("a gate");
            Answer::Status(404)
        }
    })
    .await;
    let keep = "keep = { most_dead = 1, when_dead_full = \"hold\" }";
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\n{keep}\n", upstream.url())).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let (client, roles) = (intake.client(), [&intake, &processor]);
    for _ in 0..3 {
        assert_eq!(client.submit("b", "x").await.expect("an answer").status, 202);
    }
    // Once one is buried no further one is called.
    upstream.has_got(3).await;
    open.send_replace(true);
    until("two wait", async || client.get("/v1/buckets/b").await.expect("an answer").number("parked") == 2).await;
    until("one has ended", async || ended(&roles, "dead").await > 0).await;

    let letters = client.get("/v1/buckets/b/dead").await.expect("an answer").json();
    let letter = letters["items"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(call(&client, Method::DELETE, &format!("/v1/buckets/b/dead/{letter}")).await, 204);
    until("another one is buried", async || ended(&roles, "dead").await == 2).await;
    assert_eq!(call(&client, Method::POST, "/v1/buckets/b/purge").await, 200);
    assert_eq!((ended(&roles, "dead").await, ended(&roles, "cancelled").await), (2, 1));
}
