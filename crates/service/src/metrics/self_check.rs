//! Checks that measurements and the cluster's nodes have the same names, and advises if not. A node
//! without series is scheduled by estimates, as if Evenkeel did nothing. So names are compared,
//! labels of real series are searched for one that names the nodes, and each finding names a
//! setting or relabelling. A label is advised only if every metric of the probe carries it: one of
//! a single metric would blind all other queries.

mod wording;

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_units::Resource;
use jiff::{SignedDuration, Timestamp};

use super::query::UsageQuery;
use super::rejected_samples::DropCause;
use super::round::MetricsRound;
use super::series::{LabelSet, without_port};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    pub name: String,
    /// Its addresses by type, such as `InternalIP`.
    pub addresses: Vec<(String, String)>,
}

/// Something about the measuring that an operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsFinding {
    /// No series that could name a node was found.
    NoSeries,
    /// Nodes without any measurement.
    Unmeasured {
        nodes: Vec<String>,
        /// Number of all nodes.
        of: usize,
    },
    /// A resource that is measured of no node at all, while others are.
    ResourceUnmeasured { resource: Resource },
    ResourcePartlyUnmeasured {
        resource: Resource,
        nodes: Vec<String>,
        of: usize,
    },
    /// A resource that is measured of nodes, and of no Pod.
    PodResourceUnmeasured { resource: Resource },
    /// Nodes with a newest measurement that was old, or of a time to come, on arrival.
    ClockOff {
        nodes: Vec<String>,
        of: usize,
        /// The age of the newest of them, to the minute; below zero for a time to come.
        minutes: i64,
    },
    /// Measured names that are no node's.
    Unmatched { names: Vec<String> },
    /// A label with the names of nodes as its values.
    UseLabel {
        label: String,
        names: usize,
        of: usize,
    },
    /// A label holds addresses of nodes, and none holds their names.
    AddressOnly {
        label: String,
        value: String,
        node: String,
        kind: String,
    },
    /// Nodes or Pods of which several series speak.
    SeveralSeries {
        /// Number of series beside those that were taken.
        others: u64,
        queries: Vec<String>,
    },
    /// The source says that answers of its own lack something.
    PartialAnswers {
        /// The source's warning about the first of them.
        first: String,
        queries: Vec<String>,
    },
}

impl MetricsFinding {
    /// All that [`MetricsFinding::reason`] gives.
    pub const REASONS: [&str; 11] = [
        "NoSeries",
        "NodesUnmeasured",
        "ResourceUnmeasured",
        "ResourcePartlyUnmeasured",
        "PodResourceUnmeasured",
        "ClockOff",
        "NamesUnmatched",
        "UseLabel",
        "AddressOnly",
        "SeveralSeries",
        "PartialAnswers",
    ];

    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoSeries => "NoSeries",
            Self::Unmeasured { .. } => "NodesUnmeasured",
            Self::ResourceUnmeasured { .. } => "ResourceUnmeasured",
            Self::ResourcePartlyUnmeasured { .. } => "ResourcePartlyUnmeasured",
            Self::PodResourceUnmeasured { .. } => "PodResourceUnmeasured",
            Self::ClockOff { .. } => "ClockOff",
            Self::Unmatched { .. } => "NamesUnmatched",
            Self::UseLabel { .. } => "UseLabel",
            Self::AddressOnly { .. } => "AddressOnly",
            Self::SeveralSeries { .. } => "SeveralSeries",
            Self::PartialAnswers { .. } => "PartialAnswers",
        }
    }
}

/// The findings from a comparison of the names in `round` with those of the cluster's nodes.
pub fn compare(names: &BTreeSet<&str>, round: &MetricsRound) -> Vec<MetricsFinding> {
    let measured = names_in(round);
    let owned = |names: Vec<&&str>| names.into_iter().map(|name| (*name).to_owned()).collect();
    let unmeasured: Vec<String> = owned(names.difference(&measured).collect());
    let unmatched: Vec<String> = owned(measured.difference(names).collect());
    let mut findings = Vec::new();
    if unmeasured.is_empty() {
        findings.extend(unmeasured_resources(round));
    } else {
        findings.push(MetricsFinding::Unmeasured {
            nodes: unmeasured,
            of: names.len(),
        });
    }
    findings.extend(partly_unmeasured_resources(names, round));
    findings.extend(unmeasured_resources_of_pods(round));
    if !unmatched.is_empty() {
        findings.push(MetricsFinding::Unmatched { names: unmatched });
    }
    findings.extend(several_series(round));
    findings.extend(partial_answers(round));
    findings
}

