//! The dashboard of operation.

use super::{Panel, Section};

pub(super) const SECTIONS: &[Section] = &[("Operation", OPERATION)];

const OPERATION: &[Panel] = &[
    Panel::chart("Leader", "short", &[("evenkeel_leader", "{{pod}}")]),
    Panel::chart(
        "Writes are enabled",
        "bool",
        &[("evenkeel_writes_enabled", "{{pod}}")],
    ),
    Panel::chart(
        "Writes",
        "wps",
        &[(
            "sum by (purpose, outcome) (rate(evenkeel_writes_total[5m]))",
            "{{purpose}} {{outcome}}",
        )],
    ),
    Panel::chart(
        "Failed queries",
        "short",
        &[(
            "sum by (query, reason) (rate(evenkeel_metrics_query_failures_total[5m]))",
            "{{query}} {{reason}}",
        )],
    ),
    Panel::chart(
        "Age of the newest measurement",
        "s",
        &[("evenkeel_metrics_sample_age_seconds", "{{pod}}")],
    ),
    Panel::chart(
        "Findings of the self-check",
        "short",
        &[(
            "max by (reason) (evenkeel_metrics_self_check_findings)",
            "{{reason}}",
        )],
    ),
    Panel::chart(
        "Days until the certificate ends",
        "d",
        &[(
            "(min by (pod) (evenkeel_tls_certificate_not_after_seconds) - time()) / 86400",
            "{{pod}}",
        )],
    ),
    Panel::chart(
        "Requests answered without effect",
        "reqps",
        &[(
            "sum by (path) (rate(evenkeel_http_requests_shed_total[5m]))",
            "{{path}}",
        )],
    ),
    Panel::chart(
        "Watches that are refused",
        "short",
        &[("max by (kind) (evenkeel_watch_refused)", "{{kind}}")],
    ),
    Panel::chart(
        "Targets set aside after a panic",
        "short",
        &[("max(evenkeel_scaling_targets_quarantined)", "targets")],
    ),
];
