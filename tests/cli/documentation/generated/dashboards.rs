//! The Grafana dashboards, made from a table of panels. Each query names metrics that have a row in the
//! reference. The test program `tools` has promtool read each.

use serde_json::{Value, json};

use super::super::text;
use super::hold;

/// A panel: its title, its unit in Grafana's words, and its queries with their legends.
type Panel = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const PLACEMENT: &[Panel] = &[
    (
        "Pods that wait for headroom",
        "short",
        &[("max(evenkeel_refused_pods)", "Pods")],
    ),
    (
        "Longest wait for headroom",
        "s",
        &[("max(evenkeel_refused_pods_oldest_seconds)", "longest")],
    ),
    (
        "Overloaded nodes",
        "short",
        &[("max(evenkeel_overloaded_nodes)", "nodes")],
    ),
    (
        "Nodes refused, by resource",
        "short",
        &[(
            "sum by (resource) (rate(evenkeel_extender_nodes_refused_total[5m]))",
            "{{resource}}",
        )],
    ),
    (
        "Calls of kube-scheduler",
        "reqps",
        &[(
            "sum by (verb, outcome) (rate(evenkeel_extender_calls_total[5m]))",
            "{{verb}} {{outcome}}",
        )],
    ),
    (
        "Time for a call, 99th percentile",
        "s",
        &[(
            "histogram_quantile(0.99, sum by (le, verb) (rate(evenkeel_extender_duration_seconds_bucket[5m])))",
            "{{verb}}",
        )],
    ),
    (
        "Choices that kube-scheduler reported",
        "short",
        &[(
            "sum by (end) (rate(evenkeel_extender_choices_total[5m]))",
            "{{end}}",
        )],
    ),
    (
        "Nodes by freshness of their measurement",
        "short",
        &[(
            "max by (resource, freshness) (evenkeel_metrics_nodes)",
            "{{resource}} {{freshness}}",
        )],
    ),
    (
        "Pods on their way",
        "short",
        &[("max(evenkeel_pods_in_flight)", "Pods")],
    ),
    (
        "Profiles of new Pods",
        "short",
        &[(
            "sum by (profile) (rate(evenkeel_admission_profiles_total[5m]))",
            "{{profile}}",
        )],
    ),
];

const SCALING: &[Panel] = &[
    (
        "Load and forecast",
        "short",
        &[
            (
                r#"max by (kind, name, resource) (evenkeel_scaling_target_load{namespace=~"$namespace", name=~"$name"})"#,
                "{{kind}}/{{name}} {{resource}} load",
            ),
            (
                r#"max by (kind, name, resource) (evenkeel_scaling_target_forecast{namespace=~"$namespace", name=~"$name"})"#,
                "{{kind}}/{{name}} {{resource}} forecast",
            ),
        ],
    ),
    (
        "Replicas and floor",
        "short",
        &[(
            r#"max by (kind, name, of) (evenkeel_scaling_target_replicas{namespace=~"$namespace", name=~"$name"})"#,
            "{{kind}}/{{name}} {{of}}",
        )],
    ),
    (
        "Forecast is used",
        "bool",
        &[(
            r#"max by (kind, name, resource) (evenkeel_scaling_target_forecast_trusted{namespace=~"$namespace", name=~"$name"})"#,
            "{{kind}}/{{name}} {{resource}}",
        )],
    ),
    (
        "Error of the forecast against its rival",
        "short",
        &[(
            r#"max by (kind, name, resource) (evenkeel_scaling_target_forecast_ratio{namespace=~"$namespace", name=~"$name"})"#,
            "{{kind}}/{{name}} {{resource}}",
        )],
    ),
    (
        "Share of time under-provisioned",
        "percentunit",
        &[
            (
                r#"max by (kind, name, resource) (evenkeel_scaling_target_risk_achieved{namespace=~"$namespace", name=~"$name"})"#,
                "{{kind}}/{{name}} {{resource}} measured",
            ),
            (
                r#"max by (kind, name, resource) (evenkeel_scaling_target_risk_asked{namespace=~"$namespace", name=~"$name"})"#,
                "{{kind}}/{{name}} {{resource}} allowed",
            ),
        ],
    ),
    (
        "Conditions that report a problem",
        "short",
        &[(
            r#"count by (condition) (max by (namespace, kind, name, condition) (evenkeel_scaling_target_condition{condition!~"ForecastTrusted|WorthEnabling|MetricsAvailable|TrafficModel|AbleToScale|ScalingActive|ScalingLimited|ScaledToZero"}) == 1)"#,
            "{{condition}}",
        )],
    ),
    (
        "CronHPAs",
        "short",
        &[("max by (state) (evenkeel_scaling_cron_hpas)", "{{state}}")],
    ),
    (
        "Time of a tick",
        "s",
        &[(
            "sum by (pod) (rate(evenkeel_scaling_tick_duration_seconds_sum[5m])) / sum by (pod) (rate(evenkeel_scaling_tick_duration_seconds_count[5m]))",
            "{{pod}}",
        )],
    ),
    (
        "Resizes in place",
        "short",
        &[(
            "sum by (reason) (rate(evenkeel_tuning_resizes_total[15m]))",
            "{{reason}}",
        )],
    ),
    (
        "Pods out of traffic and their gates",
        "short",
        &[(
            "max(evenkeel_online_conditions_awaited)",
            "Pods that wait for their gate",
        )],
    ),
];