/// Advice for nodes that are not measured, from the labels of the `series` of a probe.
pub fn advise(
    nodes: &[NodeIdentity],
    round: &MetricsRound,
    series: &[LabelSet],
) -> Option<MetricsFinding> {
    let measured = names_in(round);
    let found = nodes.iter().filter(|node| measured.contains(&*node.name));
    better_label(nodes, series, found.count())
}

/// The names of nodes in the measurements; those of kubelets are the cluster's own names.
fn names_in(round: &MetricsRound) -> BTreeSet<&str> {
    let by_kubelets = has_asked(round, |query| query == UsageQuery::KubeletDisk);
    let columns = round.usage.nodes.iter();
    let of_source = columns.filter(|(resource, _)| !by_kubelets || *resource != Resource::Disk);
    let names = of_source.flat_map(|(_, column)| column.keys());
    names.map(|name| &**name).collect()
}

fn has_asked(round: &MetricsRound, which: impl Fn(UsageQuery) -> bool) -> bool {
    round.reports.iter().any(|report| which(report.query))
}

fn has_answered(round: &MetricsRound, which: impl Fn(UsageQuery) -> bool) -> bool {
    let mut answered = round.reports.iter().filter(|report| report.error.is_none());
    answered.any(|report| which(report.query))
}

fn partial_answers(round: &MetricsRound) -> Option<MetricsFinding> {
    let warned = round
        .reports
        .iter()
        .filter_map(|report| Some((report.query.as_str().to_owned(), report.warning.clone()?)));
    let (queries, warnings): (Vec<String>, Vec<String>) = warned.unzip();
    let first = warnings.into_iter().next()?;
    Some(MetricsFinding::PartialAnswers { first, queries })
}

fn several_series(round: &MetricsRound) -> Option<MetricsFinding> {
    let counts = round.reports.iter().map(|report| {
        let others = report.dropped.count(DropCause::Ambiguous);
        (report.query.as_str(), others)
    });
    let doubled: Vec<_> = counts.filter(|(_, others)| *others > 0).collect();
    (!doubled.is_empty()).then(|| MetricsFinding::SeveralSeries {
        others: doubled.iter().map(|(_, others)| others).sum(),
        queries: doubled
            .iter()
            .map(|(query, _)| (*query).to_owned())
            .collect(),
    })
}

/// The resources that no node has although they were asked for, where nodes have others.
fn unmeasured_resources(round: &MetricsRound) -> impl Iterator<Item = MetricsFinding> + '_ {
    let columns = &round.usage.nodes;
    let any = columns.values().iter().any(|column| !column.is_empty());
    let asked = |resource| {
        let by_kubelets = |query| resource == Resource::Disk && query == UsageQuery::KubeletDisk;
        has_asked(round, |query| {
            query == UsageQuery::Node(resource) || by_kubelets(query)
        })
    };
    Resource::ALL
        .into_iter()
        .filter(move |resource| any && columns[*resource].is_empty() && asked(*resource))
        .map(|resource| MetricsFinding::ResourceUnmeasured { resource })
}

/// The resources that some nodes lack although others have them. Disk use comes from one kubelet
/// after another.
fn partly_unmeasured_resources<'a>(
    names: &'a BTreeSet<&str>,
    round: &'a MetricsRound,
) -> impl Iterator<Item = MetricsFinding> + 'a {
    let measured = names_in(round);
    let asked = |resource| has_asked(round, |query| query == UsageQuery::Node(resource));
    let resources = Resource::ALL.into_iter().filter(move |resource| {
        *resource != Resource::Disk && asked(*resource) && !round.usage.nodes[*resource].is_empty()
    });
    resources.filter_map(move |resource| {
        let column = &round.usage.nodes[resource];
        let lacking = names.intersection(&measured);
        let lacking = lacking.filter(|name| !column.contains_key(**name));
        let nodes: Vec<String> = lacking.map(|name| (*name).to_owned()).collect();
        (!nodes.is_empty()).then_some(MetricsFinding::ResourcePartlyUnmeasured {
            resource,
            nodes,
            of: names.len(),
        })
    })
}

