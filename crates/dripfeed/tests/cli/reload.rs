use std::fs;

use nix::sys::signal::Signal;

use crate::program::{Running, dripfeed, redis, run, write};

const ONE: &str = "[buckets.one]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 10\n";
const TWO: &str = "[buckets.two]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test]
async fn sound_settings_are_taken_and_unsound_ones_change_nothing() {
    let (folder, redis) = redis(&[]).await;
    let file = write(folder.path(), "dripfeed.toml", ONE);
    let url = format!("redis.url={}", redis.url());
    let intake = ["intake", "-c", &file, "--set", &url, "--set", "intake.listen=127.0.0.1:0"];
    let intake = Running::start(&mut dripfeed(&intake));
    let processor = ["processor", "-c", &file, "--set", &url, "--set", "processor.listen=127.0.0.1:0"];
    let processor = Running::start(&mut dripfeed(&processor));
    let server = intake.address();
    processor.says("bucket=one");
    let reload = |settings: &str, says: &str| {
        fs::write(&file, settings).unwrap();
        for role in [&intake, &processor] {
            role.signal(Signal::SIGHUP);
            role.says(says);
        }
    };
    let buckets = || run(&["buckets", "--server", &server]).out;

    reload(&format!("{ONE}{TWO}").replace("capacity = 10", "capacity = 20"), "settings are read again");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());
    processor.says("bucket=two");

    reload("[buckets.one]\ncapacity = 0\n", "settings are kept as they were");
    assert!(buckets().contains("two") && buckets().contains("0 of 20"), "{}", buckets());

    reload(&format!("{ONE}[processor]\nlease = \"20s\"\n"), "[processor] has changed, which takes a restart");
    processor.says("This replica has left");
    assert!(!buckets().contains("two"), "{}", buckets());

    assert_eq!((intake.end(), processor.end()), (Some(0), Some(0)));
    redis.stop().await.unwrap();
}
