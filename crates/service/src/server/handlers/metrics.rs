//! Counters of the answers: kube-scheduler itself shows nothing of its extenders.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use evenkeel_clock as clock;
use evenkeel_units::{Resource, ResourceSet, Resources, words};
use jiff::Timestamp;

use crate::server::{BufferedRequest, paths};
use crate::telemetry::Registry;
use crate::telemetry::metric_families::families;

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

families! {
    pub(super) struct AnswerMetrics {
        reviews: Counter[outcome] = "admission_reviews", "Admission reviews by outcome";
        profiles: Counter[profile] = "admission_profiles", "Pods annotated, by profile";
        score_terms: Counter[outcome] = "score_terms",
            "New Pods by whether they got score terms, or the reason why not";
        calls: Counter[verb, outcome] = "extender_calls",
            "Calls of kube-scheduler by verb and outcome";
        latency: Histogram(LATENCIES)[verb] = "extender_duration_seconds",
            "Time from the request's head to the decision";
        waits: Counter[ended] = "extender_filter_waits",
            "Waits of filter for the report of the last Pod's node, by their end";
        passed: Counter = "extender_nodes_passed", "Nodes that passed the headroom rule";
        refused: Counter[resource] = "extender_nodes_refused",
            "Nodes refused because of a resource; a node counts for each such resource";
        full_nodes: Counter = "extender_full_node_calls",
            "Calls with whole node objects: set nodeCacheCapable: true in kube-scheduler's \
             configuration";
        unknown_nodes: Counter = "extender_nodes_unknown",
            "Nodes in calls of kube-scheduler that no watch has shown yet";
        since_last_call: FloatGauge = "extender_seconds_since_last_call",
            "Seconds since kube-scheduler last called; -1 if it never has";
    }
}

#[derive(Debug, Clone)]
pub struct HandlerMetrics {
    answers: AnswerMetrics,
    last_call: Arc<AtomicI64>,
}

impl Default for HandlerMetrics {
    fn default() -> Self {
        Self {
            answers: AnswerMetrics::default(),
            last_call: Arc::new(AtomicI64::new(i64::MIN)),
        }
    }
}

impl HandlerMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        self.answers.register(registry);
    }

    /// Brings the age of the last call up to date.
    #[allow(clippy::cast_precision_loss)] // seconds since a start, far below 2^53
    pub fn observe(&self, now: Timestamp) {
        let last = self.last_call.load(Ordering::Relaxed);
        self.answers.since_last_call.set(if last == i64::MIN {
            -1.0
        } else {
            now.as_second().saturating_sub(last) as f64
        });
    }

    pub(super) fn admission(&self, outcome: &'static str) {
        self.answers.reviews(outcome).inc();
    }

    pub(super) fn score_terms(&self, outcome: &'static str) {
        self.answers.score_terms(outcome).inc();
    }

    pub(super) fn profile(&self, profile: &str) {
        self.answers.profiles(profile.to_owned()).inc();
    }

    pub(super) fn extender(&self, verb: Verb, outcome: &'static str, call: &BufferedRequest) {
        let verb = verb.as_str();
        self.answers.calls(verb, outcome).inc();
        let took = clock::instant().duration_since(call.started);
        self.answers.latency(verb).observe(took.as_secs_f64());
        self.last_call
            .store(clock::now().as_second(), Ordering::Relaxed);
    }

    pub(super) fn waited(&self, told: bool) {
        let ended = if told { "told" } else { "late" };
        self.answers.waits(ended).inc();
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
        self.answers.passed.inc_by(passed);
        for (resource, &count) in counts.iter() {
            if count > 0 {
                self.answers.refused(resource.as_str()).inc_by(count);
            }
        }
    }

    pub(super) fn unknown_nodes(&self, nodes: usize) {
        self.answers
            .unknown_nodes
            .inc_by(u64::try_from(nodes).unwrap_or(u64::MAX));
    }

    pub(super) fn full_nodes(&self) {
        self.answers.full_nodes.inc();
    }
}