/// The resources that nodes have and no Pod has, although both were asked for and Pods have others.
fn unmeasured_resources_of_pods(round: &MetricsRound) -> impl Iterator<Item = MetricsFinding> + '_ {
    let (nodes, pods) = (&round.usage.nodes, &round.usage.pods);
    let any = pods.values().iter().any(|column| !column.is_empty());
    let asked = |resource| has_answered(round, |query| query == UsageQuery::Pod(resource));
    let lacking = Resource::ALL.into_iter().filter(move |resource| {
        any && pods[*resource].is_empty() && !nodes[*resource].is_empty() && asked(*resource)
    });
    lacking.map(|resource| MetricsFinding::PodResourceUnmeasured { resource })
}

/// The finding that a clock is off: measurements of nodes are new to the source, and not of `now`.
pub fn clocks(
    round: &MetricsRound,
    now: Timestamp,
    max_age: SignedDuration,
) -> Option<MetricsFinding> {
    // Where the source does not answer, what it said before grows old.
    if !has_answered(round, |query| {
        matches!(
            query,
            UsageQuery::SampleTime(Resource::Cpu) | UsageQuery::NodeMetrics
        )
    }) {
        return None;
    }
    let cpu = &round.usage.nodes[Resource::Cpu];
    let age = |at: Timestamp| now.duration_since(at);
    let off = cpu
        .iter()
        .filter(|(_, measured)| age(measured.at).abs() > max_age);
    let newest = off.clone().map(|(_, measured)| measured.at).max()?;
    let mut nodes: Vec<String> = off.map(|(name, _)| name.to_string()).collect();
    nodes.sort_unstable();
    Some(MetricsFinding::ClockOff {
        nodes,
        of: cpu.len(),
        minutes: (age(newest).as_secs() + 30).div_euclid(60),
    })
}

/// The label that names more nodes than the `matched` ones, in every metric's series, else one with
/// addresses.
fn better_label(
    nodes: &[NodeIdentity],
    series: &[LabelSet],
    matched: usize,
) -> Option<MetricsFinding> {
    if series.is_empty() {
        return Some(MetricsFinding::NoSeries);
    }
    let named = named_by_all(nodes, series);
    match named.iter().max_by_key(|(_, nodes)| nodes.len()) {
        Some((label, found)) if found.len() > matched => Some(MetricsFinding::UseLabel {
            label: (*label).to_owned(),
            names: found.len(),
            of: nodes.len(),
        }),
        Some(_) => None,
        None => address_label(nodes, series),
    }
}

/// The nodes that each label names in the series of all metrics, where these are several.
fn named_by_all<'a>(
    nodes: &'a [NodeIdentity],
    series: &'a [LabelSet],
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let names: BTreeSet<&str> = nodes.iter().map(|node| &*node.name).collect();
    let mut by_metric: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for labels in series {
        let metric = labels.get("__name__").map_or("", |name| &**name);
        let found = by_metric.entry(metric).or_default();
        for (label, value) in labels {
            if let Some(name) = names.get(&**value) {
                found.entry(label).or_default().insert(name);
            }
        }
    }
    if by_metric.len() < 2 {
        return BTreeMap::new();
    }
    let all = by_metric.into_values().reduce(|mut known, other| {
        known.retain(|label, nodes| {
            let there = other.get(label);
            nodes.retain(|node| there.is_some_and(|there| there.contains(node)));
            !nodes.is_empty()
        });
        known
    });
    all.unwrap_or_default()
}

