//! The node that a series belongs to, by the configured label, or else by the first of these:
//! 1. The label `node`: the plain Prometheus chart puts it on node_exporter, the Prometheus
//!    operator on kubelet.
//! 2. The node with the InternalIP in `instance`: kube-prometheus-stack's node_exporter.
//! 3. `nodename`, node_exporter's host name, which may differ from the Node object's name.
//! 4. The node that another series with these labels gives for the same `instance`.
//! 5. `instance` without its port, if a relabelling made it the node's name.
//!
//! An InternalIP in any of these means its node. Node names are lower case; host names may not be.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

use super::answer::PromLabels;
use crate::metrics::answer::Instances;
use crate::metrics::series::without_port;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelName(Box<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not accepted; accepted: a label name of letters, digits and _ that does not begin \
     with a digit"
)]
pub struct LabelNameError(pub String);

impl FromStr for LabelName {
    type Err = LabelNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let good = text.chars().all(word) && text.starts_with(|c: char| !c.is_ascii_digit());
        good.then(|| Self(text.into()))
            .ok_or_else(|| LabelNameError(text.to_owned()))
    }
}

impl fmt::Display for LabelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NodeLabel {
    /// Found out from `node`, `nodename` and `instance`.
    #[default]
    Automatic,
    /// This one and no other.
    Named(LabelName),
}

impl NodeLabel {
    /// The labels that `$node` stands for in a query.
    pub(super) fn grouping(&self) -> Cow<'_, str> {
        match self {
            Self::Automatic => "node, instance".into(),
            Self::Named(label) => (&*label.0).into(),
        }
    }
}

/// Learns which node an `instance` is from a series read at `at`. The newest counts, because
/// addresses move to other nodes.
pub(super) fn learn(instances: &mut Instances, labels: &PromLabels<'_>, at: Timestamp) {
    let named = labels.get("node").or_else(|| labels.get("nodename"));
    let (Some(instance), Some(name)) = (labels.get("instance"), named) else {
        return;
    };
    let known = instances.get(instance);
    if known.is_none_or(|(learned_at, _)| *learned_at < at) {
        instances.insert(instance.into(), (at, lower_case(name).into()));
    }
}

/// The nodes by their InternalIPs; an address that two nodes claim belongs to neither.
#[derive(Debug, Default)]
pub(super) struct NodeAddressIndex(HashMap<IpAddr, Option<Arc<str>>>);

impl NodeAddressIndex {
    pub(super) fn of<'n>(nodes: impl IntoIterator<Item = (IpAddr, &'n str)>) -> Self {
        let mut known: HashMap<IpAddr, Option<Arc<str>>> = HashMap::new();
        for (address, node) in nodes {
            known
                .entry(address)
                .and_modify(|owner| *owner = owner.take().filter(|owner| **owner == *node))
                .or_insert_with(|| Some(node.into()));
        }
        Self(known)
    }

    /// The node that an `instance` is an address of.
    fn node(&self, instance: &str) -> Option<&str> {
        let address = without_port(instance).parse().ok()?;
        self.0.get(&address)?.as_deref()
    }
}

/// Finds the node of a series by what was learned of instances.
#[derive(Debug)]
pub(super) struct NodeNames<'a> {
    label: &'a NodeLabel,
    addresses: &'a NodeAddressIndex,
    /// In the order learned.
    known: Vec<&'a Instances>,
}

impl<'a> NodeNames<'a> {
    pub(super) fn new(
        label: &'a NodeLabel,
        addresses: &'a NodeAddressIndex,
        known: impl Iterator<Item = &'a Instances>,
    ) -> Self {
        Self {
            label,
            addresses,
            known: known.collect(),
        }
    }

    pub(super) fn of<'s>(&'s self, labels: &'s PromLabels<'_>) -> Option<Cow<'s, str>> {
        match self.label {
            NodeLabel::Named(label) => labels.get(&label.0).map(|name| self.called(name)),
            NodeLabel::Automatic => {
                let instance = labels.get("instance");
                let by_address = || self.addresses.node(instance?);
                let named = labels.get("node").or_else(by_address);
                named
                    .or_else(|| labels.get("nodename"))
                    .map(|name| self.called(name))
                    .or_else(|| Some(self.of_instance(instance?)))
            }
        }
    }

    fn called<'s>(&'s self, name: &'s str) -> Cow<'s, str> {
        self.addresses
            .node(name)
            .map_or_else(|| lower_case(name), Cow::Borrowed)
    }

    fn of_instance<'s>(&'s self, instance: &'s str) -> Cow<'s, str> {
        let known = self.known.iter();
        let named = known.filter_map(|instances| instances.get(instance));
        let newest = named.reduce(|first, next| if first.0 < next.0 { next } else { first });
        match newest {
            Some((_, name)) => self.called(name),
            None => lower_case(without_port(instance)),
        }
    }
}

