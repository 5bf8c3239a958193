//! The measurements of one node, their age limits, and the values in their place.

use evenkeel_metrics::usage::NodeSample;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::{SignedDuration, Timestamp};

use super::NodeEntry;
use crate::node_table::node_set::Freshness;
use crate::node_table::resource_sums::clamp;
use crate::node_table::settings::Settings;

/// Share of two minutes, in thousandths, above which waiting for I/O is over the line: disks that
/// keep up make tasks wait far less.
const IO_PRESSURE_LIMIT: Amount = Amount::new(400);

impl NodeEntry {
    /// A resource that a round lacks keeps its last value and age. A value from the future, from a
    /// wrong clock, gives way to any other.
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

    /// Drops a network use without the rated interfaces' capacity while that capacity is
    /// remembered, because the use is of all interfaces. Once the last rated use is too old,
    /// forgets the capacity.
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

    /// The source keeps sending, but all values are old on arrival: a clock is off, or samples are
    /// late.
    pub(super) fn is_told_late(&self, settings: &Settings, now: Timestamp) -> bool {
        let told = self.measured.iter().filter_map(|(resource, measured)| {
            let kept = is_fresh(&(*measured)?, settings.kept, now);
            Some((resource, kept && self.came_late[resource]))
        });
        // Disk may be measured apart, so it does not count.
        told.filter(|(resource, _)| *resource != Resource::Disk)
            .any(|(_, late)| late)
    }

    pub(in super::super) fn measure_io_pressure(
        &mut self,
        new: Option<NodeSample>,
        now: Timestamp,
    ) {
        renew(&mut self.io_pressure, new, now);
    }

    /// N: measured + in flight − gone. Without a fresh measurement, the larger of the last one and
    /// the sum of demands: if an exporter dies on the hottest node, the node must not look cool.
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

    /// The next time at which a measurement grows stale or is dropped.
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

    /// By a fresh measurement.
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

/// Keeps `known` if it is newer.
fn renew(known: &mut Option<NodeSample>, new: Option<NodeSample>, now: Timestamp) {
    if let Some(new) = new
        && known.is_none_or(|known| known.at <= new.at || known.at > now)
    {
        *known = Some(new);
    }
}

/// Within the maximum age. A time far in the future is a wrong clock, and no fresher than one far
/// in the past.
fn is_fresh(measured: &NodeSample, max_age: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(measured.at).abs() <= max_age
}
