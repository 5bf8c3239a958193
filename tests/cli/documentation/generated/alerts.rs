//! The page on alerts, made from the rules that are shipped.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::text;
use super::{cell, hold};

#[test]
fn each_alert_has_its_row() {
    let rules: Value = serde_saphyr::from_str(&text("deploy/prometheus/alerts.yaml")).unwrap();
    let mut page = String::from(
        "# Alerts\n\nThe rules of `deploy/prometheus/alerts.yaml`. None of them means that Pods cannot be created or placed by \
         Kubernetes itself.\n\n| alert | severity | for | summary |\n| --- | --- | --- | --- |\n",
    );
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let name = rule["alert"].as_str().unwrap();
        let _ = writeln!(
            page,
            "| [`{name}`](../troubleshooting.md#{}) | {} | {} | {} |",
            name.to_ascii_lowercase(),
            rule["labels"]["severity"].as_str().unwrap_or_default(),
            rule["for"].as_str().unwrap_or("at once"),
            cell(rule["annotations"]["summary"].as_str().unwrap()),
        );
    }
    hold("docs/reference/alerts.md", &page);
}
