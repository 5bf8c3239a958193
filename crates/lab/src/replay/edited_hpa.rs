//! HPAs of a manifest in place of those of a scenario.

use std::path::Path;

use evenkeel_objects::kinds::Kind;
use evenkeel_sandbox::recording::read_scale;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_service::config::yaml;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use evenkeel_units::Resource;
use serde_json::Value;

/// Applies all HPAs of a manifest.
///
/// # Errors
/// No HPA, one of another workload, or one that cannot be replayed.
pub(super) fn apply(file: &Path, scenario: &mut Scenario) -> Result<(), CliFailure> {
    let refuse = |what: String| CliFailure::call(format_args!("{}: {what}", file.display()));
    let text = output::read_input(file)?;
    let objects = yaml::parse_objects(&text);
    let objects = objects.map_err(|error| refuse(format!("is not YAML: {error}")))?;
    let is_hpa = |object: &&Value| {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        Kind::of(text("apiVersion"), text("kind")) == Some(Kind::HorizontalPodAutoscaler)
    };
    let hpas: Vec<&Value> = objects.iter().filter(is_hpa).collect();
    if hpas.is_empty() {
        return Err(refuse(
            "holds no HPA; accepted: HorizontalPodAutoscalers of autoscaling/v2".to_owned(),
        ));
    }
    for hpa in hpas {
        one(hpa, scenario).map_err(refuse)?;
    }
    Ok(())
}

fn one(hpa: &Value, scenario: &mut Scenario) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = hpa["metadata"]["namespace"].as_str().unwrap_or("default");
    let target = text(&hpa["spec"]["scaleTargetRef"]["name"]);
    let mut workloads = scenario.workloads.iter_mut();
    let own = workloads.find(|one| one.namespace == namespace && one.name == target);
    let Some(workload) = own else {
        let names = scenario.workloads.iter();
        let names: Vec<String> = names
            .take(20)
            .map(|one| format!("{}/{}", one.namespace, one.name))
            .collect();
        return Err(format!(
            "scaleTargetRef {namespace}/{target} is not in the record; accepted: {}",
            names.join(", ")
        ));
    };
    let place = format!("HPA {namespace}/{}", text(&hpa["metadata"]["name"]));
    let read = read_scale(&hpa["spec"], workload.demand[Resource::Cpu]);
    let read = read.map_err(|error| format!("{place}: {error}"))?;
    let scale = read.scale.ok_or_else(|| {
        format!(
            "{place}: it has no target of cpu that can be replayed; accepted: a metric of the type \
             Resource, cpu, of at most 100 % of the request"
        )
    })?;
    if workload.scale.is_none() {
        return Err(format!(
            "{place}: {namespace}/{target} has no HPA in the record that can be replayed, so there is nothing to \
             compare with; accepted: workloads with a recorded HPA by cpu"
        ));
    }
    if !read.left_out.is_empty() {
        output::warn(&format!(
            "{place}: not replayed: {}",
            read.left_out.join(", ")
        ));
    }
    let annotations = hpa["metadata"]["annotations"]
        .as_object()
        .into_iter()
        .flatten();
    workload.scale_annotations = annotations
        .map(|(key, value)| (key.clone(), text(value)))
        .collect();
    workload.scale = Some(scale);
    Ok(())
}
