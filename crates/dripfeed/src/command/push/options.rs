//! The options of a single job as command-line flags.

use std::time::Duration;

use clap::Args;
use dripfeed_client::{NewJob, OptionName};

/// The server validates the values.
#[derive(Args, Debug)]
pub(super) struct Options {
    /// Idempotency key: a second job with the same key is not added
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Delay of the first attempt, such as 10s or 5m
    #[arg(long, value_name = "DURATION")]
    delay: Option<String>,
    /// Earliest time of the first attempt (RFC 3339)
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// Expire the job if it hasn't started within this time, such as 60s
    #[arg(long, value_name = "DURATION")]
    expires_in: Option<String>,
    /// HTTP method [default: the bucket's]
    #[arg(long)]
    method: Option<String>,
    /// Path below the bucket's upstream
    #[arg(long)]
    path: Option<String>,
    /// Header to forward to the upstream; repeatable
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// Priority: high, normal or low [default: normal]
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Group for fair queuing, in a bucket with fair.by = "group"
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Targets of the bucket's on_outcome that get this job's outcome: names separated by commas, or none [default:
    /// all]
    #[arg(long, value_name = "BUCKETS")]
    on_outcome: Option<String>,
    /// Maximum retries after the first attempt [default: the bucket's]
    #[arg(long, value_name = "NUMBER")]
    retries: Option<String>,
    /// Timeout of one attempt, such as 30s
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// Wait up to this many seconds for the upstream's answer, at most 60
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=60))]
    wait: Option<u32>,
}

impl Options {
    fn named(&self) -> [(OptionName, Option<&str>); 11] {
        [
            (OptionName::IdempotencyKey, self.idempotency_key.as_deref()),
            (OptionName::Delay, self.delay.as_deref()),
            (OptionName::NotBefore, self.not_before.as_deref()),
            (OptionName::ExpiresIn, self.expires_in.as_deref()),
            (OptionName::Method, self.method.as_deref()),
            (OptionName::Path, self.path.as_deref()),
            (OptionName::Priority, self.priority.as_deref()),
            (OptionName::Group, self.group.as_deref()),
            (OptionName::OnOutcome, self.on_outcome.as_deref()),
            (OptionName::Retries, self.retries.as_deref()),
            (OptionName::Timeout, self.timeout.as_deref()),
        ]
    }

    /// # Errors
    /// When an option is given: in a file of jobs, each line has its options.
    pub(super) fn refuse_all(&self) -> Result<(), &'static str> {
        let has_options = self.named().iter().any(|(_, value)| value.is_some()) || !self.headers.is_empty();
        if has_options || self.wait.is_some() {
            return Err("with --ndjson, options belong on each line: {\"body\": …, \"options\": {\"delay\": \"10s\"}}");
        }
        Ok(())
    }

    pub(super) const fn has_key(&self) -> bool {
        self.idempotency_key.is_some()
    }

    pub(super) fn wait(&self) -> Option<Duration> {
        self.wait.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// # Errors
    /// When a header is invalid.
    pub(super) fn set(&self, job: NewJob) -> Result<NewJob, String> {
        let options = self.named().into_iter().filter_map(|(option, value)| Some((option, value?)));
        let mut job = options.fold(job, |job, (option, value)| job.option(option, value));
        for header in &self.headers {
            let (name, value) =
                header.split_once(':').ok_or_else(|| format!("`{header}` is not a header: write NAME: VALUE"))?;
            job = job.header(name.trim(), value.trim());
        }
        Ok(job)
    }
}
