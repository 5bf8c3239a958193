//! A decision in words: what was seen, what it would have asked for, what came of it.

use std::fmt;

use super::decide::Floor;
use super::ds_hpa::{Basis, DynamicThreshold, InForce, Proposal, age};
use super::{LimitedBy, Load, Mode, Observation, Policy};
use crate::units::Resource;

/// Why nothing is decided at all.
pub(super) fn idle(mode: Mode) -> String {
    match mode {
        Mode::Off => "scaling is off".to_owned(),
        Mode::Recommend | Mode::Floor | Mode::Direct => {
            "scaled to zero, which switches scaling off".to_owned()
        }
    }
}

/// The parts of the sentence.
pub(super) struct Reason<'a> {
    pub(super) policy: &'a Policy,
    pub(super) observation: &'a Observation<'a>,
    pub(super) proposal: Option<Proposal>,
    pub(super) adopted: Option<Floor>,
    /// What changes, from what, to what.
    pub(super) change: (&'static str, i32, i32),
    pub(super) limited_by: Option<LimitedBy>,
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.proposal.map(|proposal| proposal.basis) {
            Some(Basis::Forecast(forecast)) => self.forecast(f, forecast)?,
            Some(Basis::DynamicThreshold(resource, threshold)) => {
                threshold_in_words(f, resource, threshold)?;
            }
            None => self.nothing(f)?,
        }
        if let Some(Floor { replicas, until }) = self.adopted {
            write!(f, ", floor {replicas} taken over until {until:.0}")?;
        }
        let (what, from, to) = self.change;
        if from == to {
            write!(f, ": {what} stays {to}")?;
        } else {
            write!(f, ": {what} {from} -> {to}")?;
        }
        match self.limited_by {
            Some(LimitedBy::MissingData) | None => Ok(()),
            Some(limit) => write!(f, ", limited by {limit}"),
        }
    }
}

impl Reason<'_> {
    fn forecast(&self, f: &mut fmt::Formatter<'_>, forecast: InForce) -> fmt::Result {
        let now = self.observation.now;
        let ahead = forecast.until.duration_since(now).as_secs();
        let mean = Shown(forecast.resource, forecast.mean);
        write!(f, "forecast {mean} in {ahead} s")?;
        let mut loads = self.observation.loads.iter();
        let Some(load) = loads.find(|load| load.resource == forecast.resource) else {
            return write!(f, ", {}", forecast.model);
        };
        if let Some(used) = load.used(now, self.policy.max_age) {
            let (scale, _) = unit(forecast.resource, forecast.mean);
            write!(f, " against {} now", Number(used / scale))?;
        }
        match load.predicted {
            Some(predicted) => write!(f, ", {} {}", forecast.model, predicted.trust),
            None => write!(f, ", {}", forecast.model),
        }
    }

    /// Why prediction asks for nothing.
    fn nothing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Observation { now, loads, .. } = *self.observation;
        let fresh = |load: &&Load<'_>| load.used(now, self.policy.max_age).is_some();
        if !loads.iter().any(|load| fresh(&load)) {
            f.write_str("no fresh measurement of the load")?;
            let ages = loads.iter().filter_map(|load| age(load, now));
            return match ages.min() {
                Some(age) => write!(f, " (the newest is {} s old)", age.as_secs()),
                None => Ok(()),
            };
        }
        let mut distrusted = loads
            .iter()
            .filter_map(|load| load.predicted.filter(|p| !p.trust.is_trusted()));
        match distrusted.next() {
            Some(predicted) => write!(f, "{} {}", predicted.model, predicted.trust),
            None => match loads.iter().find_map(|load| load.lacking) {
                Some(lacking) => write!(f, "too little history, {lacking}"),
                None => f.write_str("nothing to add to the HPA's own rule"),
            },
        }
    }
}

fn threshold_in_words(
    f: &mut fmt::Formatter<'_>,
    resource: Resource,
    threshold: DynamicThreshold,
) -> fmt::Result {
    let DynamicThreshold {
        growth,
        last,
        target,
        ..
    } = threshold;
    let way = if growth < 0.0 { "fell" } else { "rose" };
    let (by, last, target) = (growth.abs() * 100.0, last * 100.0, target * 100.0);
    write!(
        f,
        "{resource} {way} {by:.0} % to {last:.0} % of its request, d-hpa target {target:.0} %"
    )
}

/// A load in the unit that people use for it.
struct Shown(Resource, f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(resource, value) = *self;
        let (scale, name) = unit(resource, value);
        write!(f, "{} {name}", Number(value / scale))
    }
}

/// A number with the digits that matter.
struct Number(f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0 < 1.0 {
            2
        } else {
            usize::from(self.0 < 100.0)
        };
        write!(f, "{:.digits$}", self.0)
    }
}

/// The unit for values of the size of `value`, and how many base units it has.
fn unit(resource: Resource, value: f64) -> (f64, &'static str) {
    const KI: f64 = 1024.0;
    match resource {
        Resource::Cpu => (1000.0, "cores"),
        Resource::Memory | Resource::Disk if value >= KI * KI * KI => (KI * KI * KI, "GiB"),
        Resource::Memory | Resource::Disk => (KI * KI, "MiB"),
        Resource::NetworkIo | Resource::DiskIo => (1e6, "MB/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_told_in_the_units_of_people() {
        const MI: f64 = 1024.0 * 1024.0;
        for (resource, value, told) in [
            (Resource::Cpu, 7200.0, "7.2 cores"),
            (Resource::Cpu, 250.0, "0.25 cores"),
            (Resource::Cpu, 123_456.0, "123 cores"),
            (Resource::Memory, 700.0 * MI, "700 MiB"),
            (Resource::Memory, 3.1 * 1024.0 * MI, "3.1 GiB"),
            (Resource::NetworkIo, 12.5e6, "12.5 MB/s"),
        ] {
            assert_eq!(Shown(resource, value).to_string(), told);
        }
    }
}
