//! The stability checks, which Kapacity declares and nothing of it reads.

use serde_json::Value;

/// Takes the checks over that can be made, and says of the others why not.
pub(super) fn take_checkers(spec: &mut Value, notes: &mut Vec<String>) {
    let Some(checkers) = spec["stabilityCheckers"].as_array_mut() else {
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("stabilityCheckers");
        }
        return;
    };
    let mut place = 0;
    checkers.retain(|checker| {
        let path = format!("spec.stabilityCheckers[{place}]");
        place += 1;
        let is_external = checker["type"] == "External";
        if is_external {
            notes.push(format!(
                "{path} of type External is left out: Kapacity never calls it; name a service or a \
                 url if Evenkeel should call it"
            ));
        }
        !is_external
    });
    if checkers.is_empty() {
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("stabilityCheckers");
        }
    } else {
        notes.push(
            "Evenkeel runs the stability checks, and Kapacity does not: a check of metrics fails \
             while `value operator target` holds for one of them; the default operator is >"
                .to_owned(),
        );
    }
}
