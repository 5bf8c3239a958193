//! The findings on one node, and the terms that they come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use evenkeel_units::{Amount, Resource, ResourceSet, Resources};
use jiff::Timestamp;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer, de};

use crate::balance::NodeScore;
use crate::extender::placement_rules::PlacementRules;
use crate::headroom::HeadroomTerm;
use crate::node_table::NodeState;
use crate::{headroom, kube_scheduler_scores};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeExplanation {
    pub name: String,
    /// True for a node that is Ready and not cordoned.
    pub schedulable: bool,
    /// True where part of its load is a sum of demands, for want of fresh measurements.
    pub estimated: bool,
    /// True where the answer lets the Pod pass.
    pub passes: bool,
    /// The resources that refuse; for a node that passes without headroom, those that lack it.
    pub refused_by: Vec<Cow<'static, str>>,
    pub resources: ResourceMap<ResourceExplanation>,
    /// The balance score among the nodes that are scored, before it is rounded; 0 to 10.
    pub total: Option<f64>,
    pub score: Option<u8>,
    /// The score of kube-scheduler's own plugins, from a model of two of them. The model assumes
    /// that the others (taints, affinity, topology) score every node the same.
    pub modelled_in_tree: i64,
    /// That and the score with the shipped weight: by the same model the sum that decides.
    pub modelled_sum: Option<i64>,
}

/// The terms for one resource of one node, in millicores, bytes or bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceExplanation {
    /// N: the measured load, plus Pods in flight, minus Pods that are gone; without a fresh
    /// measurement the larger of the last one and the Pods' demands. With `warmUp` where
    /// `countsWarmUp`.
    pub load: u64,
    /// T; absent when it is not known, and the resource then takes no part.
    pub capacity: Option<u64>,
    /// The load as a share of the capacity, N / T.
    pub ratio: Option<f64>,
    /// (R + N) / T, which must be below h.
    pub ratio_after: Option<f64>,
    /// True if the capacity is unknown, and tasks wait for the resource so much that it counts as
    /// full.
    pub pressed: bool,
    /// The share of the time in which tasks waited for the resource, where that is measured.
    pub pressure: Option<f64>,
    /// True where the headroom rule holds for the resource.
    pub fits: bool,
    /// `fresh`, `stale` or `absent`.
    pub freshness: Cow<'static, str>,
    pub measured: Option<u64>,
    pub age_seconds: Option<i64>,
    /// The load of Pods that are placed there and not measured yet.
    pub in_flight: u64,
    /// The expected use of new Pods here beyond their demand while they warm up.
    #[serde(default)]
    pub warm_up: u64,
    /// The part of the measured load that comes from Pods that are gone.
    pub gone: u64,
    pub demanded: u64,
    /// The demand of Pods that may come here but are counted elsewhere. Headroom is kept for them
    /// while other nodes have room.
    pub possible: u64,
    /// D: the deviation among the scored nodes with the Pod here `[CLBP] (4.9)`.
    pub deviation: Option<f64>,
    /// S: the deviation normalised by itself to 0..10 `[CLBP] (4.10)`.
    pub score: Option<f64>,
}

pub(super) struct NodeFindings<'a> {
    pub(super) node: &'a NodeState,
    pub(super) possible: Resources<Amount>,
    pub(super) refused: ResourceSet,
    /// The demand that filter judged by.
    pub(super) demand: &'a Resources<Amount>,
    /// It counted what Pods may use while they warm up.
    pub(super) at_start: bool,
    pub(super) without_headroom: bool,
    pub(super) score: Option<(&'a NodeScore, u8)>,
}

impl NodeFindings<'_> {
    pub(super) fn explained(
        &self,
        judgement: &PlacementRules<'_>,
        now: Timestamp,
    ) -> NodeExplanation {
        let Self {
            node,
            possible: _,
            refused,
            demand,
            at_start,
            without_headroom,
            score,
        } = self;
        let load = if *at_start {
            &node.load_at_start()
        } else {
            &node.load
        };
        let terms = headroom::terms(demand, load, judgement.headroom);
        let in_tree = self.in_tree(&judgement.demand.assumed);
        let sent = score.map(|(_, sent)| sent);
        NodeExplanation {
            name: node.name.to_string(),
            schedulable: node.schedulable,
            estimated: node.is_estimated(),
            passes: refused.is_empty(),
            refused_by: named(if *without_headroom && refused.is_empty() {
                headroom::refusing(demand, load, judgement.headroom)
            } else {
                *refused
            }),
            resources: ResourceMap(Resources::from_fn(|resource| {
                self.of_resource(resource, &terms[resource], now)
            })),
            total: score.map(|(score, _)| score.total),
            score: sent,
            modelled_in_tree: in_tree,
            modelled_sum: sent.map(|sent| in_tree + i64::from(sent) * kube_scheduler_scores::POINT),
        }
    }

    fn of_resource(
        &self,
        resource: Resource,
        term: &HeadroomTerm,
        now: Timestamp,
    ) -> ResourceExplanation {
        let share = |amount: f64| {
            let capacity = term.capacity?.as_f64();
            (capacity > 0.0).then_some(amount / capacity)
        };
        let detail = &self.node.detail;
        let measured = detail.measured[resource];
        let of_score = |of: fn(&NodeScore, Resource) -> Option<f64>| {
            self.score.and_then(|(score, _)| of(score, resource))
        };
        ResourceExplanation {
            load: term.load.get(),
            capacity: term.capacity.map(Amount::get),
            ratio: share(term.load.as_f64()),
            ratio_after: share(term.load.as_f64() + term.demand.as_f64()),
            pressed: term.pressed,
            pressure: detail
                .io_pressure
                .filter(|_| resource == Resource::DiskIo)
                .map(|pressure| pressure.value.as_f64() / 1000.0),
            fits: term.fits,
            freshness: self.node.freshness[resource].as_str().into(),
            measured: measured.map(|measured| measured.value.get()),
            age_seconds: measured.map(|measured| now.duration_since(measured.at).as_secs()),
            in_flight: detail.in_flight[resource].get(),
            warm_up: self.node.start_up[resource].get(),
            gone: detail.gone[resource].get(),
            demanded: detail.committed[resource].get(),
            possible: self.possible[resource].get(),
            deviation: of_score(|score, resource| score.deviation[resource]),
            score: of_score(|score, resource| score.score[resource]),
        }
    }

    /// The score of the node by requests from kube-scheduler's plugins, as Evenkeel models them.
    fn in_tree(&self, demand: &Resources<Amount>) -> i64 {
        kube_scheduler_scores::by_requests(demand, &self.node.detail)
            + kube_scheduler_scores::TAINT_WEIGHT * kube_scheduler_scores::MOST
    }
}

fn named(refused: ResourceSet) -> Vec<Cow<'static, str>> {
    let names = refused.iter().map(Resource::as_str);
    names.map(Cow::Borrowed).collect()
}

/// One value a resource, written as a map in the usual order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceMap<T>(pub Resources<T>);

impl<T: Serialize> Serialize for ResourceMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(resource, value)| (resource.as_str(), value)),
        )
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ResourceMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values: BTreeMap<String, T> = BTreeMap::deserialize(deserializer)?;
        let mut value = |resource: Resource| {
            let value = values.remove(resource.as_str());
            value.ok_or_else(|| de::Error::custom(format_args!("{resource} is missing")))
        };
        let [cpu, memory, network_io, disk_io, disk] = Resource::ALL;
        Ok(Self(Resources::new([
            value(cpu)?,
            value(memory)?,
            value(network_io)?,
            value(disk_io)?,
            value(disk)?,
        ])))
    }
}
