//! `scheduling.capacities`: what types of nodes give, known by their labels.

use std::collections::BTreeMap;

use evenkeel_objects::capacities::LabelledCapacity;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_units::{Amount, Resource, Resources};
use serde::{Deserialize, Serialize};

use super::check::Checker;

/// One type of nodes as it is written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping with `matchLabels` and `networkIo` or `diskIo`"
)]
pub(crate) struct CapacitySection {
    match_labels: BTreeMap<String, YamlText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_io: Option<YamlText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_io: Option<YamlText>,
}

/// The types of nodes, in the order in which they are tried.
pub(super) fn check(sections: &[CapacitySection], check: &mut Checker) -> Vec<LabelledCapacity> {
    let mut earlier: Vec<LabelledCapacity> = Vec::new();
    for (place, section) in sections.iter().enumerate() {
        let path = format!("scheduling.capacities[{place}]");
        let one = section.check(&path, check);
        let hides = |known: &LabelledCapacity| {
            let mut wanted = known.match_labels.iter();
            wanted.all(|(key, value)| one.match_labels.get(key) == Some(value))
        };
        if let Some(known) = earlier.iter().position(hides) {
            check.refuse(
                &path,
                format_args!(
                    "has no effect: the first entry that matches a node counts, and \
                     scheduling.capacities[{known}] matches every node that this entry matches"
                ),
            );
        }
        earlier.push(one);
    }
    earlier
}

impl CapacitySection {
    fn check(&self, path: &str, check: &mut Checker) -> LabelledCapacity {
        let Self {
            match_labels,
            network_io,
            disk_io,
        } = self;
        if match_labels.is_empty() {
            check.refuse(
                &format!("{path}.matchLabels"),
                "needs labels of nodes, such as node.kubernetes.io/instance-type: m5.large; for \
                 all nodes, use network.capacity and disk.ioCapacity",
            );
        }
        if network_io.is_none() && disk_io.is_none() {
            check.refuse(path, "needs networkIo or diskIo, such as 10Gbps or 500MB/s");
        }
        let mut rate = |field: &str, text: &Option<YamlText>| {
            let rate = check.rate(&format!("{path}.{field}"), text.as_ref());
            rate.map(Amount::from)
        };
        let mut capacity = Resources::default();
        capacity[Resource::NetworkIo] = rate("networkIo", network_io);
        capacity[Resource::DiskIo] = rate("diskIo", disk_io);
        let labels = match_labels.iter();
        LabelledCapacity {
            match_labels: labels
                .map(|(key, YamlText(value))| (key.clone(), value.clone()))
                .collect(),
            capacity,
        }
    }
}
