//! Counters of the answers: kube-scheduler itself shows nothing of its extenders.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use evenkeel_clock as clock;
use evenkeel_units::{Resource, ResourceSet, Resources, words};
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::server::{BufferedRequest, paths};

/// From 50 µs, an answer for a hundred nodes, to the 200 ms after which the scheduler gives up.
const LATENCIES: [f64; 12] = [
    0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
];

words! {
    pub(super) enum Verb {
        Filter = "filter",
        Prioritize = "prioritize",
        Preempt = "preempt",
        Bind = "bind",
    }
}

impl Verb {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Filter => paths::FILTER,
            Self::Prioritize => paths::PRIORITIZE,
            Self::Preempt => paths::PREEMPT,
            Self::Bind => paths::BIND,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewOutcomeLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProfileLabel {
    profile: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    verb: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabel {
    verb: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabel {
    ended: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabel {
    resource: &'static str,
}

#[derive(Debug, Clone)]
pub struct HandlerMetrics {
    reviews: Family<ReviewOutcomeLabel, Counter>,
    profiles: Family<ProfileLabel, Counter>,
    calls: Family<CallLabels, Counter>,
    latency: Family<VerbLabel, Histogram>,
    waits: Family<EndLabel, Counter>,
    passed: Counter,
    refused: Family<ResourceLabel, Counter>,
    full_nodes: Counter,
    unknown_nodes: Counter,
    last_call: Arc<AtomicI64>,
    since_last_call: Gauge<f64, AtomicU64>,
}

impl Default for HandlerMetrics {
    fn default() -> Self {
        Self {
            reviews: Family::default(),
            profiles: Family::default(),
            calls: Family::default(),
            latency: Family::new_with_constructor(|| Histogram::new(LATENCIES)),
            waits: Family::default(),
            passed: Counter::default(),
            refused: Family::default(),
            full_nodes: Counter::default(),
            unknown_nodes: Counter::default(),
            last_call: Arc::new(AtomicI64::new(i64::MIN)),
            since_last_call: Gauge::default(),
        }
    }
}

impl HandlerMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "admission_reviews",
            "Admission reviews by outcome",
            self.reviews.clone(),
        );
        registry.register(
            "admission_profiles",
            "Pods annotated, by profile",
            self.profiles.clone(),
        );
        registry.register(
            "extender_calls",
            "Calls of kube-scheduler by verb and outcome",
            self.calls.clone(),
        );
        registry.register(
            "extender_duration_seconds",
            "Time from the request's head to the decision",
            self.latency.clone(),
        );
        registry.register(
            "extender_filter_waits",
            "Waits of filter for the report of the last Pod's node, by their end",
            self.waits.clone(),
        );
        registry.register(
            "extender_nodes_passed",
            "Nodes that passed the headroom rule",
            self.passed.clone(),
        );
        registry.register(
            "extender_nodes_refused",
            "Nodes refused because of a resource; a node counts for each such resource",
            self.refused.clone(),
        );
        registry.register(
            "extender_full_node_calls",
            "Calls with whole node objects: set nodeCacheCapable: true in kube-scheduler's \
             configuration",
            self.full_nodes.clone(),
        );
        registry.register(
            "extender_nodes_unknown",
            "Nodes in calls of kube-scheduler that no watch has shown yet",
            self.unknown_nodes.clone(),
        );
        registry.register(
            "extender_seconds_since_last_call",
            "Seconds since kube-scheduler last called; -1 if it never has",
            self.since_last_call.clone(),
        );
    }

    /// Brings the age of the last call up to date.
    #[allow(clippy::cast_precision_loss)] // seconds since a start, far below 2^53
    pub fn observe(&self, now: Timestamp) {
        let last = self.last_call.load(Ordering::Relaxed);
        self.since_last_call.set(if last == i64::MIN {
            -1.0
        } else {
            now.as_second().saturating_sub(last) as f64
        });
    }

    pub(super) fn admission(&self, outcome: &'static str) {
        self.reviews
            .get_or_create(&ReviewOutcomeLabel { outcome })
            .inc();
    }

    pub(super) fn profile(&self, profile: &str) {
        let label = ProfileLabel {
            profile: profile.to_owned(),
        };
        self.profiles.get_or_create(&label).inc();
    }

    pub(super) fn extender(&self, verb: Verb, outcome: &'static str, call: &BufferedRequest) {
        let verb = verb.as_str();
        self.calls
            .get_or_create(&CallLabels { verb, outcome })
            .inc();
        let took = clock::instant().duration_since(call.started);
        self.latency
            .get_or_create(&VerbLabel { verb })
            .observe(took.as_secs_f64());
        self.last_call
            .store(clock::now().as_second(), Ordering::Relaxed);
    }

    pub(super) fn waited(&self, told: bool) {
        let ended = if told { "told" } else { "late" };
        self.waits.get_or_create(&EndLabel { ended }).inc();
    }

    pub(super) fn verdicts(&self, refused: &[ResourceSet]) {
        let mut counts = Resources::<u64>::default();
        let mut passed = 0;
        for refused in refused {
            passed += u64::from(refused.is_empty());
            for resource in Resource::ALL {
                counts[resource] += u64::from(refused.contains(resource));
            }
        }
        self.passed.inc_by(passed);
        for (resource, &count) in counts.iter() {
            if count > 0 {
                let label = ResourceLabel {
                    resource: resource.as_str(),
                };
                self.refused.get_or_create(&label).inc_by(count);
            }
        }
    }

    pub(super) fn unknown_nodes(&self, nodes: usize) {
        self.unknown_nodes
            .inc_by(u64::try_from(nodes).unwrap_or(u64::MAX));
    }

    pub(super) fn full_nodes(&self) {
        self.full_nodes.inc();
    }
}
