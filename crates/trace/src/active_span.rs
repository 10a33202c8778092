//! A span that hasn't ended yet.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::span::{Span, SpanValue};
use crate::trace_context::TraceContext;

/// Receives ended spans.
pub(crate) type Export = Arc<dyn Fn(Span) + Send + Sync>;

/// A span that ends and is exported when it is dropped, also if its task was cancelled or has panicked.
pub struct ActiveSpan {
    export: Export,
    /// `None` after it is exported.
    span: Option<Span>,
    context: TraceContext,
}

impl ActiveSpan {
    pub(crate) fn new(export: Export, span: Span) -> Self {
        Self { export, context: span.context, span: Some(span) }
    }

    /// Returns the parent of child spans, in this process or another.
    #[must_use]
    pub const fn context(&self) -> TraceContext {
        self.context
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<SpanValue>) {
        if let Some(span) = &mut self.span {
            span.attributes.push((name, value.into()));
        }
    }

    pub fn fail(&mut self, why: impl Into<String>) {
        if let Some(span) = &mut self.span {
            span.error = Some(why.into());
        }
    }

    /// Links another span, such as the submission of a job.
    pub fn link(&mut self, to: TraceContext) {
        if let Some(span) = &mut self.span {
            span.link = Some(to);
        }
    }

    /// Returns the span that it links.
    #[must_use]
    pub fn linked(&self) -> Option<TraceContext> {
        self.span.as_ref().and_then(|span| span.link)
    }

    /// Sets an earlier start time.
    pub fn began(&mut self, at: SystemTime) {
        if let Some(span) = &mut self.span {
            span.began = span.began.min(at);
        }
    }

    /// Ends the span now.
    pub fn end(self) {}
}

impl Drop for ActiveSpan {
    fn drop(&mut self) {
        if let Some(mut span) = self.span.take() {
            span.ended = SystemTime::now().max(span.began);
            (self.export)(span);
        }
    }
}

impl fmt::Debug for ActiveSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActiveSpan({})", self.context)
    }
}