fn address_label(nodes: &[NodeIdentity], series: &[LabelSet]) -> Option<MetricsFinding> {
    let mut owners = BTreeMap::new();
    for node in nodes {
        for (kind, address) in &node.addresses {
            owners.insert(&**address, (node, kind));
        }
    }
    series.iter().flatten().find_map(|(label, value)| {
        let (node, kind) = owners.get(without_port(value))?;
        Some(MetricsFinding::AddressOnly {
            label: label.clone(),
            value: value.clone(),
            node: node.name.clone(),
            kind: (*kind).clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_metrics::usage::NodeSample;
    use evenkeel_units::{Amount, Resources};

    use super::*;
    use crate::metrics::rejected_samples::RejectedSamples;
    use crate::metrics::round::QueryReport;

    fn nodes(count: usize) -> Vec<NodeIdentity> {
        (1..=count)
            .map(|number| NodeIdentity {
                name: format!("node-{number}"),
                addresses: vec![("InternalIP".to_owned(), format!("10.0.0.{number}"))],
            })
            .collect()
    }

    fn measured(names: &[&str]) -> MetricsRound {
        let measurement = NodeSample {
            value: Amount::ZERO,
            at: Timestamp::UNIX_EPOCH,
            window: SignedDuration::ZERO,
        };
        let mut round = MetricsRound::default();
        for name in names {
            let row = Resources::from_fn(|_| Some(measurement));
            Arc::make_mut(&mut round.usage).insert_node(*name, &row);
        }
        round
    }

    fn series(labels: &[(&str, &str)]) -> LabelSet {
        labels
            .iter()
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn report(query: UsageQuery, dropped: RejectedSamples) -> QueryReport {
        QueryReport {
            query,
            took: std::time::Duration::ZERO,
            dropped,
            warning: None,
            error: None,
        }
    }

    fn texts(findings: &[MetricsFinding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    /// Everything that is found, with the advice where nodes are not measured.
    fn check(
        nodes: &[NodeIdentity],
        round: &MetricsRound,
        series: &[LabelSet],
    ) -> Vec<MetricsFinding> {
        let names = nodes.iter().map(|node| &*node.name).collect();
        let mut found = compare(&names, round);
        let unmeasured =
            |finding: &MetricsFinding| matches!(finding, MetricsFinding::Unmeasured { .. });
        if found.iter().any(unmeasured) {
            found.extend(advise(nodes, round, series));
        }
        found
    }

    #[test]
    fn a_cluster_measured_whole_has_no_findings() {
        assert_eq!(check(&nodes(2), &measured(&["node-1", "node-2"]), &[]), []);
    }

    #[test]
    fn the_label_that_names_the_nodes_is_recommended() {
        let findings = check(
            &nodes(2),
            &measured(&["10.0.0.1", "10.0.0.2"]),
            &[
                // The host name stands in one metric alone.
                series(&[
                    ("__name__", "node_uname_info"),
                    ("instance", "10.0.0.1:9100"),
                    ("host", "node-1"),
                    ("nodename", "node-1"),
                ]),
                series(&[
                    ("__name__", "node_uname_info"),
                    ("instance", "10.0.0.2:9100"),
                    ("host", "node-2"),
                    ("nodename", "node-2"),
                ]),
                series(&[("__name__", "machine_memory_bytes"), ("host", "node-1")]),
                series(&[("__name__", "machine_memory_bytes"), ("host", "node-2")]),
            ],
        );
        assert_eq!(
            texts(&findings),
            [
                "2 of 2 nodes have no measurement and are scheduled by estimates: node-1, node-2",
                "2 measured names match no node of this cluster: 10.0.0.1, 10.0.0.2",
                "the label \"host\" holds the names of 2 of 2 nodes: set \
                 metrics.prometheus.nodeLabel: host",
            ]
        );
    }

    #[test]
    fn a_label_that_one_metric_carries_is_never_advised() {
        let host = |metric: &str, node: &str| series(&[("__name__", metric), ("host", node)]);
        let uname = |node: &str| series(&[("__name__", "node_uname_info"), ("nodename", node)]);
        let bare = series(&[("__name__", "machine_memory_bytes"), ("instance", "x")]);
        for (labels, advised) in [
            (vec![uname("node-1"), uname("node-2"), bare.clone()], None),
            (vec![uname("node-1"), uname("node-2")], None),
            // One of two nodes has it everywhere.
            (
                vec![
                    host("a", "node-1"),
                    host("a", "node-2"),
                    host("b", "node-1"),
                ],
                Some(1),
            ),
        ] {
            let found = advise(&nodes(2), &MetricsRound::default(), &labels);
            let names = match found {
                Some(MetricsFinding::UseLabel { names, .. }) => Some(names),
                _ => None,
            };
            assert_eq!(names, advised, "{labels:?}");
        }
    }

    #[test]
    fn where_only_addresses_are_told_the_scrape_job_must_name_the_node() {
        let findings = check(
            &nodes(1),
            &measured(&["10.0.0.1"]),
            &[series(&[("instance", "10.0.0.1:9100")])],
        );
        let last = texts(&findings).pop().unwrap();
        assert!(
            last.starts_with("instance=\"10.0.0.1:9100\" is the InternalIP of node \"node-1\""),
            "{last}"
        );
        assert!(last.contains("__meta_kubernetes_pod_node_name"), "{last}");
    }

    #[test]
    fn a_node_that_nobody_scrapes_gets_no_advice_about_labels() {
        let findings = check(
            &nodes(2),
            &measured(&["node-1"]),
            &[
                series(&[("__name__", "a"), ("node", "node-1")]),
                series(&[("__name__", "b"), ("node", "node-1")]),
            ],
        );
        let reasons: Vec<&str> = findings.iter().map(MetricsFinding::reason).collect();
        assert_eq!(reasons, ["NodesUnmeasured"]);
    }

    #[test]
    fn a_prometheus_without_the_exporters_is_named_as_such() {
        let findings = check(&nodes(1), &MetricsRound::default(), &[]);
        assert_eq!(findings.last(), Some(&MetricsFinding::NoSeries));
    }

    #[test]
    fn a_resource_without_any_value_is_named() {
        let mut round = measured(&["node-1"]);
        let columns = &mut Arc::make_mut(&mut round.usage).nodes;
        columns[Resource::Disk] = Arc::default();
        assert_eq!(check(&nodes(1), &round, &[]), [], "nobody asked for it");
        round
            .reports
            .push(report(UsageQuery::KubeletDisk, RejectedSamples::default()));
        let findings = check(&nodes(1), &round, &[]);
        let disk = Resource::Disk;
        assert_eq!(
            findings,
            [MetricsFinding::ResourceUnmeasured { resource: disk }]
        );
    }

    #[test]
    fn a_node_without_a_known_interface_is_named() {
        let mut round = measured(&["node-1", "node-2"]);
        let query = UsageQuery::Node(Resource::NetworkIo);
        round
            .reports
            .push(report(query, RejectedSamples::default()));
        assert_eq!(check(&nodes(2), &round, &[]), []);
        let columns = &mut Arc::make_mut(&mut round.usage).nodes;
        Arc::make_mut(&mut columns[Resource::NetworkIo]).remove("node-2");
        let told = texts(&check(&nodes(2), &round, &[]));
        assert_eq!(told.len(), 1, "{told:?}");
        let begin = "networkIo is not measured on 1 of 2 nodes, and is estimated there: node-2: ";
        assert!(told[0].starts_with(begin), "{told:?}");
        assert!(
            told[0].contains("metrics.prometheus.queries.nodeNetworkIo"),
            "{told:?}"
        );
        let columns = &mut Arc::make_mut(&mut round.usage).nodes;
        columns[Resource::NetworkIo] = Arc::default();
        let found = check(&nodes(2), &round, &[]);
        assert_eq!(
            found,
            [MetricsFinding::ResourceUnmeasured {
                resource: Resource::NetworkIo
            }]
        );
    }

    #[test]
    fn a_resource_that_no_container_runtime_tells_of_pods_is_named() {
        let mut round = measured(&["node-1"]);
        let pod = evenkeel_objects::pod_name::PodName::new("shop", "web");
        let mut used = Resources::default();
        used[Resource::Cpu] = Some(Amount::ZERO);
        Arc::make_mut(&mut round.usage).insert_pod(&pod, &used);
        for resource in [Resource::Cpu, Resource::NetworkIo, Resource::DiskIo] {
            let report = report(UsageQuery::Pod(resource), RejectedSamples::default());
            round.reports.push(report);
        }
        let told = texts(&check(&nodes(1), &round, &[]));
        assert_eq!(told.len(), 2, "{told:?}");
        for (told, why) in told.iter().zip(["included_pod_metrics", "node-agent"]) {
            assert!(told.contains("for no Pod") && told.contains(why), "{told}");
        }
    }

    #[test]
    fn a_clock_that_is_off_is_named_while_the_source_answers() {
        let mut round = measured(&["node-1", "node-2"]);
        let max_age = SignedDuration::from_mins(3);
        let at = |minutes: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        assert_eq!(clocks(&round, at(10), max_age), None, "it does not answer");
        let report = report(UsageQuery::NodeMetrics, RejectedSamples::default());
        round.reports.push(report);
        for (now, minutes) in [
            (-10, Some(-10)),
            (-3, None),
            (0, None),
            (3, None),
            (10, Some(10)),
        ] {
            let found = clocks(&round, at(now), max_age);
            let told = match &found {
                Some(MetricsFinding::ClockOff { nodes, minutes, .. }) => {
                    assert_eq!(nodes.len(), 2);
                    Some(*minutes)
                }
                _ => None,
            };
            assert_eq!(told, minutes, "{found:?}");
        }
        let text = clocks(&round, at(10), max_age).unwrap().to_string();
        assert!(text.contains("2 of 2 nodes is 10 minutes old"), "{text}");
        assert!(text.contains("a clock is wrong"), "{text}");
    }

    #[test]
    fn several_series_of_one_node_are_told_of_and_what_keeps_strangers_out() {
        let mut round = measured(&["node-1"]);
        for (query, others) in [
            (UsageQuery::Node(Resource::Cpu), 2),
            (UsageQuery::Pod(Resource::Cpu), 0),
        ] {
            let mut dropped = RejectedSamples::default();
            for _ in 0..others {
                dropped.add(DropCause::Ambiguous);
            }
            round.reports.push(report(query, dropped));
        }
        let told = texts(&check(&nodes(1), &round, &[]));
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("2 series describe"), "{told:?}");
        assert!(told[0].contains("(nodeCpu)"), "{told:?}");
        assert!(told[0].contains("metrics.prometheus.matchers"), "{told:?}");
    }

    #[test]
    fn a_node_that_only_its_kubelet_tells_of_is_not_measured() {
        let mut round = measured(&["node-1"]);
        let mut disk = Resources::default();
        disk[Resource::Disk] = round.usage.node("node-1")[Resource::Disk];
        Arc::make_mut(&mut round.usage).insert_node("node-2", &disk);
        round
            .reports
            .push(report(UsageQuery::KubeletDisk, RejectedSamples::default()));
        let told = texts(&check(&nodes(2), &round, &[]));
        assert!(
            told[0].starts_with("1 of 2 nodes have no measurement"),
            "{told:?}"
        );
    }

    #[test]
    fn warnings_of_the_source_are_told_with_what_it_warned_of() {
        let mut round = measured(&["node-1"]);
        for (query, warning) in [
            (UsageQuery::Node(Resource::Cpu), Some("store-2 is down")),
            (UsageQuery::Pod(Resource::Cpu), None),
        ] {
            round.reports.push(QueryReport {
                warning: warning.map(str::to_owned),
                ..report(query, RejectedSamples::default())
            });
        }
        let told = texts(&check(&nodes(1), &round, &[]));
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("(nodeCpu): store-2 is down"), "{told:?}");
    }

    #[test]
    fn long_lists_are_cut() {
        let findings = check(&nodes(7), &MetricsRound::default(), &[]);
        let text = findings[0].to_string();
        assert!(text.ends_with("node-5 and 2 more"), "{text}");
    }
}
