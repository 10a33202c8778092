//! W3C Trace Context: the ids of a trace and of the parent span.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

/// The id of a trace: 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(NonZeroU128);

/// The id of a span: 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(NonZeroU64);

/// The header `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    /// Whether spans of the trace are exported.
    pub sampled: bool,
}

impl TraceId {
    pub(crate) fn random() -> Self {
        Self(NonZeroU128::new(fastrand::u128(..)).unwrap_or(NonZeroU128::MAX))
    }

    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.get().to_be_bytes()
    }
}

impl SpanId {
    pub(crate) fn random() -> Self {
        Self(NonZeroU64::new(fastrand::u64(..)).unwrap_or(NonZeroU64::MAX))
    }

    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.get().to_be_bytes()
    }
}

impl TraceContext {
    /// Parses `traceparent`. Returns `None` if it is malformed. Later versions are parsed as version 00.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let is_hex = traceparent.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f' | b'-'));
        let mut parts = traceparent.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let ends = version != "00" || parts.next().is_none();
        let lengths = [version.len(), trace.len(), span.len(), flags.len()];
        if !is_hex || !ends || lengths != [2, 32, 16, 2] || version == "ff" {
            return None;
        }
        let trace = TraceId(NonZeroU128::new(u128::from_str_radix(trace, 16).ok()?)?);
        let span = SpanId(NonZeroU64::new(u64::from_str_radix(span, 16).ok()?)?);
        Some(Self { trace, span, sampled: u8::from_str_radix(flags, 16).ok()? & 1 == 1 })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::TraceContext;

    #[test]
    fn a_valid_traceparent_is_parsed_and_printed_unchanged() {
        for text in [
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
            "00-00000000000000000000000000000001-0000000000000001-01",
        ] {
            assert_eq!(TraceContext::parse(text).map(|context| context.to_string()).as_deref(), Some(text));
        }
        let later = TraceContext::parse("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-00");
        assert!(later.is_some_and(|context| context.sampled));
    }

    #[test]
    fn a_malformed_traceparent_is_not_parsed() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
    }
}
