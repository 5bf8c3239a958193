//! Measurements: each node's load must be measured under the node's own name, and its capacity
//! known.

use evenkeel_objects::annotations::{DISK_IO_CAPACITY, NETWORK_CAPACITY};
use evenkeel_units::{Resource, Resources};

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::named;
use crate::doctor::DoctorFinding;
use evenkeel_service::metrics::MetricsSourceSettings;
use evenkeel_service::metrics::exposition::Exposition;

pub(super) const FRESH: &str = "measurements";
pub(super) const NAMES: &str = "measured-names";
pub(super) const CAPACITY: &str = "capacity";

#[derive(Debug, Clone, Copy, PartialEq)]
struct MeasuredNodeCounts {
    fresh: f64,
    all: f64,
}

impl MeasuredNodeCounts {
    fn of(page: &Exposition, resource: Resource) -> Self {
        let nodes =
            |labels: &[(&str, &str)]| page.sum("evenkeel_metrics_nodes", labels).unwrap_or(0.0);
        let resource = ("resource", resource.as_str());
        Self {
            fresh: nodes(&[resource, ("freshness", "fresh")]),
            all: nodes(&[resource]),
        }
    }
}

pub(super) fn fresh(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(FRESH, "what is measured")?;
    let source = evidence.config().map(|config| &config.metrics.source);
    if matches!(source, Some(MetricsSourceSettings::None)) {
        return Ok(vec![DoctorFinding::info(
            FRESH,
            "nothing is measured (metrics.source: none): loads are sums of requests",
            "set metrics.source: prometheus and metrics.prometheus.url in the configuration",
        )]);
    }
    let least = least(pages);
    let expected = |resource: &Resource| source.is_none_or(|source| source.measures(*resource));
    let lacking: Vec<(Resource, MeasuredNodeCounts)> = Resource::ALL
        .into_iter()
        .filter(expected)
        .filter_map(|resource| Some((resource, least[resource]?)))
        .filter(|(_, measured)| measured.fresh < measured.all || measured.all == 0.0)
        .collect();
    Ok(vec![if lacking.is_empty() {
        DoctorFinding::ok(FRESH, "the load of every node is freshly measured")
    } else {
        stale(evidence, &lacking, source)
    }])
}

/// The counts of the replica with the fewest fresh nodes: it may be the one that is asked.
fn least(pages: &[(&str, Exposition)]) -> Resources<Option<MeasuredNodeCounts>> {
    Resources::from_fn(|resource| {
        let of_page = |(_, page): &(&str, Exposition)| MeasuredNodeCounts::of(page, resource);
        let least =
            |a: MeasuredNodeCounts, b: MeasuredNodeCounts| if b.fresh < a.fresh { b } else { a };
        pages.iter().map(of_page).reduce(least)
    })
}

/// The resources that are freshly measured of no node, where there are nodes.
pub(super) fn unmeasured(pages: &[(&str, Exposition)]) -> Vec<Resource> {
    let least = least(pages);
    let is_unmeasured = |resource: &Resource| {
        least[*resource].is_some_and(|measured| measured.all > 0.0 && measured.fresh <= 0.0)
    };
    Resource::ALL.into_iter().filter(is_unmeasured).collect()
}

fn stale(
    evidence: &Evidence<'_>,
    lacking: &[(Resource, MeasuredNodeCounts)],
    source: Option<&MetricsSourceSettings>,
) -> DoctorFinding {
    let shown: Vec<String> = lacking
        .iter()
        .map(|(resource, MeasuredNodeCounts { fresh, all })| {
            format!("{} of {fresh} of {all} nodes", resource.noun())
        })
        .collect();
    let what = format!(
        "fresh measurements: {}; other loads are estimated from requests",
        shown.join(", ")
    );
    let fix = source.unwrap_or(&MetricsSourceSettings::None).advice();
    let nothing = lacking.iter().all(|(_, measured)| measured.fresh == 0.0);
    let finding = if nothing {
        DoctorFinding::error(FRESH, what, fix)
    } else {
        DoctorFinding::warning(FRESH, what, fix)
    };
    finding.seen_by(failures(evidence))
}

fn failures(evidence: &Evidence<'_>) -> String {
    let name = "evenkeel_metrics_query_failures_total";
    let mut reasons: Vec<&str> = evidence
        .pages
        .iter()
        .flat_map(|(_, page)| page.by_label(name, "reason"))
        .filter(|(_, count)| *count > 0.0)
        .map(|(reason, _)| reason)
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() {
        return String::new();
    }
    format!("queries failed: {}", named(&reasons))
}

