//! Sleeps that end within a fraction of a millisecond. Timers of tokio count whole ones: a bucket without burst
//! loses all that its tokens wait for their calls, a twentieth of a hundred a second.

use std::time::Duration;

use futures_timer::Delay;
use tokio::time::sleep;

/// Of a longer sleep a millisecond is a small part.
const SHORT: Duration = Duration::from_millis(100);

pub(super) async fn precise_sleep(wait: Duration) {
    if wait < SHORT {
        Delay::new(wait).await;
    } else {
        sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn no_sleep_ends_early() {
        for wait in [Duration::ZERO, Duration::from_micros(10), Duration::from_micros(1500), SHORT] {
            let begun = Instant::now();
            precise_sleep(wait).await;
            assert!(begun.elapsed() >= wait, "{wait:?}");
        }
    }
}
