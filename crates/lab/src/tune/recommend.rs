//! `evenkeel tune recommend`: for each container its requests, its use, and what its template
//! should say. Templates follow days; a resize in place follows minutes. It only reads and prints.

mod args;
mod cluster;
mod manifest_files;
mod report;
mod workload;

use args::RecommendFormat;
use evenkeel_objects::qos_class::QosClass;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::runtime::runtime;
use evenkeel_tuning::decision::{ContainerHistory, Elasticity, lasting};
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use report::{RecommendReport, RecommendedContainer, RecommendedWorkload};
use workload::TuneCandidate;

pub use args::Args;

pub fn run(args: &Args) -> Result<(), CliFailure> {
    let workloads = if let Some(file) = &args.file {
        manifest_files::workloads(file, args)?
    } else {
        runtime()?.block_on(Box::pin(cluster::workloads(args)))?
    };
    let recommended = RecommendReport::of(workloads.iter().map(recommend).collect());
    match args.output {
        RecommendFormat::Table => output::print(&recommended, Format::Table)?,
        RecommendFormat::Json => output::print(&recommended, Format::Json)?,
        RecommendFormat::Yaml => output::print(&recommended, Format::Yaml)?,
        RecommendFormat::Patches => recommended.print_patches()?,
    }
    recommended.verdict()
}

fn recommend(workload: &TuneCandidate) -> RecommendedWorkload {
    let all = workload
        .containers
        .iter()
        .map(|container| &container.values);
    let guaranteed = QosClass::of(all) == QosClass::Guaranteed;
    let shown = workload.containers.iter().filter(|one| one.is_shown);
    let containers = shown.map(|container| {
        let of = CpuMemory::from_fn(|resource| {
            let history = ContainerHistory {
                resource,
                current: container.values[resource],
                guaranteed,
                scaled_by: workload.scaled_by[resource],
                allowed: workload.policy.allowed(&container.name, resource),
                samples: &container.used[resource],
                throttled: container
                    .throttled
                    .filter(|_| resource == TunedResource::Cpu),
                oom_kills: container
                    .oom_kills
                    .filter(|_| resource == TunedResource::Memory),
            };
            lasting(&history, Elasticity::default())
        });
        RecommendedContainer::new(container, &of)
    });
    RecommendedWorkload::new(workload, containers.collect())
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use serde_json::{Value, json};

    use super::*;

    fn deployment(init: &Value) -> TuneCandidate {
        let equal = json!({"cpu": "600m", "memory": "400Mi"});
        let resources = json!({"requests": equal, "limits": equal});
        let object = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"template": {"spec": {
            "containers": [{"name": "app", "resources": resources}],
            "initContainers": [{"name": "side", "restartPolicy": "Always", "resources": resources}, init]}}}});
        let mut workload = manifest_files::workload(Kind::Deployment, &object).unwrap();
        for container in &mut workload.containers {
            container.used.cpu = vec![vec![100.0; 300]];
        }
        workload
    }

    #[test]
    fn a_patch_names_each_container_in_its_own_list() {
        let recommended = recommend(&deployment(&json!({"name": "init"})));
        let spec =
            serde_json::to_value(&recommended).unwrap()["patch"]["spec"]["template"]["spec"].take();
        let names = |list: &str| {
            let all = spec[list].as_array().unwrap().iter();
            all.map(|one| one["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("containers"), ["app"]);
        assert_eq!(
            names("initContainers"),
            ["side"],
            "the one that ends is as it was"
        );
    }

    #[test]
    fn the_class_is_that_of_all_containers() {
        let request = |init: &Value| {
            let recommended = serde_json::to_value(recommend(&deployment(init))).unwrap();
            recommended["containers"][0]["proposed"]["requests"]["cpu"].clone()
        };
        let equal = json!({"cpu": "600m", "memory": "400Mi"});
        let limited = json!({"name": "init", "resources": {"requests": equal, "limits": equal}});
        assert_eq!(request(&limited), "120m", "it moves with the limit");
        assert_eq!(request(&json!({"name": "init"})), "100m");
    }
}