pub(super) fn names(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(NAMES, "the names that are measured")?;
    let name = "evenkeel_metrics_self_check_findings";
    let told = |found: bool| {
        let reasons = pages
            .iter()
            .flat_map(|(_, page)| page.by_label(name, "reason"));
        reasons.filter(move |(_, value)| (*value > 0.0) == found)
    };
    let mut reasons: Vec<&str> = told(true).map(|(reason, _)| reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() {
        // Only Prometheus and the metrics API are checked, and only once they have answered.
        let checked = told(false).next().is_some();
        let finding =
            checked.then(|| DoctorFinding::ok(NAMES, "measured names are names of nodes"));
        return Ok(finding.into_iter().collect());
    }
    let logs = evidence
        .kubectl("logs -l app.kubernetes.io/name=evenkeel --tail=-1 | grep 'metrics self-check'");
    let warn = |reason| {
        let (what, advice) = explained(reason);
        DoctorFinding::warning(NAMES, what, format!("{advice}; {logs} names them")).seen_by(reason)
    };
    Ok(reasons.into_iter().map(warn).collect())
}

/// Fact and fix for a reason of the service's own check of names.
fn explained(reason: &str) -> (&'static str, &'static str) {
    match reason {
        "NoSeries" => (
            "Prometheus holds no series of node_exporter or cAdvisor",
            "let it scrape both, and check metrics.prometheus.url",
        ),
        "NodesUnmeasured" => (
            "nodes have no measurement",
            "make the metrics source cover them: Prometheus with node_exporter and cAdvisor, or \
             metrics-server",
        ),
        "ResourceUnmeasured" => (
            "a resource is measured on no node",
            "check its exporter (node_exporter; for diskIo the agent of the component node-agent \
             too), or set its query in metrics.prometheus.queries",
        ),
        "ResourcePartlyUnmeasured" => (
            "a resource is not measured on some nodes (for networkIo: no interface there is \
             recognised as hardware)",
            "check the exporter there, or set its query in metrics.prometheus.queries",
        ),
        "PodResourceUnmeasured" => (
            "a resource is measured for no Pod: this container runtime exports no series of it",
            "for networkIo with CRI-O set included_pod_metrics, for diskIo install the component \
             node-agent",
        ),
        "ClockOff" => (
            "measurements are old when they arrive: a clock is wrong",
            "compare the clocks of the replicas, the nodes and the metrics source",
        ),
        "NamesUnmatched" => (
            "measured names match no node",
            "set metrics.prometheus.nodeLabel to the label that holds the node's name",
        ),
        "UseLabel" => (
            "another label holds the names of the nodes",
            "set metrics.prometheus.nodeLabel to it",
        ),
        "AddressOnly" => (
            "series carry addresses of nodes, and none carries their names",
            "relabel __meta_kubernetes_pod_node_name to node in the scrape job",
        ),
        "SeveralSeries" => (
            "several series describe the same node or Pod",
            "set metrics.prometheus.matchers to the jobs that scrape node_exporter and cAdvisor",
        ),
        "PartialAnswers" => (
            "Prometheus warns that its answers may be incomplete",
            "check its storage and rule evaluations; Evenkeel uses the answers all the same",
        ),
        _ => ("the check of names found something", "update this program"),
    }
}

pub(super) fn capacity(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(CAPACITY, "which capacities are known")?;
    let fields = [
        (
            Resource::NetworkIo,
            NETWORK_CAPACITY,
            "10Gbps",
            "network.capacity",
        ),
        (
            Resource::DiskIo,
            DISK_IO_CAPACITY,
            "500MB/s",
            "disk.ioCapacity",
        ),
    ];
    let mut found = Vec::new();
    for (resource, annotation, example, field) in fields {
        let labels = [("resource", resource.as_str())];
        let known = |(_, page): &(&str, Exposition)| {
            Some((
                page.sum("evenkeel_nodes_with_capacity", &labels)?,
                page.sum("evenkeel_metrics_nodes", &labels)?,
            ))
        };
        let least = pages
            .iter()
            .filter_map(known)
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((known, all)) = least.filter(|(known, all)| known < all) else {
            continue;
        };
        let noun = resource.noun();
        let node = unannotated(evidence, annotation).unwrap_or("NODE");
        let rule = match resource {
            Resource::DiskIo => {
                ", and refuses Pods only while tasks wait for the disks (I/O pressure)"
            }
            _ => " and no rule",
        };
        found.push(DoctorFinding::warning(
            CAPACITY,
            format!(
                "the {noun} capacity of {known} of {all} nodes is known: on the others {noun} \
                 counts in no score{rule}"
            ),
            format!(
                "kubectl annotate node {node} {annotation}={example}, or set in the configuration \
                 scheduling.capacities for types of nodes, or {field}: {example} for all nodes"
            ),
        ));
    }
    if found.is_empty() {
        found.push(DoctorFinding::ok(
            CAPACITY,
            "the network and disk I/O capacity of every node is known",
        ));
    }
    Ok(found)
}

fn unannotated<'a>(evidence: &Evidence<'a>, annotation: &str) -> Option<&'a str> {
    let nodes = evidence.seen.nodes.there()?;
    let node = nodes
        .iter()
        .find(|node| node.metadata.annotation(annotation).is_none());
    Some(node?.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_service::metrics::self_check::MetricsFinding as NameFinding;

    #[test]
    fn every_finding_of_the_service_is_explained() {
        for reason in NameFinding::REASONS {
            assert_ne!(explained(reason), explained("Unknown"), "{reason}");
        }
    }
}
