//! One job through a bucket on a private Redis, from its admission to its outcome:
//! `cargo run -p dripfeed-bucket --example queue`.
#![expect(clippy::print_stdout, reason = "it shows each step")]

use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{
    Admission, Bucket, BucketSettings, Consumer, Fair, JoinKind, Keep, Kind, Leak, OnOutcome, PaceTiers, Settlement,
    Take, WhenDeadFull,
};
use dripfeed_job::forward::ClientAddress;
use dripfeed_job::{Retry, Submission};
use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};

fn settings() -> Result<BucketSettings, Box<dyn Error>> {
    let (second, day) = (Duration::from_secs(1), Duration::from_hours(24));
    Ok(BucketSettings {
        name: "example".parse()?,
        kind: Kind::Stream,
        key: None,
        capacity: 1,
        capacity_bytes: 1 << 20,
        max_share: None,
        most_schedules: 1000,
        schedules_bytes: 1 << 20,
        fair: Fair::default(),
        on_outcome: OnOutcome::default(),
        leak: Leak {
            rate: Some("10/s".parse()?),
            burst: 1,
            tiers: PaceTiers::default(),
            adaptive: true,
            concurrency: 10,
            max_in_flight: None,
            max_hold: day,
            default_hold: second,
        },
        retry: Retry { attempts: 5, first: second, max: Duration::from_mins(10) },
        deliveries: 5,
        keep: Keep {
            outcomes: day,
            most_outcomes: 1000,
            outcomes_bytes: 1 << 20,
            answer_bytes: 4096,
            failed_attempts: 5,
            failed_answer_bytes: 1024,
            most_failed: 1000,
            idempotency_keys: day,
            most_idempotency_keys: 1000,
            dead: day,
            most_dead: 1000,
            dead_bytes: 1 << 20,
            when_dead_full: WhenDeadFull::DropOldest,
        },
        client_address: ClientAddress::Dropped,
        durability: Durability::Everysec,
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let server = PrivateServer::start(folder.path(), ServerOptions::default()).await?;
    let store = Store::connect(&RedisSettings::new(server.address(), "example", Durability::Everysec)).await?;
    let bucket = Bucket::new(store, settings()?);

    for body in ["first", "second"] {
        match bucket.admit(Submission { body: body.into(), ..Submission::default() }).await? {
            Admission::Admitted(job) => println!("{body}: admitted, {} of {}", job.level, job.capacity),
            Admission::Refused(refused) => println!("{body}: refused, {}", refused.reason.code()),
        }
    }

    let replica = bucket.join(Consumer::new("worker"), Duration::from_secs(10), JoinKind::First).await?;
    let mut settled = None;
    while settled.is_none() {
        match replica.take(1).await? {
            Take::Jobs(jobs, _) => {
                for taken in jobs {
                    // A permit is for one call, and not for later.
                    let (id, in_time) = (taken.claim.id(), taken.permit.spend().await);
                    let settlement =
                        if in_time { Settlement::Complete { status: 200, answer: None } } else { Settlement::Requeue };
                    replica.settle(taken.claim, settlement).await?;
                    settled = in_time.then_some(id);
                }
            }
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => return Err("the replica was declared dead".into()),
        }
    }
    replica.leave().await?;

    let job = bucket.find(settled.ok_or("no job")?).await?.ok_or("the outcome is kept")?;
    println!("{}: {}", job.id, job.state.as_str());
    Ok(())
}
