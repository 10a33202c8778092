//! Converts spans for the exporter.

use dripfeed_trace::{Span, SpanKind as Kind, SpanValue, TraceContext};
use opentelemetry::trace::{
    Link, SpanContext, SpanId as OtelSpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

pub(super) fn span_data(span: Span) -> SpanData {
    let mut links = SpanLinks::default();
    links.links.extend(span.link.map(|to| Link::new(context(to, true), Vec::new(), 0)));
    SpanData {
        span_context: context(span.context, false),
        parent_span_id: span.parent.map_or(OtelSpanId::INVALID, |parent| OtelSpanId::from_bytes(parent.to_bytes())),
        // Only the parent of `settle` is in the same process.
        parent_span_is_remote: span.parent.is_some() && span.name != "settle",
        span_kind: match span.kind {
            Kind::Internal => SpanKind::Internal,
            Kind::Producer => SpanKind::Producer,
            Kind::Client => SpanKind::Client,
        },
        name: span.name.into(),
        start_time: span.began,
        end_time: span.ended,
        attributes: span.attributes.into_iter().map(|(name, of)| KeyValue::new(name, value(of))).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links,
        status: span.error.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder("dripfeed").build(),
    }
}

fn context(of: TraceContext, is_remote: bool) -> SpanContext {
    let (trace, span) = (TraceId::from_bytes(of.trace.to_bytes()), OtelSpanId::from_bytes(of.span.to_bytes()));
    let flags = if of.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    SpanContext::new(trace, span, flags, is_remote, TraceState::NONE)
}

fn value(of: SpanValue) -> Value {
    match of {
        SpanValue::Text(text) => text.into(),
        SpanValue::Number(number) => number.into(),
    }
}
