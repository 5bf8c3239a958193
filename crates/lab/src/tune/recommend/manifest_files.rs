//! A workload from its manifest, with what one container used from files.

use std::path::Path;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod::PodSpec;
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_service::config::yaml;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use evenkeel_tuning::plan::scaled_by_metrics;
use evenkeel_tuning::tuning_policy::TuningPolicy;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::Args;
use super::workload::{TemplateContainer, TuneCandidate};
use crate::forecast::csv_load;
use crate::forecast::csv_load::CsvSelection;

const CORE: f64 = 1000.0;

pub(super) fn workloads(file: &Path, args: &Args) -> Result<Vec<TuneCandidate>, CliFailure> {
    let refuse = |what: String| CliFailure::call(format_args!("{}: {what}", file.display()));
    let text = output::read_input(file)?;
    let objects =
        yaml::parse_objects(&text).map_err(|error| refuse(format!("is not YAML: {error}")))?;
    let mut workload = only_workload(&objects).map_err(refuse)?;
    let shown = workload.containers.iter().filter(|one| one.is_shown);
    let names: Vec<&str> = shown.map(|one| one.name.as_str()).collect();
    let name = match (&args.container, &names[..]) {
        (Some(name), names) if names.contains(&name.as_str()) => name.clone(),
        (None, [only]) => (*only).to_owned(),
        (_, names) => {
            let accepted = names.join(", ");
            return Err(refuse(format!(
                "--container is missing or unknown; accepted: {accepted}"
            )));
        }
    };
    let used = CpuMemory {
        cpu: values(args.cpu.as_deref(), CORE)?,
        memory: values(args.memory.as_deref(), 1.0)?,
    };
    for container in &mut workload.containers {
        if container.name == name {
            for resource in TunedResource::ALL {
                credible(&used[resource], resource)
                    .map_err(|what| refuse(format!("container {name}: {what}")))?;
            }
            container.used = used.clone();
        }
    }
    Ok(vec![workload])
}

fn only_workload(objects: &[Value]) -> Result<TuneCandidate, String> {
    let workloads = objects.iter().filter_map(|object| {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let kind = Kind::of(text("apiVersion"), text("kind"));
        let kind = kind.filter(|kind| Kind::WORKLOADS.contains(kind))?;
        Some((kind, object))
    });
    let all: Vec<(Kind, &Value)> = workloads.collect();
    let [(kind, object)] = all[..] else {
        let count = all.len();
        return Err(format!(
            "holds {count} workloads; accepted: one Deployment, StatefulSet, ReplicaSet or DaemonSet"
        ));
    };
    read_workload(kind, object)
}

/// Refuses what no container uses: more than any machine has.
fn credible(used: &[Vec<f64>], resource: TunedResource) -> Result<(), String> {
    let (most, unit) = match resource {
        TunedResource::Cpu => (Amount::new(4096 * 1000), "cores"),
        TunedResource::Memory => (Amount::new(64 << 40), "bytes"),
    };
    let highest = used.iter().flatten().copied().fold(0.0, f64::max);
    if highest <= most.as_f64() {
        return Ok(());
    }
    Err(format!(
        "its {} of up to {} is more than any machine has; accepted: {unit} of one container",
        resource.as_str(),
        resource.quantity(Amount::from_f64(highest)),
    ))
}

/// The values of a file in base units; none without a file.
fn values(path: Option<&Path>, factor: f64) -> Result<Vec<Vec<f64>>, CliFailure> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let selection = CsvSelection {
        column: None,
        from: None,
        to: None,
    };
    let samples = csv_load::read(path, &selection)?;
    let values = samples.iter().filter_map(|sample| sample.value);
    Ok(vec![values.map(|value| value * factor).collect()])
}

/// A workload as its object has it; `None` where it has no template that can be read.
pub(super) fn workload(kind: Kind, object: &Value) -> Option<TuneCandidate> {
    read_workload(kind, object).ok()
}

fn read_workload(kind: Kind, object: &Value) -> Result<TuneCandidate, String> {
    let metadata: evenkeel_objects::meta::Meta = part(object, "/metadata")?;
    let spec: PodSpec = part(object, "/spec/template/spec")?;
    let main = spec.containers.iter().map(|one| ("containers", one));
    let init = spec
        .init_containers
        .iter()
        .map(|one| ("initContainers", one));
    let containers = main.chain(init).map(|(list, container)| TemplateContainer {
        name: container.name.clone().unwrap_or_default(),
        list,
        is_shown: list == "containers" || container.is_sidecar(),
        values: container.resources.tuned(),
        used: CpuMemory::default(),
        throttled: None,
        oom_kills: None,
    });
    let (policy, _) = TuningPolicy::parse(&metadata.annotations);
    let (scaling, _) = ScalingPolicy::parse(&metadata.annotations);
    let scaled_by = if scaling.asks_for_scaling() {
        scaled_by_metrics(&scaling.metrics().0)
    } else {
        CpuMemory::default()
    };
    let replicas = object["spec"]["replicas"].as_u64().unwrap_or(1);
    Ok(TuneCandidate {
        namespace: metadata
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned()),
        kind,
        name: metadata.name.clone().unwrap_or_default(),
        replicas: u32::try_from(replicas).unwrap_or(u32::MAX),
        policy,
        scaled_by,
        containers: containers.collect(),
    })
}

fn part<T: DeserializeOwned>(object: &Value, pointer: &str) -> Result<T, String> {
    let path = pointer.trim_start_matches('/').replace('/', ".");
    let value = object.pointer(pointer).unwrap_or(&Value::Null);
    let read = serde_path_to_error::deserialize(value);
    read.map_err(|error| format!("{path}.{}: {}", error.path(), error.inner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_container_uses_more_than_any_machine_has() {
        let cpu = |highest: f64| credible(&[vec![1.0], vec![highest, 0.5]], TunedResource::Cpu);
        assert_eq!(cpu(100_000.0), Ok(()));
        assert_eq!(credible(&[], TunedResource::Memory), Ok(()));
        let told = cpu(1e33).expect_err("it is refused");
        assert!(told.contains("accepted: cores"), "{told}");
    }
}
