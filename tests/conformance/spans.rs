//! SPN: the span of a message, as an OpenTelemetry exporter gets it.

mod exported;
mod hostile;
mod links;
mod off;
