//! A span as it is exported.

use std::time::SystemTime;

use crate::trace_context::{SpanId, TraceContext};

/// One ended operation of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub name: &'static str,
    pub kind: SpanKind,
    /// The ids of its trace and of the span.
    pub context: TraceContext,
    /// `None` for the root span of a trace.
    pub parent: Option<SpanId>,
    /// The span of the submission, for an attempt and its settlement.
    pub link: Option<TraceContext>,
    pub began: SystemTime,
    pub ended: SystemTime,
    pub attributes: Vec<(&'static str, SpanValue)>,
    /// Why it failed.
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    /// Enqueues a job for a processor.
    Producer,
    /// A request to an upstream.
    Client,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    Text(String),
    Number(i64),
}

impl From<String> for SpanValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for SpanValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u16> for SpanValue {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for SpanValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}
