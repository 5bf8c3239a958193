//! The dashboard of scaling. Every replica exports each target, so the largest value of a series counts.

use super::{Panel, Section};

pub(super) const SECTIONS: &[Section] = &[
    ("Floors", FLOORS),
    ("Why", REASONS),
    ("Forecasts", FORECASTS),
    ("Calendar, tuning and replica profiles", OTHERS),
];

const FLOORS: &[Panel] = &[
    Panel::chart(
        "Load and forecast",
        "short",
        &[
            (
                r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_load{namespace=~"$namespace", name=~"$name"})"#,
                "{{namespace}}/{{name}} {{resource}} load",
            ),
            (
                r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_forecast{namespace=~"$namespace", name=~"$name"})"#,
                "{{namespace}}/{{name}} {{resource}} forecast",
            ),
        ],
    ),
    Panel::chart(
        "Replicas: HPA, forecast and floor",
        "short",
        &[
            (
                r#"max by (namespace, kind, name) (evenkeel_scaling_target_replicas{namespace=~"$namespace", name=~"$name", of="current"})"#,
                "{{namespace}}/{{name}} current",
            ),
            (
                r#"max by (namespace, kind, name) (evenkeel_scaling_target_replicas{namespace=~"$namespace", name=~"$name", of="floor"})"#,
                "{{namespace}}/{{name}} floor",
            ),
            (
                r#"max by (namespace, kind, name) (evenkeel_scaling_target_replicas{namespace=~"$namespace", name=~"$name", of="decided"})"#,
                "{{namespace}}/{{name}} decided",
            ),
            (
                r#"max by (namespace, kind, name) (max by (namespace, kind, name, resource) (evenkeel_scaling_target_forecast{namespace=~"$namespace", name=~"$name"}) / (max by (namespace, kind, name, resource) (evenkeel_scaling_target_load{namespace=~"$namespace", name=~"$name"}) > 0)) * max by (namespace, kind, name) (evenkeel_scaling_target_replicas{namespace=~"$namespace", name=~"$name", of="current"})"#,
                "{{namespace}}/{{name}} forecast",
            ),
            (
                r#"max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_desired_replicas{namespace=~"$namespace", horizontalpodautoscaler=~"$name"})"#,
                "{{namespace}}/{{horizontalpodautoscaler}} HPA",
            ),
        ],
    )
    .described(
        "forecast: the current replicas times forecast / load. HPA: the count that the HPA asks for, from kube-state-metrics; this line is missing without it. A floor is part of that count.",
    ),
    Panel::chart(
        "Targets by floor",
        "short",
        &[
            (
                r#"count(max by (namespace, kind, name) (evenkeel_scaling_target_replicas{namespace=~"$namespace", name=~"$name", of="floor"})) or vector(0)"#,
                "with a floor",
            ),
            (
                r#"count(max by (namespace, kind, name) (evenkeel_scaling_target_grounds{namespace=~"$namespace", name=~"$name"}))"#,
                "all",
            ),
        ],
    ),
    Panel::chart(
        "Share of time under-provisioned",
        "percentunit",
        &[
            (
                r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_risk_achieved{namespace=~"$namespace", name=~"$name"})"#,
                "{{namespace}}/{{name}} {{resource}} measured",
            ),
            (
                r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_risk_asked{namespace=~"$namespace", name=~"$name"})"#,
                "{{namespace}}/{{name}} {{resource}} allowed",
            ),
        ],
    ),
];

