//! Cells that several tables share, and those of the simpler kinds.

use jiff::Timestamp;
use serde_json::Value;

use crate::meta;
use crate::selector;
use crate::table::age;

pub(super) fn name(object: &Value, _: Timestamp) -> Value {
    meta::name(object).into()
}

pub(super) fn created(object: &Value, now: Timestamp) -> Value {
    age::since(meta::text(object, "/metadata/creationTimestamp"), now).into()
}

/// The text there, or `<none>`.
pub(super) fn or_none(object: &Value, pointer: &str) -> Value {
    match meta::text(object, pointer) {
        "" => "<none>".into(),
        text => text.into(),
    }
}

pub(super) fn count(object: &Value, pointer: &str) -> Value {
    meta::number(object, pointer).unwrap_or_default().into()
}

/// Members of a map or list.
pub(super) fn size(object: &Value, pointer: &str) -> Value {
    let size = match object.pointer(pointer) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    };
    size.into()
}

pub(super) fn selector(object: &Value, pointer: &str) -> Value {
    let text = object.pointer(pointer).map(selector::to_text);
    match text.as_deref() {
        None | Some("") => "<none>".into(),
        Some(text) => text.into(),
    }
}

fn joined(object: &Value, list: &str, field: &str) -> Value {
    let values = meta::list(object, list).iter();
    let texts: Vec<&str> = values.map(|item| meta::text(item, field)).collect();
    texts.join(",").into()
}

pub(super) fn template_containers(object: &Value, _: Timestamp) -> Value {
    joined(object, "/spec/template/spec/containers", "/name")
}

pub(super) fn template_images(object: &Value, _: Timestamp) -> Value {
    joined(object, "/spec/template/spec/containers", "/image")
}

pub(super) fn ready_of_desired(object: &Value, _: Timestamp) -> Value {
    let ready = meta::number(object, "/status/readyReplicas").unwrap_or_default();
    let desired = meta::number(object, "/spec/replicas").unwrap_or_default();
    format!("{ready}/{desired}").into()
}

pub(super) fn node_selector(object: &Value, _: Timestamp) -> Value {
    selector(object, "/spec/template/spec/nodeSelector")
}

pub(super) fn service_ports(object: &Value, _: Timestamp) -> Value {
    let ports: Vec<String> = meta::list(object, "/spec/ports")
        .iter()
        .map(|port| {
            let number = meta::number(port, "/port").unwrap_or_default();
            let protocol = meta::text(port, "/protocol");
            match meta::number(port, "/nodePort") {
                Some(node_port) => format!("{number}:{node_port}/{protocol}"),
                None => format!("{number}/{protocol}"),
            }
        })
        .collect();
    if ports.is_empty() {
        "<none>".into()
    } else {
        ports.join(",").into()
    }
}

pub(super) fn external_address(object: &Value, _: Timestamp) -> Value {
    match meta::text(object, "/spec/type") {
        "ExternalName" => or_none(object, "/spec/externalName"),
        "LoadBalancer" => "<pending>".into(),
        _ => "<none>".into(),
    }
}

/// `Complete`, `Failed` or `Running`.
pub(super) fn job_status(object: &Value, _: Timestamp) -> Value {
    let is =
        |kind: &str| condition(object, kind).is_some_and(|c| meta::text(c, "/status") == "True");
    let word = ["Complete", "Failed", "Suspended"]
        .into_iter()
        .find(|kind| is(kind));
    word.unwrap_or("Running").into()
}

pub(super) fn completions(object: &Value, _: Timestamp) -> Value {
    let done = meta::number(object, "/status/succeeded").unwrap_or_default();
    let asked = meta::number(object, "/spec/completions").unwrap_or(1);
    format!("{done}/{asked}").into()
}

pub(super) fn job_duration(object: &Value, now: Timestamp) -> Value {
    let Ok(start) = meta::text(object, "/status/startTime").parse::<Timestamp>() else {
        return "".into();
    };
    let end = meta::text(object, "/status/completionTime")
        .parse()
        .unwrap_or(now);
    age::human(end.as_second() - start.as_second()).into()
}

pub(super) fn last_schedule(object: &Value, now: Timestamp) -> Value {
    match meta::text(object, "/status/lastScheduleTime") {
        "" => "<none>".into(),
        time => age::since(time, now).into(),
    }
}

pub(super) fn last_seen(object: &Value, now: Timestamp) -> Value {
    let times = [
        "/series/lastObservedTime",
        "/lastTimestamp",
        "/eventTime",
        "/firstTimestamp",
    ];
    let mut found = times.into_iter().map(|pointer| meta::text(object, pointer));
    let last = found.find(|time| !time.is_empty()).unwrap_or_default();
    age::since(last, now).into()
}

pub(super) fn first_seen(object: &Value, now: Timestamp) -> Value {
    let times = ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"];
    let mut found = times.into_iter().map(|pointer| meta::text(object, pointer));
    let first = found.find(|time| !time.is_empty()).unwrap_or_default();
    age::since(first, now).into()
}

/// The reporting component, with its host.
pub(super) fn event_source(object: &Value, _: Timestamp) -> Value {
    let components = [
        "/source/component",
        "/reportingComponent",
        "/reportingController",
    ];
    let mut found = components
        .into_iter()
        .map(|pointer| meta::text(object, pointer));
    let component = found.find(|name| !name.is_empty()).unwrap_or_default();
    match meta::text(object, "/source/host") {
        "" => component.into(),
        host => format!("{component}, {host}").into(),
    }
}

pub(super) fn involved(object: &Value, _: Timestamp) -> Value {
    let (involved, name) = match object.get("regarding") {
        Some(regarding) => (regarding, "/regarding/name"),
        None => (&object["involvedObject"], "/involvedObject/name"),
    };
    let kind = meta::text(involved, "/kind").to_lowercase();
    format!("{kind}/{}", meta::text(object, name)).into()
}

pub(super) fn event_message(object: &Value, _: Timestamp) -> Value {
    let text = [meta::text(object, "/message"), meta::text(object, "/note")].concat();
    text.trim().into()
}

/// A budget's number or share, `N/A` if the other one is used.
pub(super) fn budget(object: &Value, pointer: &str) -> Value {
    match object.pointer(pointer) {
        Some(Value::String(share)) => share.clone().into(),
        Some(Value::Number(number)) => number.to_string().into(),
        _ => "N/A".into(),
    }
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    meta::list(object, "/status/conditions")
        .iter()
        .find(|condition| meta::text(condition, "/type") == kind)
}
