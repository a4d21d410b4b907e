//! CON-29, MET: the values that a recorder of the crate `metrics` gets, read through the exporter for Prometheus.

mod again;
mod board;
mod exporter;
mod scrape;
mod times;
mod truth;
