//! The measurements of one node, how long they count, and the values that count in their place.

use jiff::{SignedDuration, Timestamp};

use super::NodeEntry;
use crate::placement::node_table::node_set::Freshness;
use crate::placement::node_table::resource_sums::clamp;
use crate::placement::node_table::settings::Settings;
use crate::placement::usage::NodeSample;
use crate::units::{Amount, Resource, Resources};

/// The share of two minutes, in thousandths, above which waiting for I/O counts as over the line: disks
/// that keep up with what is asked of them let tasks wait far less.
const IO_PRESSURE_LIMIT: Amount = Amount::new(400);

impl NodeEntry {
    /// Takes new measurements; a resource that a round lacks keeps its last value and its age. A value from
    /// the future, by a clock that was wrong for a while, gives way to any other.
    pub(in super::super) fn measure(
        &mut self,
        round: &Resources<Option<NodeSample>>,
        settings: &Settings,
        now: Timestamp,
    ) {
        for (resource, new) in round.iter() {
            let created = self.facts.and_then(|facts| facts.created);
            let new = new.filter(|new| created.is_none_or(|created| new.at >= created));
            let before = self.measured[resource].map(|known| known.at);
            renew(&mut self.measured[resource], new, now);
            let after = self.measured[resource];
            if let Some(newer) = after.filter(|after| before != Some(after.at)) {
                let max_age = settings.max_age_of(resource);
                self.came_late[resource] = !is_fresh(&newer, max_age, now);
            }
        }
    }

    /// Drops the network use of a round without the capacity of the rated interfaces, while that capacity is
    /// remembered: the use is of all interfaces. Once the last rated use is too old, it forgets that capacity.
    pub(in super::super) fn keep_network_pair(
        &mut self,
        round: &mut Resources<Option<NodeSample>>,
        settings: &Settings,
        now: Timestamp,
    ) {
        let network = Resource::NetworkIo;
        if self.declares_network_capacity()
            || self.network_speed.is_none_or(|speed| !speed.is_rated)
        {
            return;
        }
        let longest = settings.kept.max(settings.max_age_of(network));
        if self.measured[network].is_some_and(|used| is_fresh(&used, longest, now)) {
            round[network] = None;
        } else {
            self.network_speed = None;
        }
    }

    /// True where the source goes on telling of the node, and all that it tells was old when it came: one of the
    /// clocks is off, or samples are long on their way.
    pub(super) fn is_told_late(&self, settings: &Settings, now: Timestamp) -> bool {
        let told = self.measured.iter().filter_map(|(resource, measured)| {
            let kept = is_fresh(&(*measured)?, settings.kept, now);
            Some((resource, kept && self.came_late[resource]))
        });
        // Disk may be measured apart from the others, and says nothing of their source.
        told.filter(|(resource, _)| *resource != Resource::Disk)
            .any(|(_, late)| late)
    }

    /// The same of the node's I/O pressure.
    pub(in super::super) fn measure_io_pressure(
        &mut self,
        new: Option<NodeSample>,
        now: Timestamp,
    ) {
        renew(&mut self.io_pressure, new, now);
    }

    /// N: what is measured and what is on its way, less what has gone. Without a fresh measurement the
    /// larger of the last one and the sum of demands: where an exporter dies on the hottest node, the
    /// node must not look cool.
    pub(super) fn load(
        &self,
        resource: Resource,
        freshness: Freshness,
        settings: &Settings,
        now: Timestamp,
    ) -> Amount {
        let awaited = self.awaited.of(resource);
        let measured = self.measured[resource];
        let known = |measured: NodeSample| u128::from(measured.value.get());
        if let (Freshness::Fresh, Some(measured)) = (freshness, measured) {
            let coming = self.in_flight.of(resource) + awaited;
            return clamp((known(measured) + coming).saturating_sub(self.ended_usage.of(resource)));
        }
        let longest = settings.kept.max(settings.max_age_of(resource));
        let kept = measured.filter(|measured| is_fresh(measured, longest, now));
        clamp(kept.map_or(0, known).max(self.committed.of(resource)) + awaited)
    }

    /// The next time at which one of the measurements grows stale, or is kept no longer.
    pub(in super::super) fn unchanged_until(
        &self,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let measured = self
            .measured
            .iter()
            .filter_map(|(resource, measured)| Some(((*measured)?, settings.max_age_of(resource))));
        let pressure = self
            .io_pressure
            .map(|pressure| (pressure, settings.max_age));
        let ends = measured.chain(pressure).flat_map(|(measured, max_age)| {
            [max_age, settings.kept].map(|age| measured.at.checked_add(age).ok())
        });
        ends.flatten().filter(|end| *end >= now).min()
    }

    /// True while a fresh measurement says so.
    pub(super) fn is_io_pressed(&self, settings: &Settings, now: Timestamp) -> bool {
        self.io_pressure.is_some_and(|pressure| {
            pressure.value > IO_PRESSURE_LIMIT && is_fresh(&pressure, settings.max_age, now)
        })
    }

    pub(super) fn freshness(
        &self,
        resource: Resource,
        settings: &Settings,
        now: Timestamp,
    ) -> Freshness {
        match self.measured[resource] {
            None => Freshness::Absent,
            Some(measured) if is_fresh(&measured, settings.max_age_of(resource), now) => {
                Freshness::Fresh
            }
            Some(_) => Freshness::Stale,
        }
    }
}

/// Takes a new measurement in the place of the `known` one, unless that is newer.
fn renew(known: &mut Option<NodeSample>, new: Option<NodeSample>, now: Timestamp) {
    if let Some(new) = new
        && known.is_none_or(|known| known.at <= new.at || known.at > now)
    {
        *known = Some(new);
    }
}

/// True within the maximum age. A time far in the future is a wrong clock, and no fresher than one far
/// in the past.
fn is_fresh(measured: &NodeSample, max_age: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(measured.at).abs() <= max_age
}
