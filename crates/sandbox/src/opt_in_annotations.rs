//! The scenario's objects with the annotations by which a cluster opts in to Evenkeel and announces
//! network and disk.

use evenkeel_objects::annotations::{
    DISK_IO, DISK_IO_CAPACITY, ENABLED, NETWORK_CAPACITY, NETWORK_IO,
};
use evenkeel_units::{Amount, BytesPerSecond, Resource};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::ResourceExt as _;

use crate::objects;
use crate::scenario::{NodeShape, ScenarioWorkload};

pub fn namespace(name: &str) -> Namespace {
    let mut namespace = objects::namespace(name);
    let annotations = namespace.annotations_mut();
    annotations.insert(ENABLED.to_owned(), "true".to_owned());
    namespace
}

/// Announces its network and disk speeds.
pub fn node(shape: &NodeShape) -> Node {
    let mut node = objects::node(shape);
    for (key, resource) in [
        (NETWORK_CAPACITY, Resource::NetworkIo),
        (DISK_IO_CAPACITY, Resource::DiskIo),
    ] {
        let rate = BytesPerSecond(shape.capacity[resource].get());
        node.annotations_mut()
            .insert(key.to_owned(), rate.to_string());
    }
    node
}

/// Its Pods have annotations for their network and disk rates.
pub fn deployment(workload: &ScenarioWorkload) -> Deployment {
    let mut deployment = objects::deployment(workload);
    let template = deployment.spec.as_mut().map(|spec| &mut spec.template);
    let metadata = template.map(|template| template.metadata.get_or_insert_default());
    let annotations = metadata.map(|metadata| metadata.annotations.get_or_insert_default());
    let Some(annotations) = annotations else {
        return deployment;
    };
    for (key, resource) in [
        (NETWORK_IO, Resource::NetworkIo),
        (DISK_IO, Resource::DiskIo),
    ] {
        let amount = workload.demand[resource];
        if amount > Amount::ZERO {
            let rate = BytesPerSecond(amount.get());
            annotations.insert(key.to_owned(), rate.to_string());
        }
    }
    deployment
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::capacities::Capacities;
    use evenkeel_objects::node::node_facts;
    use evenkeel_placement::demand::demand;

    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn what_evenkeel_reads_of_the_objects_is_what_the_scenario_says() {
        let scenario = Scenario::mixed();
        for workload in &scenario.workloads {
            let template = deployment(workload).spec.unwrap().template;
            let pod = serde_json::from_value(serde_json::to_value(&template).unwrap()).unwrap();
            assert_eq!(
                demand(&pod, false).amounts,
                workload.demand,
                "{}",
                workload.name
            );
        }
        for shape in &scenario.nodes {
            let mut object = serde_json::to_value(node(shape)).unwrap();
            json_patch::merge(
                &mut object,
                &objects::node_status(shape, true, jiff::Timestamp::UNIX_EPOCH),
            );
            let node = serde_json::from_value(object).unwrap();
            let (facts, invalid) = node_facts(&node, &Capacities::default());
            assert_eq!(facts.capacity, shape.capacity.map(Some));
            assert!(invalid.is_empty());
        }
    }
}
