//! The names of the series behind a resource that Prometheus measures for no node.

use super::evidence::{CheckFindings, Evidence};
use super::node_measurements;
use crate::doctor::DoctorFinding;
use evenkeel_service::metrics::UsageQuery;
use evenkeel_service::metrics::prometheus::series_names;

pub(super) const SERIES: &str = "prometheus-series";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(SERIES, "which series Prometheus has")?;
    let config = evidence.config();
    let Some(prometheus) = config.and_then(|config| config.metrics.source.prometheus()) else {
        return Ok(Vec::new());
    };
    let unmeasured = node_measurements::unmeasured(pages);
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
        let field = UsageQuery::Node(resource).as_str();
        let finding = DoctorFinding::warning(
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
        found.push(DoctorFinding::ok(SERIES, what));
    }
    Ok(found)
}
