//! The series that loads are made of: those of a resource that Prometheus measures of no node, by name.

use super::evidence::{Evidence, Found};
use super::measuring;
use crate::doctor::Finding;
use crate::metrics::prometheus::series_names;
use crate::metrics::{Query, Source};

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
        let mut names = series_names(&query.value);
        // Counters carry the load; what only says which of them count comes after.
        names.sort_by_key(|name| !name.ends_with("_total"));
        let first = names.first().copied().unwrap_or_default();
        let names = names.join(", ");
        let noun = resource.noun();
        let field = Query::Node(resource).as_str();
        let finding = Finding::warning(
            SERIES,
            format!("Prometheus has no series of the {noun} of nodes"),
            format!(
                "make Prometheus scrape their exporter, or set metrics.prometheus.queries.{field}; \
                 in Prometheus, count({first}) shows whether it has the series"
            ),
        );
        found.push(finding.seen_by(format!("series: {names}")));
    }
    if found.is_empty() {
        let what = "Prometheus has the series of every resource that Evenkeel queries";
        found.push(Finding::ok(SERIES, what));
    }
    Ok(found)
}
