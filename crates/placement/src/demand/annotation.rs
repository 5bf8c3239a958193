//! The value of the `demand` annotation: the five numbers as compact JSON, and which of them are
//! use by the workload's other Pods. Only the latter are read again: the rest is computed anew,
//! because the Pod may be resized. Only admission writes it, so any other text counts as empty.

use evenkeel_units::{Amount, Resource, Resources};
use serde::Deserialize;

/// The annotation's value, in millicores, bytes and bytes per second; `used` marks the use by other
/// Pods.
pub(crate) fn write(demand: &Resources<Amount>, used: Resources<bool>) -> String {
    let mut parts: Vec<String> = demand
        .iter()
        .map(|(resource, amount)| format!("\"{resource}\":{}", amount.get()))
        .collect();
    let history: Vec<String> = used
        .iter()
        .filter(|(_, used)| **used)
        .map(|(resource, _)| format!("\"{resource}\""))
        .collect();
    if !history.is_empty() {
        parts.push(format!("\"history\":[{}]", history.join(",")));
    }
    format!("{{{}}}", parts.join(","))
}

/// The parts of the annotation's value that are what other Pods used.
pub(super) fn history(text: &str) -> Resources<Option<Amount>> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct DemandJson {
        cpu: u64,
        memory: u64,
        network_io: u64,
        disk_io: u64,
        disk: u64,
        history: Vec<String>,
    }
    let written: DemandJson = serde_json::from_str(text).unwrap_or_default();
    let amounts = Resources::new([
        written.cpu,
        written.memory,
        written.network_io,
        written.disk_io,
        written.disk,
    ]);
    Resources::from_fn(|resource: Resource| {
        let name = resource.to_string();
        let is_history = written.history.contains(&name);
        is_history.then(|| Amount::new(amounts[resource]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(used: [bool; 5]) -> String {
        let amounts = Resources::new([100, 1 << 30, 0, 5, u64::MAX]).map(Amount::new);
        write(&amounts, Resources::new(used))
    }

    #[test]
    fn it_is_compact_and_names_every_resource() {
        let text = written([false; 5]);
        let expected = r#"{"cpu":100,"memory":1073741824,"networkIo":0,"diskIo":5,"disk":18446744073709551615}"#;
        assert_eq!(text, expected);
        assert_eq!(history(&text), Resources::default());
    }

    #[test]
    fn only_what_other_pods_used_is_read_again() {
        let text = written([false, true, false, true, true]);
        assert!(
            text.ends_with(r#","history":["memory","diskIo","disk"]}"#),
            "{text}"
        );
        let read = history(&text);
        let expected = [None, Some(1 << 30), None, Some(5), Some(u64::MAX)];
        assert_eq!(
            read.map(|part| part.map(Amount::get)),
            Resources::new(expected)
        );
        for foreign in [
            "",
            "[]",
            "{\"history\":5}",
            "{\"cpu\":-1,\"history\":[\"cpu\"]}",
        ] {
            assert_eq!(history(foreign), Resources::default(), "{foreign}");
        }
        let partial = history(r#"{"history":["cpu","gpu"],"later":1}"#);
        assert_eq!(partial[Resource::Cpu], Some(Amount::ZERO));
    }
}
