//! A Pod as placement counts it on a node.

use evenkeel_units::{Amount, Resources};
use jiff::Timestamp;

use crate::pod_name::PodName;

/// The facts of a Pod that its object tells.
#[derive(Debug, Clone, Copy)]
pub struct BoundPod<'a> {
    /// Namespace and name, by which metrics know the Pod.
    pub name: &'a PodName,
    /// The node it is bound to, is nominated for, or will most likely get.
    pub node: Option<&'a str>,
    /// R: its demand.
    pub demand: Resources<Amount>,
    /// Its possible use beyond R while it warms up, until measurements hold all of the Pod.
    pub start_up: Resources<Amount>,
    /// When it was bound; where that is not told, the time counts at which it was first seen bound.
    pub bound: Option<Timestamp>,
    /// The start of the first of its containers, init containers included, from which on samples
    /// hold what it uses.
    pub first_started: Option<Timestamp>,
    /// The start of the last of its containers; `None` while one has not started, for example
    /// while its image is pulled.
    pub started: Option<Timestamp>,
    /// The end of the last container, once all have ended.
    pub finished: Option<Timestamp>,
    /// True while it is being deleted.
    pub terminating: bool,
    /// True where it shares the network of its node, so that what is measured of its network is
    /// the whole node's.
    pub host_network: bool,
    /// True where volumes or devices may have to be made for it between the choice of its node and its
    /// binding.
    pub provisions: bool,
    /// The group that it is scheduled with, by a name within its namespace.
    pub group: Option<&'a str>,
}

impl<'a> BoundPod<'a> {
    /// A Pod of which nothing more is told than where it is and what it demands.
    pub const fn on(name: &'a PodName, node: Option<&'a str>, demand: Resources<Amount>) -> Self {
        Self {
            name,
            node,
            demand,
            start_up: Resources::new([Amount::ZERO; 5]),
            bound: None,
            first_started: None,
            started: None,
            finished: None,
            terminating: false,
            host_network: false,
            provisions: false,
            group: None,
        }
    }
}
