//! The load of a target in little room: now and as forecast, in the usual unit.

use evenkeel_metrics::load_unit::{LoadUnit, ReadableUnit};
use evenkeel_scaling::status::dashboard::{ForecastTrust, LoadForecast, LoadStatus, ScalingStatus};
use evenkeel_units::Resource;

pub(super) struct ShownLoad<'a> {
    status: &'a LoadStatus,
    unit: ReadableUnit,
}

impl<'a> ShownLoad<'a> {
    /// The load of cpu, else the first.
    pub(super) fn of(target: &'a ScalingStatus) -> Option<Self> {
        let cpu = |load: &&LoadStatus| load.resource == Resource::Cpu.as_str();
        let loads = &target.loads;
        let status = loads.iter().find(cpu).or_else(|| loads.first())?;
        let forecast = status.forecast.as_ref().map(|forecast| forecast.mean);
        let size = status.now.or(forecast).unwrap_or_default();
        Some(Self {
            status,
            unit: LoadUnit::named(&status.unit)
                .unwrap_or(LoadUnit::One)
                .readable(size),
        })
    }

    pub(super) fn now(&self) -> Option<String> {
        self.status.now.map(|now| self.unit.amount(now))
    }

    /// A forecast with its model and how it compares with a naive one, in a sentence.
    pub(super) fn to_come(&self) -> Option<String> {
        let LoadForecast { mean, model, .. } = self.status.forecast.as_ref()?;
        let trust = self.trusted().map_or_else(
            || " (not trusted)".to_owned(),
            |trust| {
                let ratio = trust
                    .ratio
                    .map(|ratio| format!(" (error {ratio:.2} of naive)"));
                ratio.unwrap_or_default()
            },
        );
        let mean = self.unit.number(*mean);
        Some(format!("{mean} to come by {model}{trust}"))
    }

    /// A forecast in a column: its model if trusted, else `unused`, or `learning` before its first
    /// comparison.
    pub(super) fn forecast(&self) -> Option<String> {
        let LoadForecast { mean, model, .. } = self.status.forecast.as_ref()?;
        let mean = self.unit.number(*mean);
        Some(match &self.status.trust {
            Some(trust) if trust.trusted => format!("{mean} by {model}"),
            Some(trust) if trust.ratio.is_some() => format!("{mean} unused"),
            _ => format!("{mean} learning"),
        })
    }

    /// True where the forecast may be acted on; `None` without one to judge.
    pub(super) fn is_trusted(&self) -> Option<bool> {
        self.status.trust.as_ref().map(|trust| trust.trusted)
    }

    fn trusted(&self) -> Option<&ForecastTrust> {
        self.status.trust.as_ref().filter(|trust| trust.trusted)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_service::api::scaling::sample;

    use super::*;

    const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

    #[test]
    fn a_load_is_told_in_its_own_unit() {
        let mut target = sample::status();
        let told = |target: &ScalingStatus| {
            let load = ShownLoad::of(target).unwrap();
            (
                load.now().unwrap(),
                load.forecast().unwrap(),
                load.to_come().unwrap(),
            )
        };
        let (now, forecast, to_come) = told(&target);
        assert_eq!(
            (now.as_str(), forecast.as_str()),
            ("4.1 cores", "7.2 by s-hpa")
        );
        assert_eq!(to_come, "7.2 to come by s-hpa (error 0.83 of naive)");

        let load = &mut target.loads[0];
        (load.resource, load.unit) = ("memory".into(), "bytes".into());
        load.now = Some(4.0 * GIB);
        load.forecast.as_mut().unwrap().mean = 0.5 * GIB;
        load.trust.as_mut().unwrap().trusted = false;
        let (now, forecast, to_come) = told(&target);
        assert_eq!(
            (now.as_str(), forecast.as_str()),
            ("4.0 GiB", "0.50 unused")
        );
        assert_eq!(to_come, "0.50 to come by s-hpa (not trusted)");
        target.loads[0].trust.as_mut().unwrap().ratio = None;
        assert_eq!(told(&target).1, "0.50 learning");
    }

    #[test]
    fn of_several_loads_that_of_cpu_is_shown() {
        let mut target = sample::status();
        let mut first = target.loads[0].clone();
        (first.resource, first.unit) = ("external/queue".into(), "".into());
        target.loads.insert(0, first);
        assert_eq!(ShownLoad::of(&target).unwrap().now().unwrap(), "4.1 cores");
        target.loads.truncate(1);
        assert_eq!(ShownLoad::of(&target).unwrap().now().unwrap(), "4100");
        target.loads.clear();
        assert!(ShownLoad::of(&target).is_none());
    }
}
