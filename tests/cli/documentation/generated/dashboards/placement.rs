//! The dashboard of placement.

use super::{Panel, Section};

pub(super) const SECTIONS: &[Section] = &[
    ("Headroom", HEADROOM),
    ("Calls of kube-scheduler", CALLS),
    ("Score labels", SCORE_LABELS),
    ("Why", REASONS),
];

const HEADROOM: &[Panel] = &[
    Panel::chart(
        "Pods that wait for headroom",
        "short",
        &[("max(evenkeel_refused_pods)", "Pods")],
    ),
    Panel::chart(
        "Longest wait for headroom",
        "s",
        &[("max(evenkeel_refused_pods_oldest_seconds)", "longest")],
    ),
    Panel::chart(
        "Overloaded nodes",
        "short",
        &[("max(evenkeel_overloaded_nodes)", "nodes")],
    ),
    Panel::chart(
        "Nodes by freshness of their measurement",
        "short",
        &[(
            "max by (resource, freshness) (evenkeel_metrics_nodes)",
            "{{resource}} {{freshness}}",
        )],
    ),
];

const CALLS: &[Panel] = &[
    Panel::chart(
        "Calls of kube-scheduler",
        "reqps",
        &[(
            "sum by (verb, outcome) (rate(evenkeel_extender_calls_total[5m]))",
            "{{verb}} {{outcome}}",
        )],
    ),
    Panel::chart(
        "Time for a call, 99th percentile",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (le, verb) (rate(evenkeel_extender_duration_seconds_bucket[5m])))",
            "{{verb}}",
        )],
    ),
    Panel::chart(
        "Choices that kube-scheduler reported",
        "short",
        &[(
            "sum by (end) (rate(evenkeel_extender_choices_total[5m]))",
            "{{end}}",
        )],
    ),
    Panel::chart(
        "Pods on their way",
        "short",
        &[("max(evenkeel_pods_in_flight)", "Pods")],
    ),
];

const SCORE_LABELS: &[Panel] = &[
    Panel::chart(
        "Shapes with score labels",
        "short",
        &[("max(evenkeel_score_label_shapes)", "shapes")],
    )
    .described("At most 32 shapes have labels at once. 0 if score labels are off."),
    Panel::chart(
        "Nodes whose score labels lag",
        "short",
        &[("max(evenkeel_score_label_nodes_behind)", "nodes")],
    )
    .described("Nodes whose labels differ from the last computed levels. The leader patches 50 nodes a second."),
    Panel::chart(
        "Changes of score labels",
        "cps",
        &[(
            "sum(rate(evenkeel_score_label_changes_total[5m]))",
            "labels set, changed or removed",
        )],
    )
    .described("Each change makes kube-scheduler try waiting Pods again."),
    Panel::chart(
        "New Pods: score terms, or why not",
        "cps",
        &[(
            "sum by (outcome) (rate(evenkeel_score_terms_total[5m]))",
            "{{outcome}}",
        )],
    ),
];

const REASONS: &[Panel] = &[
    Panel::chart(
        "Nodes refused, by resource",
        "cps",
        &[(
            "sum by (resource) (rate(evenkeel_extender_nodes_refused_total[5m]))",
            "{{resource}}",
        )],
    )
    .described("A node counts for each resource that has no headroom for the Pod."),
    Panel::chart(
        "Admission reviews by outcome",
        "cps",
        &[(
            "sum by (outcome) (rate(evenkeel_admission_reviews_total[5m]))",
            "{{outcome}}",
        )],
    ),
    Panel::chart(
        "Profiles of new Pods",
        "cps",
        &[(
            "sum by (profile) (rate(evenkeel_admission_profiles_total[5m]))",
            "{{profile}}",
        )],
    ),
    Panel::chart(
        "Scale-ins left alone, by reason",
        "cps",
        &[(
            "sum by (reason) (rate(evenkeel_scale_ins_left_alone_total[5m]))",
            "{{reason}}",
        )],
    ),
];
