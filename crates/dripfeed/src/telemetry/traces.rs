//! The traces of a process, exported over OTLP if the build and the settings enable it.

use dripfeed_trace::Tracer;

#[cfg(feature = "otlp")]
use super::otlp::Exporter;
use crate::exit::Failure;
use crate::settings::TraceSettings;

pub(crate) struct Traces {
    /// `None` if traces are off.
    tracer: Option<Tracer>,
    #[cfg(feature = "otlp")]
    exporter: Option<Exporter>,
}

impl Traces {
    /// `role`: the name of the process in traces.
    ///
    /// # Errors
    /// When the settings are invalid. An unreachable receiver is no error.
    #[cfg(feature = "otlp")]
    pub(crate) fn start(settings: Option<&TraceSettings>, role: &'static str) -> Result<Self, Failure> {
        let Some(settings) = settings else { return Ok(Self { tracer: None, exporter: None }) };
        let (exporter, tracer) = Exporter::start(settings, role)?;
        Ok(Self { tracer: Some(tracer), exporter: Some(exporter) })
    }

    /// Without settings, because a build without the feature `otlp` refuses them.
    #[cfg(not(feature = "otlp"))]
    pub(crate) fn start(_: Option<&TraceSettings>, _: &'static str) -> Result<Self, Failure> {
        Ok(Self { tracer: None })
    }

    pub(crate) fn tracer(&self) -> Option<Tracer> {
        self.tracer.clone()
    }

    /// Exports the spans that have ended so far.
    pub(crate) async fn end(&self) {
        #[cfg(feature = "otlp")]
        if let Some(exporter) = &self.exporter {
            exporter.end().await;
        }
    }
}
