//! The client of [dripfeed](https://docs.rs/dripfeed), an HTTP job queue: submits jobs, one at a time or in batches,
//! and reads their outcomes. `dripfeed` itself calls intakes with it.
//!
//! A call that is refused temporarily, or gets no answer, is retried within [`Retries`], after the intake's
//! `Retry-After` or else a backoff. All tries of a job have the same idempotency key, so it is stored once.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use dripfeed_client::{Client, NewJob, Retries};
//! use serde_json::json;
//!
//! # async fn push() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("http://127.0.0.1:7180").retries(Retries::within(Duration::from_secs(30))).build()?;
//! let bucket = "tigerfeeding".parse()?;
//! let receipt = client.push(&bucket, &NewJob::json(&json!({"tiger": 1}))?.delay(Duration::from_secs(5))).await?;
//! let job = client.wait(&bucket, receipt.id, Duration::from_secs(60)).await?;
//! println!("{} is {}", job.id, job.state);
//! # Ok(())
//! # }
//! ```
//!
//! **Architecture invariant:** only the calls that submit jobs and read their outcomes have methods. All other parts of
//! the API are called by path, with [`Client::get`] or [`Client::call`].

mod backoff;
mod bad_option;
mod batch;
mod byte_stream;
mod call;
mod client;
mod client_builder;
mod client_error;
mod dead_letters;
mod job_status;
mod new_job;
mod pages;
mod prefer;
mod problem;
mod push;
mod push_many;
mod receipt;
mod retries;
mod wait;

pub use dripfeed_job::options::OptionName;
pub use dripfeed_job::{BucketName, Ending, JobId, JobState, Priority};

pub use crate::bad_option::BadOption;
pub use crate::batch::BatchSender;
pub use crate::batch::item::BatchItem;
pub use crate::batch::sent::{ItemResult, SentBatch};
pub use crate::byte_stream::ByteStream;
pub use crate::call::{ApiResponse, escaped};
pub use crate::client::Client;
pub use crate::client_builder::{BuildError, ClientBuilder};
pub use crate::client_error::ClientError;
pub use crate::dead_letters::DeadLetter;
pub use crate::job_status::{JobOutcome, JobStatus};
pub use crate::new_job::NewJob;
pub use crate::pages::Pages;
pub use crate::problem::Problem;
pub use crate::push::{PushAnswer, UpstreamResponse};
pub use crate::push_many::{BATCH_BYTES, BATCH_ITEMS};
pub use crate::receipt::Receipt;
pub use crate::retries::Retries;
