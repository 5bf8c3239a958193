//! The taints of overloaded nodes: the taints to set and to remove, and the Events about them.
//! `spec.taints` is one list with other writers' taints, so a write tests the whole list. A refused
//! write is repeated every second, so an Event is written only once the node shows the change.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::node::Node;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::event::{EventContent, EventSeverity, RegardingObject};
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::taint::{TaintEffect, TaintKey, Taints};
use jiff::Timestamp;

use crate::overload::{OverloadVerdict, TaintCandidate};

const TAINTS: [&str; 2] = ["spec", "taints"];

/// The taints that are set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The effect; `None` where no node is tainted.
    pub effect: Option<TaintEffect>,
    pub key: TaintKey,
    /// True where local storage counts among the resources.
    pub disk: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintedNode {
    /// Its name and identity.
    pub metadata: Meta,
    /// Ready and not cordoned.
    pub schedulable: bool,
    pub control_plane: bool,
    pub taints: Taints,
}

impl TaintedNode {
    pub fn of(node: &Node) -> Self {
        let metadata = Meta {
            name: node.metadata.name.clone(),
            uid: node.metadata.uid.clone(),
            ..Meta::default()
        };
        Self {
            metadata,
            schedulable: node.is_schedulable(),
            control_plane: node.is_of_control_plane(),
            taints: node.spec.taints.clone(),
        }
    }

    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub fn candidate(&self) -> TaintCandidate<'_> {
        TaintCandidate {
            name: self.name(),
            schedulable: self.schedulable,
            control_plane: self.control_plane,
            tainted: !self.taints.own().is_empty(),
        }
    }

    fn write(&self, wanted: &Taints, purpose: Purpose) -> Option<Write> {
        if *wanted == self.taints {
            return None;
        }
        let mut patch = ConditionalPatch::of(&self.metadata);
        change_taints(&mut patch, &self.taints, wanted);
        let target = ObjectRef::of_cluster(Kind::Node, self.name());
        Some(Write::new(
            purpose,
            target,
            WriteOperation::Conditional(patch),
        ))
    }
}

/// The inputs that the plans of all nodes share.
#[derive(Debug, Clone, Copy)]
pub struct OverloadContext<'a> {
    pub settings: &'a Settings,
    /// The name of this replica.
    pub reporter: &'a str,
    pub now: Timestamp,
}

/// A change that was asked for, until the node shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OverloadTaintChange {
    /// The taints of Evenkeel that the node then has.
    own: Vec<String>,
    reason: &'static str,
    note: String,
}

#[derive(Debug, Default)]
pub struct PendingTaintChanges {
    asked: BTreeMap<String, OverloadTaintChange>,
}

impl PendingTaintChanges {
    /// The writes that apply these verdicts to the nodes' taints, and the Events of completed ones.
    pub fn plan(
        &mut self,
        nodes: &[Arc<TaintedNode>],
        verdicts: &[(&str, OverloadVerdict)],
        context: &OverloadContext<'_>,
    ) -> Vec<Write> {
        let verdicts: BTreeMap<&str, &OverloadVerdict> = verdicts
            .iter()
            .map(|(name, verdict)| (*name, verdict))
            .collect();
        let before = std::mem::take(&mut self.asked);
        let mut writes = Vec::new();
        for node in nodes {
            let asked = before.get(node.name());
            if let Some(done) = asked.filter(|asked| asked.own == node.taints.own()) {
                writes.push(told(node, done, context));
            }
            let verdict = verdicts.get(node.name()).copied();
            let (wanted, why) = wanted(node, verdict, context.settings);
            if let Some(write) = node.write(&wanted, Purpose::OverloadTaint) {
                writes.push(write);
                let asked = asked_for(&wanted, &why);
                self.asked.insert(node.name().to_owned(), asked);
            }
        }
        writes
    }
}

/// Adds to a node's patch that its taints become these, if they are still those that were found.
pub fn change_taints(patch: &mut ConditionalPatch, found: &Taints, wanted: &Taints) {
    let found = found.to_value();
    let is_there = !found.is_null();
    patch.expect(&TAINTS, found);
    patch.change(&TAINTS, is_there, wanted.to_value());
}

