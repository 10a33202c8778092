//! Distributed tracing: spans of the steps of a job, in the trace of its caller.
//!
//! `trace_context` is the part that jobs and requests contain (W3C Trace Context), `tracer` samples traces and creates
//! spans, and `active_span` is a span before it ends and is exported.
//!
//! **Architecture invariant:** nothing here depends on the protocol of an exporter. An unsampled trace allocates
//! nothing.

mod active_span;
mod span;
mod trace_context;
mod tracer;

pub use active_span::ActiveSpan;
pub use span::{Span, SpanKind, SpanValue};
pub use trace_context::{SpanId, TraceContext, TraceId};
pub use tracer::Tracer;
