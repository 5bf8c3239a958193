//! The reason of a placement in a few words, from the terms of the answer that it follows.

use evenkeel_units::{Amount, Resource};

use super::{Explanation, NodeExplanation};
use crate::extender::placement_rules::Exemption;

const LEFT_OPEN: &str = "kube-scheduler's own preference";

/// Scores of 0 to 10 that differ by less are the same but for rounding.
const ALIKE: f64 = 1e-6;

/// A difference in utilisation that is not seen in whole percents.
const UNSEEN: f64 = 0.005;

impl Explanation {
    /// Why the Pod went to `node`, by the answer with these terms; `None` if they do not say.
    pub fn reason(&self, node: &str) -> Option<String> {
        let here = self.nodes.iter().find(|one| one.name == node)?;
        if let Some(name) = &self.unjudged
            && !Exemption::named(name).is_some_and(Exemption::is_scored)
        {
            let why = Exemption::named(name)
                .map_or_else(|| name.to_string(), |why| why.explanation().to_owned());
            return Some(format!("{LEFT_OPEN}: {why}"));
        }
        let open = || self.nodes.iter().filter(|one| one.schedulable);
        if here.passes && open().filter(|one| one.passes).count() == 1 {
            return Some(only(open().filter(|one| !one.passes)));
        }
        let sent = here.score?;
        let best = self.nodes.iter().filter_map(|one| one.score).max()?;
        let totals = || self.nodes.iter().filter_map(|one| one.total);
        let highest = totals().fold(f64::NEG_INFINITY, f64::max);
        let lowest = totals().fold(f64::INFINITY, f64::min);
        Some(if highest - lowest < ALIKE {
            format!("{LEFT_OPEN}: every node is as even")
        } else if sent < best {
            let most_even = self.best.as_deref().unwrap_or("another node");
            format!("{LEFT_OPEN}: {most_even} is more even")
        } else {
            self.most_even(here)
        })
    }

    /// The resource that speaks most for the node with the best score.
    fn most_even(&self, here: &NodeExplanation) -> String {
        let others = || {
            self.nodes
                .iter()
                .filter(|one| one.score.is_some() && one.name != here.name)
        };
        let gain = |resource: Resource| {
            let here = self.with_the_pod(here, resource)?;
            let there: Vec<f64> = others()
                .filter_map(|one| self.with_the_pod(one, resource))
                .collect();
            let count = f64::from(u32::try_from(there.len()).ok().filter(|count| *count > 0)?);
            let there = there.iter().sum::<f64>() / count;
            Some((resource, here, there))
        };
        let weighed = |(resource, here, there): &(Resource, f64, f64)| {
            self.weights.0[*resource] * (there - here)
        };
        let gains = Resource::ALL.into_iter().filter_map(gain);
        let most = gains.max_by(|a, b| weighed(a).total_cmp(&weighed(b)));
        match most.filter(|(_, here, there)| there - here > UNSEEN) {
            Some((resource, here, there)) => format!(
                "most even: {} {:.0} % here, {:.0} % elsewhere",
                resource.noun(),
                here * 100.0,
                there * 100.0
            ),
            None => "most even over all resources".to_owned(),
        }
    }

    fn with_the_pod(&self, node: &NodeExplanation, resource: Resource) -> Option<f64> {
        let demand = &self.demand.0[resource];
        let term = &node.resources.0[resource];
        let capacity = term
            .capacity
            .filter(|capacity| *capacity > 0 && demand.assumed > 0)?;
        let used = term.load.saturating_add(demand.assumed);
        Some(Amount::new(used).as_f64() / Amount::new(capacity).as_f64())
    }
}

/// The reason for the only node that passes: the resources for which the `others` have no room.
fn only<'a>(others: impl Iterator<Item = &'a NodeExplanation>) -> String {
    let refusing: Vec<&str> = others
        .flat_map(|one| &one.refused_by)
        .map(AsRef::as_ref)
        .collect();
    let refuse = |resource: &Resource| refusing.contains(&resource.as_str());
    let named: Vec<&str> = Resource::ALL
        .into_iter()
        .filter(refuse)
        .map(Resource::noun)
        .collect();
    match &named[..] {
        [] => "the only node that kube-scheduler left".to_owned(),
        [_] | [_, _] => format!("the only node with headroom for {}", named.join(" and ")),
        _ => "the only node with headroom".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use evenkeel_objects::pod::Pod;
    use serde_json::{Value, json};

    use crate::extender::decide::tests::{call, policy, snapshot};
    use crate::extender::explain::explain_among;

    /// The reason for a Pod of `cpu` millicores on `node`; each node has 1000 of everything and
    /// uses so much.
    fn reason(namespace: &str, cpu: &str, nodes: &[(&str, u64)], node: &str) -> Option<String> {
        let pod: Value = json!({
            "metadata": {"name": "p", "namespace": namespace, "uid": "1"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]},
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let (snapshot, policy) = (snapshot(nodes), policy());
        let names = nodes.iter().map(|(name, _)| Cow::Borrowed(*name)).collect();
        explain_among(&pod, &call(&snapshot, &policy), names).reason(node)
    }

    #[test]
    fn a_placement_has_its_reason_in_words() {
        let nodes = [("a", 100), ("b", 500), ("c", 600)];
        let full = [("a", 100), ("b", 900), ("c", 950)];
        let alike = [("a", 300), ("b", 300)];
        for (namespace, nodes, node, expected) in [
            (
                "shop",
                &nodes[..],
                "a",
                "most even: cpu 20 % here, 65 % elsewhere",
            ),
            (
                "shop",
                &nodes,
                "b",
                "kube-scheduler's own preference: a is more even",
            ),
            ("shop", &full, "a", "the only node with headroom"),
            (
                "shop",
                &full[..1],
                "a",
                "the only node that kube-scheduler left",
            ),
            (
                "shop",
                &alike,
                "b",
                "kube-scheduler's own preference: every node is as even",
            ),
            (
                "other",
                &nodes,
                "b",
                "kube-scheduler's own preference: its namespace is not known",
            ),
        ] {
            let found = reason(namespace, "100m", nodes, node);
            assert_eq!(found.as_deref(), Some(expected));
        }
        assert_eq!(reason("shop", "100m", &nodes, "unknown"), None);
        assert_eq!(reason("shop", "100m", &full, "b"), None, "it was refused");
    }
}
