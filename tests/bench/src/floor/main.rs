//! The floor: the least that an HTTP queue over Redis can do. It has no retry, pace, fence, outcome or metric, so its
//! speed is what the machine, Redis and these libraries allow, and dripfeed is measured against it. The other roles
//! are ceilings: the same libraries without a queue.

mod ceilings;
mod intake;
mod processor;

use nix::sys::prctl;
use nix::sys::signal::Signal;

/// Of the queue.
const STREAM: &str = "jobs";

// One thread: each role has one core.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    // Killed with the process that measures it.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["intake", redis, capacity] => intake::run(redis, capacity.parse()?).await,
        ["processor", redis, upstream] => processor::run(redis, upstream.parse()?).await,
        ["echo"] => ceilings::echo().await,
        ["file", path] => ceilings::file(path).await,
        ["calls", upstream] => ceilings::calls(upstream.parse()?).await,
        _ => anyhow::bail!(
            "usage: floor intake REDIS CAPACITY | processor REDIS UPSTREAM | echo | file PATH | calls UPSTREAM"
        ),
    }
}
