use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, FakeRelativeClock};
use governor::{Quota, RateLimiter};

use crate::{Tier, Wait};

use super::bench::{Bench, NOON, Step, plan, policy};

/// Governor counts in nanoseconds and keeps a time per cell, so a period that divides evenly is compared.
#[tokio::test]
async fn the_bucket_decides_as_governor_does() {
    let bench = Bench::new().await;
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..10 {
        let (cell_us, burst) = (random.u64(1..5_000), random.u32(1..30));
        let cell = Duration::from_micros(cell_us);
        let quota = Quota::with_period(cell).unwrap().allow_burst(NonZeroU32::new(burst).unwrap());
        let clock = FakeRelativeClock::default();
        let oracle = RateLimiter::direct_with_clock(quota, clock.clone());
        let policy = policy(vec![Tier::bucket(1, cell, burst.into()).unwrap()]);

        let (mut now, mut expected, mut plans) = (NOON, Vec::new(), Vec::new());
        for _ in 0..500 {
            let passed = Duration::from_micros(random.u64(0..cell_us * 2));
            now += u64::try_from(passed.as_micros()).unwrap();
            clock.advance(passed);
            let n = if random.u8(0..4) == 0 { random.u32(1..burst + 3) } else { 1 };
            expected.push(match oracle.check_n(NonZeroU32::new(n).unwrap()) {
                Err(_) => Wait::Never,
                Ok(Ok(())) => Wait::Ready,
                Ok(Err(not_until)) => Wait::After(not_until.wait_time_from(clock.now())),
            });
            plans.push((now, plan(&policy, n.into())));
        }
        bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let steps: Vec<_> = plans.iter().map(|(now, plan)| (*now, Step::Decide(plan))).collect();
        let told = bench.run(&steps).await;
        for (at, (told, expected)) in told.iter().zip(expected).enumerate() {
            let told = match told[2] {
                -1 => Wait::Never,
                us => Wait::us(us.try_into().unwrap()),
            };
            assert_eq!(told, expected, "step {at}, cells of {cell_us} µs, burst {burst}, seed {seed}");
        }
    }
}
