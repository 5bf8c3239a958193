//! `GET /api/v1/nodes`: the load of each node in the newest snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use evenkeel_placement::extender::explain::ResourceMap;
use evenkeel_placement::headroom;
use evenkeel_placement::node_table::NodeState;
use evenkeel_placement::snapshot::Snapshot;
use evenkeel_units::{Ratio, Resources};

use super::json_answer::json_answer;
use crate::api;
use crate::api::nodes::{NodeUsage, NodeUsageList, ResourceUsage};
use crate::server::ApiError;
use crate::server::handlers::Handlers;

pub(super) fn routes(handlers: &Handlers) -> Router {
    Router::new().route(api::NODES, get(list).with_state(handlers.clone()))
}

async fn list(State(handlers): State<Handlers>) -> Result<Response, ApiError> {
    json_answer(move || {
        let snapshot = handlers.cluster.snapshot();
        let headroom = handlers.policy.headroom;
        NodeUsageList {
            at: handlers.cluster.now(),
            synced: snapshot.synced,
            headroom: headroom.get(),
            nodes: usage(&snapshot, &handlers.cluster.overloaded(), headroom),
        }
    })
    .await
}

/// The nodes of a snapshot with Evenkeel's own taints, `overloaded` by name.
pub(super) fn usage(
    snapshot: &Snapshot,
    overloaded: &BTreeMap<String, String>,
    headroom: Ratio,
) -> Vec<Arc<NodeUsage>> {
    let nodes = snapshot.nodes.iter();
    nodes
        .map(|node| Arc::new(of_node(node, overloaded.get(&*node.name), headroom)))
        .collect()
}

fn of_node(node: &NodeState, overload: Option<&String>, headroom: Ratio) -> NodeUsage {
    let over = headroom::refusing(&Resources::default(), &node.load, headroom);
    NodeUsage {
        name: Arc::clone(&node.name),
        schedulable: node.schedulable,
        tainted: node.tainted,
        overload: overload.cloned(),
        estimated: node.is_estimated(),
        over: over
            .iter()
            .map(|resource| resource.as_str().into())
            .collect(),
        resources: ResourceMap(Resources::from_fn(|resource| ResourceUsage {
            load: node.load.load[resource].get(),
            capacity: node.load.capacity[resource].map(evenkeel_units::Amount::get),
            freshness: node.freshness[resource].as_str().into(),
        })),
    }
}
