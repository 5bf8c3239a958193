//! Cells of nodes.

use jiff::Timestamp;
use serde_json::Value;

use crate::meta;
use crate::table::cells;

const ROLE: &str = "node-role.kubernetes.io/";

pub(super) fn status(node: &Value, _: Timestamp) -> Value {
    let ready = cells::condition(node, "Ready").map(|condition| meta::text(condition, "/status"));
    let word = match ready {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
        format!("{word},SchedulingDisabled").into()
    } else {
        word.into()
    }
}

pub(super) fn roles(node: &Value, _: Timestamp) -> Value {
    let labels = meta::map(node, "/metadata/labels").into_iter().flatten();
    let roles: Vec<&str> = labels
        .filter_map(|(label, value)| match label.strip_prefix(ROLE) {
            Some(role) => Some(role),
            None if label == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        "<none>".into()
    } else {
        roles.join(",").into()
    }
}

pub(super) fn address(node: &Value, kind: &str) -> Value {
    let addresses = meta::list(node, "/status/addresses");
    let found = addresses.iter().find(|address| address["type"] == kind);
    match found.map(|address| meta::text(address, "/address")) {
        None | Some("") => "<none>".into(),
        Some(address) => address.into(),
    }
}

/// A field of `status.nodeInfo`; `<unknown>` if empty.
pub(super) fn info(node: &Value, field: &str) -> Value {
    match meta::text(&node["status"]["nodeInfo"], field) {
        "" => "<unknown>".into(),
        text => text.into(),
    }
}
