//! The Grafana dashboards, made from tables of panels. Each query names metrics that have a row in the
//! reference. The test program `tools` has promtool read each.

mod operation;
mod placement;
mod scaling;

use serde_json::{Value, json};

use super::super::text;
use super::hold;

/// Metrics of kube-state-metrics that panels show beside those of Evenkeel.
const KUBE_STATE_METRICS: [&str; 1] = ["kube_horizontalpodautoscaler_status_desired_replicas"];

/// A row of a dashboard: its title and its panels.
type Section = (&'static str, &'static [Panel]);

#[derive(Debug, Clone, Copy)]
struct Panel {
    title: &'static str,
    /// The unit in Grafana's words.
    unit: &'static str,
    /// True for a table of the newest values.
    is_table: bool,
    /// The queries with their legends.
    queries: &'static [(&'static str, &'static str)],
    description: &'static str,
}

impl Panel {
    const fn chart(
        title: &'static str,
        unit: &'static str,
        queries: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            title,
            unit,
            is_table: false,
            queries,
            description: "",
        }
    }

    /// A table of the series of one query, where 1 is True and 0 is False.
    const fn table(title: &'static str, queries: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            is_table: true,
            ..Self::chart(title, "short", queries)
        }
    }

    const fn described(self, description: &'static str) -> Self {
        Self {
            description,
            ..self
        }
    }

    fn form(&self) -> Value {
        if self.is_table {
            return json!({
                "type": "table",
                "fieldConfig": {"overrides": [], "defaults": {"unit": self.unit, "mappings": [
                    {"type": "value", "options": {"0": {"text": "False", "index": 0}, "1": {"text": "True", "index": 1}}},
                ]}},
                "options": {"showHeader": true},
                "transformations": [{"id": "organize", "options": {
                    "excludeByName": {"Time": true},
                    "renameByName": {"Value": "status"},
                }}],
            });
        }
        json!({
            "type": "timeseries",
            "fieldConfig": {"defaults": {"unit": self.unit, "custom": {"lineWidth": 1, "fillOpacity": 5}}, "overrides": []},
            "options": {"legend": {"displayMode": "table", "placement": "bottom", "showLegend": true,
                                   "calcs": ["lastNotNull"]},
                        "tooltip": {"mode": "multi", "sort": "none"}},
        })
    }

    fn targets(&self) -> Vec<Value> {
        let targets = self.queries.iter().zip('A'..);
        targets
            .map(|((expression, legend), id)| {
                let mut target = json!({"refId": id.to_string(), "datasource": source(), "expr": expression,
                    "legendFormat": legend});
                if self.is_table {
                    target["format"] = json!("table");
                    target["instant"] = json!(true);
                }
                target
            })
            .collect()
    }
}

const DASHBOARDS: [(&str, &str, &[Section]); 3] = [
    ("placement", "Evenkeel: placement", placement::SECTIONS),
    ("scaling", "Evenkeel: scaling", scaling::SECTIONS),
    ("operation", "Evenkeel: operation", operation::SECTIONS),
];

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

/// The panels of all sections, two side by side, each half of Grafana's 24 columns wide.
fn panels(sections: &[Section]) -> Vec<Value> {
    let mut made: Vec<Value> = Vec::new();
    let mut top = 0;
    for (title, panels) in sections {
        made.push(json!({"id": made.len() + 1, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": {"h": 1, "w": 24, "x": 0, "y": top}}));
        top += 1;
        for (place, panel) in panels.iter().enumerate() {
            let mut one = panel.form();
            one["id"] = json!(made.len() + 1);
            one["title"] = json!(panel.title);
            one["datasource"] = source();
            one["targets"] = json!(panel.targets());
            one["gridPos"] =
                json!({"h": 8, "w": 12, "x": 12 * (place % 2), "y": top + 8 * (place / 2)});
            if !panel.description.is_empty() {
                one["description"] = json!(panel.description);
            }
            made.push(one);
        }
        top += 8 * panels.len().div_ceil(2);
    }
    made
}

fn dashboard(name: &str, title: &str, sections: &[Section]) -> Value {
    let mut variables = vec![json!({
        "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"
    })];
    if name == "scaling" {
        for (variable, label) in [("namespace", "Namespace"), ("name", "Workload")] {
            let query = match variable {
                "namespace" => {
                    "label_values(evenkeel_scaling_target_grounds, namespace)".to_owned()
                }
                _ => r#"label_values(evenkeel_scaling_target_grounds{namespace=~"$namespace"}, name)"#
                    .to_owned(),
            };
            variables.push(json!({
                "name": variable, "label": label, "type": "query", "query": query, "refresh": 2,
                "includeAll": true, "multi": true, "current": {"text": "All", "value": "$__all"},
                "datasource": source(),
            }));
        }
    }
    json!({
        "uid": format!("evenkeel-{name}"),
        "title": title,
        "tags": ["evenkeel"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": panels(sections),
    })
}

fn queries() -> impl Iterator<Item = &'static str> {
    let sections = DASHBOARDS.into_iter().flat_map(|(_, _, sections)| sections);
    let panels = sections.flat_map(|(_, panels)| panels.iter());
    panels.flat_map(|panel| panel.queries.iter().map(|(expression, _)| *expression))
}

#[test]
fn the_dashboards_are_those_of_the_table() {
    for (name, title, sections) in DASHBOARDS {
        let made = serde_json::to_string_pretty(&dashboard(name, title, sections)).unwrap() + "\n";
        hold(&format!("deploy/grafana/{name}.json"), &made);
    }
}

#[test]
fn dashboards_ask_for_metrics_that_exist() {
    let page = text("docs/reference/metrics.md");
    let mut seen = 0;
    for query in queries() {
        let words = query.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        for name in words.filter(|word| word.starts_with("evenkeel_")) {
            seen += 1;
            let whole = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|part| name.strip_suffix(part))
                .unwrap_or(name);
            assert!(page.contains(&format!("`{whole}`")), "{name} in {query}");
        }
        // Metrics of exporters have a prefix, too.
        let mut others = query.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        let unknown =
            others.find(|word| word.starts_with("kube_") && !KUBE_STATE_METRICS.contains(word));
        assert_eq!(unknown, None, "{query}");
    }
    assert!(seen > 50, "{seen}");
}

/// The harm: series of one name in two namespaces are drawn as one.
#[test]
fn queries_of_targets_keep_namespaces_apart_and_follow_the_variables() {
    for query in queries() {
        for part in query.split("evenkeel_scaling_target_").skip(1) {
            assert!(
                part.contains(r#"namespace=~"$namespace", name=~"$name""#),
                "{query}"
            );
        }
        for part in query.split("max by (").skip(1) {
            let is_of_target = part.contains("evenkeel_scaling_target_");
            assert!(
                !is_of_target || part.starts_with("namespace, kind, name"),
                "{query}"
            );
        }
    }
}
