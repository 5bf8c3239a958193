//! The workload that a load of a file is put on: its Pods, its HPA, and the unit of the load.

use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_quantity::Quantity;
use evenkeel_sandbox::scrape_timing::Timing;
use evenkeel_sandbox::target_replay::{Edges, ReplayTarget};
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_terminal::output::CliFailure;
use evenkeel_units::{Amount, Ratio, Resource, count_as_f64};
use jiff::SignedDuration;

use super::csv_load::CsvLoadUnit;
use super::grid::TraceSample;

#[derive(Debug, Clone, Copy)]
pub(super) struct FileWorkload {
    pub resource: Resource,
    pub request: Quantity,
    /// The target utilisation of it.
    pub share: Ratio,
    pub min: i32,
    pub max: i32,
    /// The time that a Pod takes until it is ready.
    pub start_up: SignedDuration,
}

impl FileWorkload {
    pub(super) fn target(&self) -> Result<ReplayTarget, CliFailure> {
        let request = base_units(self.resource, self.request);
        Ok(ReplayTarget {
            resource: self.resource,
            capacity: PodCapacity::new(request, self.share).map_err(CliFailure::call)?,
            bounds: ReplicaBounds::new(self.min, self.max)
                .map_err(|error| CliFailure::call(format_args!("--min, --max: {error}")))?,
            start_up: self.start_up,
            metrics: Timing::default(),
            edges: Edges::default(),
            initial: None,
        })
    }
}

pub(super) fn base_units(resource: Resource, quantity: Quantity) -> f64 {
    let amount = match resource {
        Resource::Cpu => quantity.milli_ceil(),
        _ => quantity.ceil(),
    };
    Amount::new(amount).as_f64()
}

pub(super) fn factor(resource: Resource, unit: Option<CsvLoadUnit>) -> Result<f64, CliFailure> {
    let is_cpu = resource == Resource::Cpu;
    let unit = match unit {
        Some(unit) if unit.is_cpu() != is_cpu => {
            let accepted = if is_cpu {
                "cores or millicores"
            } else {
                "bytes, MiB or GiB"
            };
            return Err(CliFailure::call(format_args!(
                "--unit is not one of {resource}; accepted: {accepted}"
            )));
        }
        Some(unit) => unit,
        None if is_cpu => CsvLoadUnit::Cores,
        None => {
            return Err(CliFailure::call(
                "memory needs --unit; accepted: bytes, MiB or GiB",
            ));
        }
    };
    Ok(unit.factor())
}

pub(super) fn scale(samples: &mut [TraceSample], factor: f64) {
    for sample in samples {
        sample.value = sample.value.map(|value| value * factor);
    }
}

/// Refuses a load without a unit that would be far too much in cores and well in millicores.
pub(super) fn unambiguous(samples: &[TraceSample], target: &ReplayTarget) -> Result<(), String> {
    let values: Vec<f64> = samples.iter().filter_map(|sample| sample.value).collect();
    let mean = values.iter().sum::<f64>() / count_as_f64(values.len().max(1));
    let most = f64::from(target.bounds.max()) * target.capacity.request();
    if target.resource == Resource::Cpu && mean > 10.0 * most && mean / 1000.0 <= 10.0 * most {
        return Err(format!(
            "its mean of {:.0} would be cores for {:.0} Pods of {}m; set --unit millicores, or \
             --unit cores if that is right",
            mean / 1000.0,
            mean / target.capacity.request(),
            target.capacity.request()
        ));
    }
    Ok(())
}
