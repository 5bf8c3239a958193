//! The entry of the fuzz targets to the readers of answers, which nothing else calls from outside.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use evenkeel_objects::pod_name::PodNames;
use evenkeel_units::{Resource, Resources};
use jiff::{SignedDuration, Timestamp};

use super::grid::Grid;
use super::names::NodeLabel;
use super::queries::OfInterfaces;
use super::range;
use super::reader::PromAnswerReader;
use crate::metrics::answer::Answers;
use crate::metrics::query::UsageQuery;

/// Reads the body as the answer to each kind of query, the times first, to date the rest.
///
/// # Panics
/// A reader does; a fuzz target takes note of it.
pub fn read(body: &[u8]) {
    let now = Timestamp::from_second(1_800_000_000).expect("a time in range");
    let window = SignedDuration::from_mins(2);
    let reader = PromAnswerReader {
        window,
        dated_by: Resources::from_fn(|_| Resource::Cpu),
        of_interfaces: OfInterfaces {
            used: true,
            capacity: false,
        },
        node_label: NodeLabel::default(),
        addresses: ArcSwap::default(),
        pod_names: Mutex::new(PodNames::default()),
    };
    let mut answers = Answers::default();
    for query in [
        UsageQuery::SampleTime(Resource::Cpu),
        UsageQuery::Node(Resource::Cpu),
        UsageQuery::Node(Resource::NetworkIo),
        UsageQuery::NetworkCapacity,
        UsageQuery::IoPressure,
        UsageQuery::Pod(Resource::Memory),
    ] {
        if let Ok(answer) = reader.read(query, &answers, now, body) {
            answers.push(query, Arc::new(answer));
        }
    }
    let first = now - SignedDuration::from_hours(1);
    let grid = Grid {
        first,
        step: window,
        points: 30,
    };
    let _ = range::read(body, range::RangeValueUnit::Of(Resource::Cpu), &grid);
    let _ = super::answer::refusal(body);
}
