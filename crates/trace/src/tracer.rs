//! Creates the spans of sampled traces, and passes them to an exporter when they have ended.

use std::sync::Arc;
use std::time::SystemTime;

use crate::active_span::{ActiveSpan, Export};
use crate::span::{Span, SpanKind};
use crate::trace_context::{SpanId, TraceContext, TraceId};

/// Creates spans. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Tracer {
    export: Export,
    /// The sampled part of the traces without a `traceparent`, from 0 to 1.
    sampling: f64,
}

impl Tracer {
    /// Creates a tracer that passes ended spans to `export`, which must not block: it is called while a job is
    /// processed.
    #[must_use]
    pub fn new(sampling: f64, export: impl Fn(Span) + Send + Sync + 'static) -> Self {
        Self { export: Arc::new(export), sampling }
    }

    /// Returns the span of a submission: sampled according to the flag of the caller's `traceparent`, without one as
    /// configured. Returns `None` if it isn't sampled.
    #[must_use]
    pub fn submission(&self, name: &'static str, traceparent: Option<&str>) -> Option<ActiveSpan> {
        match traceparent.and_then(TraceContext::parse) {
            Some(caller) if caller.sampled => self.child(name, SpanKind::Producer, caller),
            Some(_) => None,
            None if fastrand::f64() < self.sampling => {
                Some(self.begin(name, SpanKind::Producer, TraceId::random(), None))
            }
            None => None,
        }
    }

    /// Returns a child span of `parent`. Returns `None` if the trace isn't sampled.
    #[must_use]
    pub fn child(&self, name: &'static str, kind: SpanKind, parent: TraceContext) -> Option<ActiveSpan> {
        parent.sampled.then(|| self.begin(name, kind, parent.trace, Some(parent.span)))
    }

    fn begin(&self, name: &'static str, kind: SpanKind, trace: TraceId, parent: Option<SpanId>) -> ActiveSpan {
        let (context, now) = (TraceContext { trace, span: SpanId::random(), sampled: true }, SystemTime::now());
        let (began, ended, attributes) = (now, now, Vec::new());
        let span = Span { name, kind, context, parent, link: None, began, ended, attributes, error: None };
        ActiveSpan::new(Arc::clone(&self.export), span)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::Mutex;

    use super::*;

    const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    fn tracer(sampling: f64) -> (Tracer, Arc<Mutex<Vec<Span>>>) {
        let spans = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&spans);
        (Tracer::new(sampling, move |span| kept.lock().unwrap().push(span)), spans)
    }

    #[test]
    fn the_caller_decides_what_is_sampled_and_else_the_ratio() {
        for (sampling, traceparent, sampled) in [
            (0.0, Some(SAMPLED), true),
            (1.0, Some(UNSAMPLED), false),
            (0.0, None, false),
            (1.0, None, true),
            (1.0, Some("nonsense"), true),
        ] {
            let (tracer, _) = tracer(sampling);
            assert_eq!(tracer.submission("submit", traceparent).is_some(), sampled, "{sampling} {traceparent:?}");
        }
    }

    #[test]
    fn a_span_is_exported_once_when_it_ends_however_it_does() {
        let (tracer, spans) = tracer(0.0);
        let mut submission = tracer.submission("submit", Some(SAMPLED)).unwrap();
        submission.set("bucket", "b");
        let context = submission.context();
        drop(submission);
        let mut attempt = tracer.child("attempt", SpanKind::Client, context).unwrap();
        attempt.link(context);
        attempt.end();
        let spans = spans.lock().unwrap();
        let [submission, attempt] = spans.as_slice() else { unreachable!("{spans:?}") };
        assert_eq!(submission.parent, TraceContext::parse(SAMPLED).map(|caller| caller.span));
        assert_eq!((attempt.parent, attempt.link), (Some(context.span), Some(context)));
        assert!(spans.iter().all(|span| span.context.trace == context.trace && span.ended >= span.began));
    }
}
