//! A Pod's status word, and the cells around it.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use crate::meta;
use crate::table::{age, cells};

fn statuses(pod: &Value) -> &[Value] {
    meta::list(pod, "/status/containerStatuses")
}

pub(super) fn ready(pod: &Value, _: Timestamp) -> Value {
    let is_ready =
        |status: &&Value| status["ready"] == true && status.pointer("/state/running").is_some();
    let ready = statuses(pod).iter().filter(is_ready).count();
    let all = meta::list(pod, "/spec/containers").len();
    format!("{ready}/{all}").into()
}

pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let count = |status: &Value| meta::number(status, "/restartCount").unwrap_or_default();
    let restarts: i64 = statuses(pod).iter().map(count).sum();
    let finished = "/lastState/terminated/finishedAt";
    let last = statuses(pod)
        .iter()
        .map(|status| meta::text(status, finished))
        .max();
    match last {
        Some(time) if restarts > 0 && !time.is_empty() => {
            format!("{restarts} ({} ago)", age::since(time, now)).into()
        }
        _ => restarts.to_string().into(),
    }
}

pub(super) fn status(pod: &Value, _: Timestamp) -> Value {
    let phase = meta::text(pod, "/status/phase");
    let reason = meta::text(pod, "/status/reason");
    let given = if reason.is_empty() { phase } else { reason };
    let mut word: Cow<'_, str> = given.into();
    if cells::condition(pod, "PodScheduled")
        .is_some_and(|condition| condition["reason"] == "SchedulingGated")
    {
        word = "SchedulingGated".into();
    }
    match initialising(pod) {
        Some(init) => word = init.into(),
        None => {
            if let Some(of_containers) = containers(pod) {
                word = of_containers.into();
            }
        }
    }
    if meta::is_deleting(pod) {
        if reason == "NodeLost" {
            word = "Unknown".into();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            word = "Terminating".into();
        }
    }
    word.into_owned().into()
}

fn initialising(pod: &Value) -> Option<String> {
    let all = meta::list(pod, "/spec/initContainers").len();
    let statuses = meta::list(pod, "/status/initContainerStatuses")
        .iter()
        .enumerate();
    for (index, status) in statuses {
        if meta::number(status, "/state/terminated/exitCode") == Some(0)
            || (status["started"] == true && status["ready"] == true)
        {
            continue;
        }
        return Some(match waiting_or_ended(status).as_deref() {
            None | Some("PodInitializing" | "") => format!("Init:{index}/{all}"),
            Some(reason) => format!("Init:{reason}"),
        });
    }
    None
}

fn containers(pod: &Value) -> Option<String> {
    let mut word = None;
    let mut running = false;
    for status in statuses(pod).iter().rev() {
        if let Some(reason) = waiting_or_ended(status) {
            word = Some(reason);
        } else if status["ready"] == true && status.pointer("/state/running").is_some() {
            running = true;
        }
    }
    match word.as_deref() {
        Some("Completed") if running => {
            let is_ready = cells::condition(pod, "Ready").is_some_and(|c| c["status"] == "True");
            Some(if is_ready { "Running" } else { "NotReady" }.to_owned())
        }
        _ => word,
    }
}

fn waiting_or_ended(status: &Value) -> Option<String> {
    let waiting = meta::text(status, "/state/waiting/reason");
    if !waiting.is_empty() {
        return Some(waiting.to_owned());
    }
    let ended = status.pointer("/state/terminated")?;
    match (
        meta::text(ended, "/reason"),
        meta::number(ended, "/signal").unwrap_or_default(),
    ) {
        ("", 0) => Some(format!(
            "ExitCode:{}",
            meta::number(ended, "/exitCode").unwrap_or_default()
        )),
        ("", signal) => Some(format!("Signal:{signal}")),
        (reason, _) => Some(reason.to_owned()),
    }
}

pub(super) fn readiness_gates(pod: &Value, _: Timestamp) -> Value {
    let gates = meta::list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let is_true = |gate: &&Value| {
        cells::condition(pod, meta::text(gate, "/conditionType"))
            .is_some_and(|condition| condition["status"] == "True")
    };
    format!("{}/{}", gates.iter().filter(is_true).count(), gates.len()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_word_says_how_a_pod_is() {
        let running = json!([{"ready": true, "state": {"running": {}}}]);
        for (pod, word) in [
            (json!({"status": {"phase": "Pending"}}), "Pending"),
            (
                json!({"status": {"phase": "Running", "containerStatuses": running}}),
                "Running",
            ),
            (
                json!({"status": {"phase": "Failed", "reason": "Evicted"}}),
                "Evicted",
            ),
            (
                json!({"status": {"phase": "Pending", "containerStatuses": [
                    {"state": {"waiting": {"reason": "ContainerCreating"}}}]}}),
                "ContainerCreating",
            ),
            (
                json!({"status": {"phase": "Failed", "containerStatuses": [
                    {"state": {"terminated": {"exitCode": 2}}}]}}),
                "ExitCode:2",
            ),
            (
                json!({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}}),
                "Terminating",
            ),
            (
                json!({"spec": {"initContainers": [{}, {}]}, "status": {"phase": "Pending",
                    "initContainerStatuses": [{"state": {"running": {}}}]}}),
                "Init:0/2",
            ),
        ] {
            assert_eq!(status(&pod, Timestamp::UNIX_EPOCH), word);
        }
    }
}