const OPERATION: &[Panel] = &[
    ("Leader", "short", &[("evenkeel_leader", "{{pod}}")]),
    (
        "Writes are enabled",
        "bool",
        &[("evenkeel_writes_enabled", "{{pod}}")],
    ),
    (
        "Writes",
        "wps",
        &[(
            "sum by (purpose, outcome) (rate(evenkeel_writes_total[5m]))",
            "{{purpose}} {{outcome}}",
        )],
    ),
    (
        "Failed queries",
        "short",
        &[(
            "sum by (query, reason) (rate(evenkeel_metrics_query_failures_total[5m]))",
            "{{query}} {{reason}}",
        )],
    ),
    (
        "Age of the newest measurement",
        "s",
        &[("evenkeel_metrics_sample_age_seconds", "{{pod}}")],
    ),
    (
        "Findings of the self-check",
        "short",
        &[(
            "max by (reason) (evenkeel_metrics_self_check_findings)",
            "{{reason}}",
        )],
    ),
    (
        "Days until the certificate ends",
        "d",
        &[(
            "(min by (pod) (evenkeel_tls_certificate_not_after_seconds) - time()) / 86400",
            "{{pod}}",
        )],
    ),
    (
        "Requests answered without effect",
        "reqps",
        &[(
            "sum by (path) (rate(evenkeel_http_requests_shed_total[5m]))",
            "{{path}}",
        )],
    ),
    (
        "Watches that are refused",
        "short",
        &[("max by (kind) (evenkeel_watch_refused)", "{{kind}}")],
    ),
    (
        "Targets set aside after a panic",
        "short",
        &[("max(evenkeel_scaling_targets_quarantined)", "targets")],
    ),
];

const DASHBOARDS: [(&str, &str, &[Panel]); 3] = [
    ("placement", "Evenkeel: placement", PLACEMENT),
    ("scaling", "Evenkeel: scaling", SCALING),
    ("operation", "Evenkeel: operation", OPERATION),
];

/// Two panels a row, each half of Grafana's 24 columns wide.
fn panel(place: usize, (title, unit, queries): &Panel) -> Value {
    let source = json!({"type": "prometheus", "uid": "${datasource}"});
    let targets: Vec<Value> = queries
        .iter()
        .zip('A'..)
        .map(|((expression, legend), id)| {
            json!({"refId": id.to_string(), "datasource": source, "expr": expression, "legendFormat": legend})
        })
        .collect();
    json!({
        "id": place + 1,
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (place % 2), "y": 8 * (place / 2)},
        "fieldConfig": {"defaults": {"unit": unit, "custom": {"lineWidth": 1, "fillOpacity": 5}}, "overrides": []},
        "options": {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull"]},
                    "tooltip": {"mode": "multi"}},
        "targets": targets,
    })
}

fn dashboard(name: &str, title: &str, panels: &[Panel]) -> Value {
    let mut variables = vec![json!({
        "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"
    })];
    if name == "scaling" {
        for (variable, label) in [("namespace", "Namespace"), ("name", "Workload")] {
            let query = match variable {
                "namespace" => "label_values(evenkeel_scaling_target_load, namespace)".to_owned(),
                _ => r#"label_values(evenkeel_scaling_target_load{namespace=~"$namespace"}, name)"#
                    .to_owned(),
            };
            variables.push(json!({
                "name": variable, "label": label, "type": "query", "query": query, "refresh": 2,
                "includeAll": true, "multi": true, "current": {"text": "All", "value": "$__all"},
                "datasource": {"type": "prometheus", "uid": "${datasource}"},
            }));
        }
    }
    let panels: Vec<Value> = panels
        .iter()
        .enumerate()
        .map(|(place, one)| panel(place, one))
        .collect();
    json!({
        "uid": format!("evenkeel-{name}"),
        "title": title,
        "tags": ["evenkeel"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels,
    })
}

fn queries() -> impl Iterator<Item = &'static str> {
    let panels = DASHBOARDS.into_iter().flat_map(|(_, _, panels)| panels);
    panels.flat_map(|(_, _, queries)| queries.iter().map(|(expression, _)| *expression))
}

#[test]
fn the_dashboards_are_those_of_the_table() {
    for (name, title, panels) in DASHBOARDS {
        let made = serde_json::to_string_pretty(&dashboard(name, title, panels)).unwrap() + "\n";
        hold(&format!("deploy/grafana/{name}.json"), &made);
    }
}

#[test]
fn dashboards_ask_for_metrics_that_exist() {
    let page = text("docs/reference/metrics.md");
    let mut seen = 0;
    for query in queries() {
        let names = query
            .split(|c: char| !(c.is_ascii_lowercase() || c == '_'))
            .filter(|word| word.starts_with("evenkeel_"));
        for name in names {
            seen += 1;
            let whole = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|part| name.strip_suffix(part))
                .unwrap_or(name);
            assert!(page.contains(&format!("`{whole}`")), "{name} in {query}");
        }
    }
    assert!(seen > 30, "{seen}");
}