fn lower_case(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_ascii_lowercase().into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_node_is_found_as_the_usual_charts_label_it() {
        let mut instances = Instances::new();
        learn(
            &mut instances,
            &PromLabels::of(&[("instance", "10.0.0.1:9100"), ("nodename", "Worker-1")]),
            second(1),
        );
        let addresses = NodeAddressIndex::default();
        let names = NodeNames::new(&NodeLabel::Automatic, &addresses, [&instances].into_iter());
        for (labels, node) in [
            // kube-prometheus-stack, node_exporter
            (&[("instance", "10.0.0.1:9100")][..], Some("worker-1")),
            // the plain Prometheus chart, node_exporter
            (
                &[("instance", "10.0.0.2:9100"), ("node", "worker-2")],
                Some("worker-2"),
            ),
            // kube-prometheus: relabelled
            (&[("instance", "worker-3")], Some("worker-3")),
            (
                &[("instance", "worker-3:9100"), ("node", "")],
                Some("worker-3"),
            ),
            // kubelet behind the Prometheus operator
            (
                &[("instance", "10.0.0.4:10250"), ("node", "worker-4")],
                Some("worker-4"),
            ),
            (&[("instance", "10.0.0.9:9100")], Some("10.0.0.9")),
            (&[("job", "node")], None),
        ] {
            assert_eq!(
                names.of(&PromLabels::of(labels)).as_deref(),
                node,
                "{labels:?}"
            );
        }
    }

    #[test]
    fn an_address_given_to_another_node_means_the_newer_one() {
        let series = PromLabels::of(&[("instance", "10.0.0.1:9100")]);
        for order in [[("old", 1), ("new", 2)], [("new", 2), ("old", 1)]] {
            // In one answer, and in two.
            let (mut one, mut two) = (Instances::new(), [Instances::new(), Instances::new()]);
            for ((node, at), own) in order.into_iter().zip(&mut two) {
                let labels = PromLabels::of(&[("instance", "10.0.0.1:9100"), ("nodename", node)]);
                learn(&mut one, &labels, second(at));
                learn(own, &labels, second(at));
            }
            for known in [vec![&one], two.iter().collect()] {
                let nobody = NodeAddressIndex::default();
                let names = NodeNames::new(&NodeLabel::Automatic, &nobody, known.into_iter());
                assert_eq!(names.of(&series).as_deref(), Some("new"), "{order:?}");
            }
        }
    }

    #[test]
    fn an_internal_address_tells_the_node_unless_two_claim_it() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let addresses = NodeAddressIndex::of([
            (address("10.0.0.1"), "ip-10-0-0-1.ec2.internal"),
            (address("fd00::1"), "ip-10-0-0-1.ec2.internal"),
            (address("10.0.0.2"), "old"),
            (address("10.0.0.2"), "new"),
        ]);
        let names = NodeNames::new(&NodeLabel::Automatic, &addresses, [].into_iter());
        for (labels, node) in [
            // The host name is not the name of the node.
            (
                &[("instance", "10.0.0.1:9100"), ("nodename", "ip-10-0-0-1")][..],
                "ip-10-0-0-1.ec2.internal",
            ),
            (
                &[("instance", "[fd00::1]:9100")],
                "ip-10-0-0-1.ec2.internal",
            ),
            (&[("instance", "10.0.0.1:9100"), ("node", "b")], "b"),
            // Relabelled to the host's address in place of its name.
            (
                &[("instance", "x:1"), ("node", "10.0.0.1")],
                "ip-10-0-0-1.ec2.internal",
            ),
            (&[("node", "fd00:0:0::1")], "ip-10-0-0-1.ec2.internal"),
            (&[("nodename", "10.0.0.1")], "ip-10-0-0-1.ec2.internal"),
            (&[("node", "10.0.0.2")], "10.0.0.2"),
            (&[("instance", "10.0.0.2:9100"), ("nodename", "c")], "c"),
            (&[("instance", "10.0.0.2:9100")], "10.0.0.2"),
        ] {
            let found = names.of(&PromLabels::of(labels)).map(Cow::into_owned);
            assert_eq!(found.as_deref(), Some(node), "{labels:?}");
        }
    }

    #[test]
    fn an_address_in_any_label_is_an_address() {
        let addresses = NodeAddressIndex::of([("10.0.0.1".parse().unwrap(), "a")]);
        let label = NodeLabel::Named("host".parse().unwrap());
        let names = NodeNames::new(&label, &addresses, [].into_iter());
        let found = |value: &str| {
            names
                .of(&PromLabels::of(&[("host", value)]))
                .map(Cow::into_owned)
        };
        assert_eq!(found("10.0.0.1").as_deref(), Some("a"));
        assert_eq!(found("10.0.0.3").as_deref(), Some("10.0.0.3"));
        let mut instances = Instances::new();
        let learned = PromLabels::of(&[("instance", "x:9100"), ("node", "10.0.0.1")]);
        learn(&mut instances, &learned, second(1));
        let names = NodeNames::new(&NodeLabel::Automatic, &addresses, [&instances].into_iter());
        let found = PromLabels::of(&[("instance", "x:9100")]);
        assert_eq!(names.of(&found).as_deref(), Some("a"));
    }

    #[test]
    fn a_configured_label_is_the_only_one_looked_at() {
        let label = NodeLabel::Named("host".parse().unwrap());
        let addresses = NodeAddressIndex::default();
        let names = NodeNames::new(&label, &addresses, [].into_iter());
        let both = PromLabels::of(&[("host", "a"), ("node", "b")]);
        assert_eq!(names.of(&both).as_deref(), Some("a"));
        assert_eq!(names.of(&PromLabels::of(&[("node", "b")])), None);
    }

    #[test]
    fn only_label_names_are_taken() {
        for (text, good) in [
            ("node", true),
            ("_n0", true),
            ("", false),
            ("0n", false),
            ("a-b", false),
            ("a) or (b", false),
        ] {
            assert_eq!(text.parse::<LabelName>().is_ok(), good, "{text:?}");
        }
    }
}
