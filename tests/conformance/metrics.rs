//! CON-29, MET: what a recorder of the crate `metrics` is told, read through the exporter for Prometheus.

mod again;
mod board;
mod exporter;
mod scrape;
mod truth;