const REASONS: &[Panel] = &[
    Panel::chart(
        "Decisions by the rule that limited them",
        "cps",
        &[(
            r#"sum by (limited_by) (max by (namespace, kind, name, limited_by) (rate(evenkeel_scaling_target_decisions_total{namespace=~"$namespace", name=~"$name"}[5m])))"#,
            "{{limited_by}}",
        )],
    )
    .described("The rule that kept a count from what the load asks for."),
    Panel::chart(
        "Targets by the basis of their decision",
        "short",
        &[(
            r#"count by (grounds) (max by (namespace, kind, name, grounds) (evenkeel_scaling_target_grounds{namespace=~"$namespace", name=~"$name"}) == 1)"#,
            "{{grounds}}",
        )],
    ),
    Panel::chart(
        "Conditions that report a problem",
        "short",
        &[
            (
                r#"count by (condition) (max by (namespace, kind, name, condition) (evenkeel_scaling_target_condition{namespace=~"$namespace", name=~"$name", condition!~"ForecastTrusted|WorthEnabling|MetricsAvailable|TrafficModel|AbleToScale|ScalingActive|ScalingLimited|ScaledToZero"}) == 1)"#,
                "{{condition}}",
            ),
            (
                r#"count by (condition) (max by (namespace, kind, name, condition) (evenkeel_scaling_target_condition{namespace=~"$namespace", name=~"$name", condition=~"ForecastTrusted|MetricsAvailable|TrafficModel|AbleToScale|ScalingActive"}) == 0)"#,
                "{{condition}} is False",
            ),
        ],
    ),
    Panel::table(
        "Targets with such a condition",
        &[(
            r#"max by (namespace, kind, name, condition) (evenkeel_scaling_target_condition{namespace=~"$namespace", name=~"$name", condition!~"ForecastTrusted|WorthEnabling|MetricsAvailable|TrafficModel|AbleToScale|ScalingActive|ScalingLimited|ScaledToZero"}) == 1 or max by (namespace, kind, name, condition) (evenkeel_scaling_target_condition{namespace=~"$namespace", name=~"$name", condition=~"ForecastTrusted|MetricsAvailable|TrafficModel|AbleToScale|ScalingActive"}) == 0"#,
            "",
        )],
    )
    .described(
        "The reason and the message are in the annotation evenkeel.dev/scaling-status of the object. docs/troubleshooting.md says what to do.",
    ),
];

const FORECASTS: &[Panel] = &[
    Panel::chart(
        "Forecast is used",
        "bool",
        &[(
            r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_forecast_trusted{namespace=~"$namespace", name=~"$name"})"#,
            "{{namespace}}/{{name}} {{resource}}",
        )],
    ),
    Panel::chart(
        "Error of the forecast against its rival",
        "short",
        &[(
            r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_forecast_ratio{namespace=~"$namespace", name=~"$name"})"#,
            "{{namespace}}/{{name}} {{resource}}",
        )],
    ),
    Panel::chart(
        "Share inside the 80 % interval",
        "percentunit",
        &[(
            r#"max by (namespace, kind, name, resource) (evenkeel_scaling_target_forecast_coverage{namespace=~"$namespace", name=~"$name"})"#,
            "{{namespace}}/{{name}} {{resource}}",
        )],
    ),
    Panel::chart(
        "Fits of models by outcome",
        "cps",
        &[
            (
                "sum by (outcome) (rate(evenkeel_scaling_own_fits_total[1h]))",
                "{{outcome}}",
            ),
            (
                "sum by (outcome) (rate(evenkeel_scaling_traffic_fits_total[1h]))",
                "traffic {{outcome}}",
            ),
        ],
    ),
];

const OTHERS: &[Panel] = &[
    Panel::chart(
        "CronHPAs",
        "short",
        &[
            ("max by (state) (evenkeel_scaling_cron_hpas)", "{{state}}"),
            (
                "sum by (outcome) (increase(evenkeel_scaling_cron_runs_total[1h]))",
                "runs {{outcome}} in an hour",
            ),
        ],
    ),
    Panel::chart(
        "Resizes in place",
        "cps",
        &[(
            "sum by (reason) (rate(evenkeel_tuning_resizes_total[15m]))",
            "{{reason}}",
        )],
    ),
    Panel::chart(
        "Containers left as they are, by reason",
        "cps",
        &[(
            "sum by (reason) (rate(evenkeel_tuning_unchanged_total[15m]))",
            "{{reason}}",
        )],
    ),
    Panel::chart(
        "Pods out of traffic and their gates",
        "short",
        &[
            (
                "max(evenkeel_online_conditions_awaited)",
                "Pods that wait for their gate",
            ),
            (
                "max by (state) (evenkeel_replica_profiles)",
                "ReplicaProfiles {{state}}",
            ),
        ],
    ),
    Panel::chart(
        "Time of a tick",
        "s",
        &[(
            "sum by (pod) (rate(evenkeel_scaling_tick_duration_seconds_sum[5m])) / sum by (pod) (rate(evenkeel_scaling_tick_duration_seconds_count[5m]))",
            "{{pod}}",
        )],
    ),
];
