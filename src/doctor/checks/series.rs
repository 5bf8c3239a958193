//! The series that loads are made of: those of a resource that Prometheus measures of no node, by name.

use super::evidence::{Evidence, Found};
use super::measuring;
use crate::doctor::Finding;
use crate::metrics::Source;
use crate::metrics::prometheus::series_names;

pub(super) const SERIES: &str = "prometheus-series";

pub(super) fn check(evidence: &Evidence<'_>) -> Found {
    let pages = evidence.pages(SERIES, "which series Prometheus has")?;
    let Some(Source::Prometheus(prometheus)) =
        evidence.config().map(|config| &config.metrics.source)
    else {
        return Ok(Vec::new());
    };
    let unmeasured = measuring::unmeasured(pages);
    let mut found = Vec::new();
    for resource in unmeasured {
        let Some(query) = &prometheus.queries.nodes[resource] else {
            continue;
        };
        let names = series_names(&query.value).join(", ");
        found.push(Finding::warning(
            SERIES,
            format!("Prometheus answers nothing about the {} of nodes", resource.noun()),
            format!(
                "let Prometheus scrape what exports {names}, or set metrics.prometheus.queries.{}; in Prometheus, \
                 count({}) shows whether it has the series",
                crate::metrics::Query::Node(resource).as_str(),
                names.split(", ").next().unwrap_or_default()
            ),
        )
        .seen_by(format!("series: {names}")));
    }
    if found.is_empty() {
        let what = "Prometheus has the series of every resource that it is asked for";
        found.push(Finding::ok(SERIES, what));
    }
    Ok(found)
}
