//! Events, served by two groups from one storage: core/v1 as stored, events.k8s.io/v1 with other
//! field names.

use serde_json::Value;

use crate::meta;
use crate::resources::resource::Conversion;

/// Left: events.k8s.io/v1, right: core/v1.
const FIELDS: &[(&str, &str)] = &[
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

pub(crate) const CONVERSION: Conversion = Conversion {
    renamed: FIELDS,
    to_storage: |event| renamed(event, "v1", FIELDS.iter().copied()),
    from_storage: |event| {
        let back = FIELDS.iter().map(|&(new, core)| (core, new));
        renamed(event, "events.k8s.io/v1", back)
    },
};

fn renamed<'a>(
    mut event: Value,
    api_version: &str,
    fields: impl Iterator<Item = (&'a str, &'a str)>,
) -> Value {
    for (from, to) in fields {
        if let Some(value) = meta::remove(&mut event, from) {
            event[to] = value;
        }
    }
    event["apiVersion"] = api_version.into();
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_survives_both_ways() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "reason": "r",
            "regarding": {"kind": "Pod"}, "reportingController": "c", "reportingInstance": "i",
        });
        let stored = (CONVERSION.to_storage)(event.clone());
        assert_eq!(stored["message"], "n");
        assert_eq!(stored["involvedObject"]["kind"], "Pod");
        assert_eq!((CONVERSION.from_storage)(stored), event);
    }
}
