//! A job to submit: its payload and its options.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::options::OptionName;
use dripfeed_job::{Priority, duration};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};
use serde::Serialize;

use crate::bad_option::{BadOption, header_value};

/// A job to push. The intake validates the options, and reports all invalid ones in one problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewJob {
    pub(crate) body: Bytes,
    pub(crate) content_type: Option<String>,
    pub(crate) options: Vec<(OptionName, String)>,
    pub(crate) forward: Vec<(String, String)>,
}

impl NewJob {
    /// Creates a job with any payload.
    #[must_use]
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// Creates a job with a JSON payload.
    ///
    /// # Errors
    /// When `body` can't be serialized.
    pub fn json(body: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        Ok(Self::new(serde_json::to_vec(body)?).content_type("application/json"))
    }

    /// Sets the `Content-Type` of the request to the upstream.
    #[must_use]
    pub fn content_type(self, content_type: impl Into<String>) -> Self {
        Self { content_type: Some(content_type.into()), ..self }
    }

    /// Sets the idempotency key: at most one job is stored per key. By default each push generates one, unless the
    /// client has no retries.
    #[must_use]
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        self.option(OptionName::IdempotencyKey, key)
    }

    /// Sets the delay of the first attempt.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.option(OptionName::Delay, duration::show(delay))
    }

    /// Sets the earliest time of the first attempt, RFC 3339.
    #[must_use]
    pub fn not_before(self, time: impl Into<String>) -> Self {
        self.option(OptionName::NotBefore, time)
    }

    /// Lets the job expire if no attempt has started within `time`.
    #[must_use]
    pub fn expires_in(self, time: Duration) -> Self {
        self.option(OptionName::ExpiresIn, duration::show(time))
    }

    /// Sets the HTTP method, instead of the bucket's.
    #[must_use]
    pub fn method(self, method: impl Into<String>) -> Self {
        self.option(OptionName::Method, method)
    }

    /// Sets the path below the bucket's upstream.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        self.option(OptionName::Path, path)
    }

    /// Sets the priority: waiting jobs of a higher one are delivered first.
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        self.option(OptionName::Priority, priority.as_str())
    }

    /// Sets the group for fair queuing.
    #[must_use]
    pub fn group(self, group: impl Into<String>) -> Self {
        self.option(OptionName::Group, group)
    }

    /// Sets which targets of the bucket's `on_outcome` get this job's outcome: names separated by commas, or `none`.
    #[must_use]
    pub fn on_outcome(self, targets: impl Into<String>) -> Self {
        self.option(OptionName::OnOutcome, targets)
    }

    /// Sets the number of retries after the first attempt.
    #[must_use]
    pub fn retries(self, retries: u32) -> Self {
        self.option(OptionName::Retries, retries.to_string())
    }

    /// Sets the timeout of one attempt.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.option(OptionName::Timeout, duration::show(timeout))
    }

    /// Sets any option, replacing an earlier value.
    #[must_use]
    pub fn option(mut self, option: OptionName, value: impl Into<String>) -> Self {
        self.options.retain(|(known, _)| *known != option);
        self.options.push((option, value.into()));
        self
    }

    /// Sets a header for the upstream.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.forward.push((name.into(), value.into()));
        self
    }

    /// Adds a random idempotency key, unless the job has one.
    pub(crate) fn keyed(self) -> Self {
        let has_key = self.options.iter().any(|(option, _)| *option == OptionName::IdempotencyKey);
        if has_key { self } else { self.idempotency_key(random_key()) }
    }

    /// Returns the headers of a single submission.
    pub(crate) fn headers(&self) -> Result<HeaderMap, BadOption> {
        let mut headers = HeaderMap::new();
        if let Some(content_type) = &self.content_type {
            headers.insert(CONTENT_TYPE, header_value("the content type", content_type)?);
        }
        for (option, text) in &self.options {
            headers.insert(HeaderName::from_static(option.header()), header_value(option.header(), text)?);
        }
        for (name, text) in &self.forward {
            let header = format!("dripfeed-forward-{name}").parse::<HeaderName>();
            let header = header.map_err(|_| BadOption::HeaderName(name.clone()))?;
            headers.append(header, header_value(name, text)?);
        }
        Ok(headers)
    }
}

/// 128 random bits as hexadecimal digits.
fn random_key() -> String {
    let mut bytes = [0; 16];
    // The key only has to be unique, so a weaker generator is better than no job.
    getrandom::fill(&mut bytes).unwrap_or_else(|_| fastrand::fill(&mut bytes));
    format!("{:032x}", u128::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests;
