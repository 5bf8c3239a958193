//! The registry of the service's metrics and its OpenMetrics form.

use std::fmt;

use prometheus_client::encoding::text;
use prometheus_client::metrics::info::Info;

use super::Registry;

/// The content type of [`encode`]'s text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// An empty registry that puts `evenkeel_` before every name, with the version in it.
pub fn registry() -> Registry {
    let mut registry = Registry::with_prefix("evenkeel");
    registry.register(
        "build",
        "The running version",
        Info::new([("version", env!("CARGO_PKG_VERSION"))]),
    );
    registry
}

/// The metrics in `registry` as OpenMetrics text.
///
/// # Errors
/// A metric refuses to be encoded.
pub fn encode(registry: &Registry) -> Result<String, fmt::Error> {
    let mut page = String::new();
    text::encode(&mut page, registry)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn names_carry_the_prefix_and_the_page_ends() {
        let mut registry = registry();
        let calls: Counter = Counter::default();
        calls.inc();
        registry.register("calls", "Calls", calls);
        let page = encode(&registry).unwrap();
        assert!(page.contains("evenkeel_calls_total 1\n"), "{page}");
        assert!(page.contains("evenkeel_build_info{version="), "{page}");
        assert!(page.ends_with("# EOF\n"));
    }
}
