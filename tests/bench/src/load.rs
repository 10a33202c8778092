//! Closed-loop load: each connection sends its next request after the response to the last one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::task::JoinSet;

use crate::client::{Connection, PATIENCE};

pub(crate) const CONNECTIONS: usize = 64;

/// Requests that are sent in turn.
pub(crate) type Requests = Arc<Vec<Vec<u8>>>;

/// When the load ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    After(Duration),
    Requests(u64),
}

/// The responses within the time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    pub(crate) elapsed: Duration,
}

impl Answers {
    pub(crate) fn accepted_per_s(&self) -> f64 {
        per_s(self.accepted, self.elapsed)
    }

    pub(crate) fn refused_per_s(&self) -> f64 {
        per_s(self.refused, self.elapsed)
    }
}

pub(crate) fn per_s(count: u64, elapsed: Duration) -> f64 {
    number(count) / elapsed.as_secs_f64()
}

/// Converts a count to a float.
pub(crate) fn number(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// Runs the load to its end.
///
/// # Errors
/// On any response other than 200, 202 and 429, which would make the figures meaningless.
pub(crate) async fn run(address: SocketAddr, requests: &Requests, end: End) -> anyhow::Result<Answers> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(address).await?);
    }
    let begun = Instant::now();
    let (deadline, most) = match end {
        End::After(time) => (begun + time, u64::MAX),
        End::Requests(count) => (begun + PATIENCE * 4, count),
    };
    let sent = Arc::new(AtomicU64::new(0));
    let mut callers = JoinSet::new();
    for connection in connections {
        callers.spawn(send(connection, Arc::clone(requests), deadline, Arc::clone(&sent), most));
    }
    let mut all = Answers::default();
    let patience = deadline + PATIENCE;
    while let Some(answers) =
        tokio::time::timeout_at(patience.into(), callers.join_next()).await.context("no answer")?
    {
        let answers = answers??;
        all.accepted += answers.accepted;
        all.refused += answers.refused;
    }
    all.elapsed = begun.elapsed();
    match end {
        End::After(time) => all.elapsed = time,
        End::Requests(count) => anyhow::ensure!(all.accepted + all.refused == count, "the load took too long"),
    }
    Ok(all)
}

async fn send(
    mut connection: Connection,
    requests: Requests,
    deadline: Instant,
    sent: Arc<AtomicU64>,
    most: u64,
) -> anyhow::Result<Answers> {
    let mut answers = Answers::default();
    loop {
        // The connections share a counter, so that all requests are sent equally often.
        let number = sent.fetch_add(1, Ordering::Relaxed);
        if number >= most || Instant::now() >= deadline {
            break;
        }
        let request = requests.get(usize::try_from(number)? % requests.len().max(1)).context("nothing to send")?;
        let status = connection.exchange(request).await?;
        // Later responses aren't counted.
        let counts = u64::from(Instant::now() < deadline);
        match status {
            200 | 202 => answers.accepted += counts,
            429 => answers.refused += counts,
            other => anyhow::bail!("the answer is {other}"),
        }
    }
    Ok(answers)
}