pub fn clear(nodes: &[Arc<TaintedNode>], purpose: Purpose) -> Vec<Write> {
    let clear = |node: &Arc<TaintedNode>| node.write(&node.taints.without_own(), purpose);
    nodes.iter().filter_map(clear).collect()
}

/// The taints that a node is to have, and why they change, in words.
fn wanted(
    node: &TaintedNode,
    verdict: Option<&OverloadVerdict>,
    settings: &Settings,
) -> (Taints, String) {
    let Settings {
        effect,
        key,
        disk: _,
    } = settings;
    let own = !node.taints.own().is_empty();
    match (effect, verdict) {
        (None, _) => (
            node.taints.without_own(),
            "scheduling.overload.taint is off".to_owned(),
        ),
        (Some(effect), Some(OverloadVerdict::Taint { resource, percent })) => {
            let why = format!(
                "{} has been at 80 % of the node or more for 3 samples, {percent} % in the last",
                resource.noun()
            );
            (
                node.taints.with_own(key, &resource.to_string(), *effect),
                why,
            )
        }
        (Some(_), Some(OverloadVerdict::Lift(lift))) => {
            (node.taints.without_own(), lift.as_str().to_owned())
        }
        // Its key or its effect may be configured otherwise now.
        (Some(effect), None) if own => (
            node.taints.with_own(key, node.taints.own_value(), *effect),
            "scheduling.overload.key or scheduling.overload.taint has changed".to_owned(),
        ),
        (Some(_), None) => (node.taints.clone(), String::new()),
    }
}

fn asked_for(wanted: &Taints, why: &str) -> OverloadTaintChange {
    let own = wanted.own();
    let (reason, note) = match own.first() {
        Some(taint) => ("NodeOverloaded", format!("tainted {taint}: {why}")),
        None => ("NodeRelieved", format!("taint removed: {why}")),
    };
    OverloadTaintChange { own, reason, note }
}

