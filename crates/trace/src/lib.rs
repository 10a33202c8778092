//! Distributed traces: what was done to a job, when, and by which process, as spans of the trace that its caller began.
//!
//! `trace_context` is what rides in a job and in requests (W3C Trace Context), `tracer` decides what is sampled, and
//! `active_span` is a span until it ends and is exported.
//!
//! **Architecture invariant:** nothing here knows a protocol of exporters. What isn't sampled costs no allocation.

mod active_span;
mod span;
mod trace_context;
mod tracer;

pub use active_span::ActiveSpan;
pub use span::{Span, SpanKind, SpanValue};
pub use trace_context::{SpanId, TraceContext, TraceId};
pub use tracer::Tracer;
