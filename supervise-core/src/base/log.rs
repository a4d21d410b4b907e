//! The only log line of the containment code. All others are in `observe`.

/// The target of all log lines.
#[cfg(feature = "tracing")]
pub(crate) const TARGET: &str = "supervise";

#[cfg(feature = "tracing")]
pub(super) fn drop_panicked(type_name: &str) {
    tracing::error!(target: TARGET, r#type = type_name, "a value panicked while it was dropped");
}

#[cfg(not(feature = "tracing"))]
pub(super) fn drop_panicked(_: &str) {}