fn told(node: &TaintedNode, done: &OverloadTaintChange, context: &OverloadContext<'_>) -> Write {
    let event = EventContent {
        purpose: Purpose::OverloadEvent,
        severity: EventSeverity::Normal,
        reason: done.reason,
        action: "Taint",
        note: done.note.as_str().into(),
    };
    let regarding = RegardingObject::of(Kind::Node, &node.metadata);
    event.at(&regarding, context.reporter, context.now)
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::plan::conditional_patch::apply;
    use evenkeel_units::Resource;
    use serde_json::{Value, json};

    use super::*;
    use crate::overload::Lift;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;
    const HOT: OverloadVerdict = OverloadVerdict::Taint {
        resource: Resource::NetworkIo,
        percent: 93,
    };

    fn enforce() -> Settings {
        Settings {
            effect: Some(TaintEffect::NoSchedule),
            ..Settings::default()
        }
    }

    const fn context(settings: &Settings) -> OverloadContext<'_> {
        OverloadContext {
            settings,
            reporter: "pod-0",
            now: NOW,
        }
    }

    fn object(taints: &Value) -> Value {
        let mut object = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {}, "status": {
            "conditions": [{"type": "Ready", "status": "True"}]}});
        if !taints.is_null() {
            object["spec"]["taints"] = taints.clone();
        }
        object
    }

    fn node(object: &Value) -> Arc<TaintedNode> {
        Arc::new(TaintedNode::of(
            &serde_json::from_value(object.clone()).unwrap(),
        ))
    }

    /// Applies the writes to the node as it is by then, and gives the Events.
    fn make(writes: &[Write], object: &mut Value) -> (usize, Vec<String>) {
        let (mut made, mut events) = (0, Vec::new());
        for write in writes {
            match &write.operation {
                WriteOperation::Conditional(patch) => {
                    made += usize::from(apply(object, patch).is_ok());
                }
                WriteOperation::Create(event) => {
                    let [reason, note] = ["reason", "note"].map(|key| event[key].as_str().unwrap());
                    events.push(format!("{reason}: {note}"));
                }
                WriteOperation::Merge(_) | WriteOperation::Delete { .. } => {
                    panic!("taints are one list")
                }
            }
        }
        (made, events)
    }

    #[test]
    fn a_taint_is_set_beside_the_others_told_of_once_it_stands_and_taken_away() {
        let foreign = json!({"key": "gpu", "value": "x", "effect": "NoSchedule"});
        for (before, others) in [
            (json!(null), vec![]),
            (json!([foreign]), vec![foreign.clone()]),
        ] {
            let (mut tainting, mut found) = (PendingTaintChanges::default(), object(&before));
            let mut round = |found: &mut Value, verdicts: &[(&str, OverloadVerdict)]| {
                let writes = tainting.plan(&[node(found)], verdicts, &context(&enforce()));
                make(&writes, found)
            };
            assert_eq!(round(&mut found, &[("a", HOT)]), (1, vec![]));
            let ours = json!({"key": "evenkeel.dev/overloaded", "value": "networkIo",
                              "effect": "NoSchedule"});
            let all = [others.clone(), vec![ours]].concat();
            assert_eq!(found["spec"]["taints"], json!(all));
            let told = "NodeOverloaded: tainted evenkeel.dev/overloaded=networkIo:NoSchedule: \
                        network has been at 80 % of the node or more for 3 samples, 93 % in the \
                        last";
            assert_eq!(round(&mut found, &[]), (0, vec![told.to_owned()]));
            assert_eq!(round(&mut found, &[]), (0, vec![]));
            let lift = OverloadVerdict::Lift(Lift::Cooled);
            assert_eq!(round(&mut found, &[("a", lift)]), (1, vec![]));
            assert_eq!(found, object(&before));
            let (made, told) = round(&mut found, &[]);
            assert_eq!(made, 0);
            assert!(told[0].starts_with("NodeRelieved: "), "{told:?}");
        }
    }

    #[test]
    fn what_somebody_else_did_meanwhile_stands_and_nothing_is_told() {
        let (mut tainting, mut found) = (PendingTaintChanges::default(), object(&json!(null)));
        let writes = tainting.plan(&[node(&found)], &[("a", HOT)], &context(&enforce()));
        let theirs = object(&json!([{"key": "drained", "effect": "NoExecute"}]));
        found.clone_from(&theirs);
        assert_eq!(make(&writes, &mut found), (0, vec![]));
        assert_eq!(found, theirs);
        let again = tainting.plan(&[node(&found)], &[("a", HOT)], &context(&enforce()));
        assert_eq!(make(&again, &mut found), (1, vec![]));
        assert_eq!(node(&found).taints.without_own(), node(&theirs).taints);
        let mut anew = object(&json!(null));
        anew["metadata"]["uid"] = json!("v");
        assert_eq!(
            make(&writes, &mut anew),
            (0, vec![]),
            "another node of that name"
        );
    }

    #[test]
    fn another_key_or_effect_takes_the_place_and_off_takes_all_away() {
        let mut found = object(&json!([
            {"key": "a/evenkeel-overloaded", "value": "cpu", "effect": "PreferNoSchedule"}]));
        let mut tainting = PendingTaintChanges::default();
        let writes = tainting.plan(&[node(&found)], &[], &context(&enforce()));
        make(&writes, &mut found);
        assert_eq!(
            found["spec"]["taints"],
            json!([{"key": "evenkeel.dev/overloaded", "value": "cpu", "effect": "NoSchedule"}])
        );
        let off = Settings::default();
        for writes in [
            tainting.plan(&[node(&found)], &[], &context(&off)),
            clear(&[node(&found)], Purpose::Restore),
        ] {
            let mut cleared = found.clone();
            make(&writes, &mut cleared);
            assert_eq!(cleared, object(&json!(null)));
        }
        let clean = node(&object(&json!([{"key": "gpu", "effect": "NoSchedule"}])));
        assert_eq!(clear(&[clean], Purpose::Restore), []);
    }

    #[test]
    fn the_control_plane_is_told_by_label_or_taint() {
        for (labels, taints, is) in [
            (
                json!({"node-role.kubernetes.io/control-plane": ""}),
                json!(null),
                true,
            ),
            (
                json!({"node-role.kubernetes.io/master": ""}),
                json!(null),
                true,
            ),
            (
                json!({}),
                json!([{"key": "node-role.kubernetes.io/control-plane",
                                "effect": "NoSchedule"}]),
                true,
            ),
            (
                json!({"node-role.kubernetes.io/worker": ""}),
                json!(null),
                false,
            ),
        ] {
            let mut found = object(&taints);
            found["metadata"]["labels"] = labels.clone();
            assert_eq!(node(&found).candidate().control_plane, is, "{labels}");
        }
    }
}
