//! The printed recommendations.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_tuning::decision::{Bound, TemplateRecommendation};
use evenkeel_tuning::resize_record::resources;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use evenkeel_units::{Amount, i64_as_f64, i64_nearest};
use serde::Serialize;
use serde_json::{Value, json};

use super::workload::{TemplateContainer, TuneCandidate};
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Report, Style, fit_to_width};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecommendReport {
    workloads: Vec<RecommendedWorkload>,
    /// Requests that are freed, in cores; below zero where more are asked for.
    cores_freed: f64,
    /// The same of memory, in bytes.
    memory_freed: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecommendedWorkload {
    namespace: String,
    kind: &'static str,
    name: String,
    replicas: u32,
    containers: Vec<RecommendedContainer>,
    /// The patch that makes the recommendation permanent; absent if nothing changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecommendedContainer {
    name: String,
    #[serde(skip)]
    list: &'static str,
    /// `resources` as they stand.
    current: Value,
    /// `resources` as they should be; absent where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed: Option<Value>,
    used: Vec<ContainerUsageReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throttled_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oom_kills: Option<f64>,
    #[serde(skip)]
    before: CpuMemory<RequestAndLimit>,
    #[serde(skip)]
    after: Option<CpuMemory<RequestAndLimit>>,
}

/// The use of one resource by a container, and the reasons for its recommendation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ContainerUsageReport {
    resource: &'static str,
    p50: String,
    p90: String,
    p99: String,
    peak: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limited_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<&'static str>,
}

impl RecommendedContainer {
    pub(super) fn new(
        container: &TemplateContainer,
        of: &CpuMemory<Option<TemplateRecommendation>>,
    ) -> Self {
        let before = container.values;
        let is_measured = of.iter().any(|(_, one)| one.is_some());
        let after = is_measured.then(|| {
            CpuMemory::from_fn(|resource| {
                of[resource]
                    .as_ref()
                    .map_or(before[resource], |one| one.values)
            })
        });
        let used = of.iter().filter_map(|(resource, one)| {
            let one = one.as_ref()?;
            let text = |amount: Amount| {
                resource
                    .quantity(resource.rounded(amount, None))
                    .to_string()
            };
            Some(ContainerUsageReport {
                resource: resource.as_str(),
                p50: text(one.used.p50),
                p90: text(one.used.p90),
                p99: text(one.used.p99),
                peak: text(one.used.peak),
                limited_by: one.limited_by.map(Bound::as_str),
                reasons: one.reasons.clone(),
            })
        });
        Self {
            name: container.name.clone(),
            list: container.list,
            current: resources(&before),
            proposed: after.as_ref().map(resources),
            used: used.collect(),
            throttled_share: container.throttled,
            oom_kills: container.oom_kills,
            before,
            after,
        }
    }

    fn changes(&self) -> Option<&CpuMemory<RequestAndLimit>> {
        self.after.as_ref().filter(|after| **after != self.before)
    }

    /// The amount by which its request falls, in base units; negative if the request rises.
    fn freed(&self, resource: TunedResource) -> i64 {
        let request = |values: &CpuMemory<RequestAndLimit>| {
            let request = values[resource].request.unwrap_or_default();
            i64::try_from(request.get()).unwrap_or(i64::MAX)
        };
        let after = self.after.as_ref().map_or(0, request);
        self.after
            .map_or(0, |_| request(&self.before).saturating_sub(after))
    }
}

impl RecommendedWorkload {
    pub(super) fn new(workload: &TuneCandidate, containers: Vec<RecommendedContainer>) -> Self {
        let mut spec = serde_json::Map::new();
        for list in ["containers", "initContainers"] {
            let own = containers.iter().filter(|one| one.list == list);
            let changed: Vec<Value> = own
                .filter_map(|one| {
                    Some(json!({"name": one.name, "resources": resources(one.changes()?)}))
                })
                .collect();
            if !changed.is_empty() {
                spec.insert(list.to_owned(), changed.into());
            }
        }
        let patch = (!spec.is_empty()).then(|| {
            json!({
                "apiVersion": workload.kind.api_version(),
                "kind": workload.kind.as_str(),
                "metadata": {"name": workload.name, "namespace": workload.namespace},
                "spec": {"template": {"spec": spec}},
            })
        });
        Self {
            namespace: workload.namespace.clone(),
            kind: workload.kind.as_str(),
            name: workload.name.clone(),
            replicas: workload.replicas,
            containers,
            patch,
        }
    }

    fn freed(&self, resource: TunedResource) -> i64 {
        let each = self.containers.iter().map(|one| one.freed(resource));
        let each: i64 = each.fold(0, i64::saturating_add);
        each.saturating_mul(i64::from(self.replicas))
    }
}

impl RecommendReport {
    pub(super) fn of(workloads: Vec<RecommendedWorkload>) -> Self {
        let freed = |resource| {
            let all = workloads.iter().map(|one| one.freed(resource));
            all.fold(0, i64::saturating_add)
        };
        let (cpu, memory) = (freed(TunedResource::Cpu), freed(TunedResource::Memory));
        Self {
            workloads,
            cores_freed: i64_as_f64(cpu) / 1000.0,
            memory_freed: memory,
        }
    }

    pub(super) fn print_patches(&self) -> Result<(), CliFailure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for patch in self.workloads.iter().filter_map(|one| one.patch.as_ref()) {
            writeln!(out, "---")?;
            out.write_all(output::yaml(patch)?.as_bytes())?;
        }
        Ok(out.flush()?)
    }

    pub(super) fn verdict(&self) -> Result<(), CliFailure> {
        let mut all = self.workloads.iter().flat_map(|one| &one.containers);
        if all.any(|one| one.after.is_some()) {
            Ok(())
        } else {
            Err(CliFailure::work("no container has a measurement"))
        }
    }
}

impl Report for RecommendReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let header = [
            "CONTAINER",
            "RESOURCE",
            "REQUEST",
            "LIMIT",
            "P50",
            "P90",
            "P99",
            "PEAK",
            "HELD BACK",
            "PROPOSED REQUEST",
            "PROPOSED LIMIT",
            "WHY",
        ];
        let mut table = style.table(header.map(Cell::new));
        for workload in &self.workloads {
            for container in &workload.containers {
                for resource in TunedResource::ALL {
                    table.add_row(row(workload, container, resource));
                }
            }
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        let mebibytes = i64_as_f64(self.memory_freed) / (1024.0 * 1024.0);
        writeln!(
            to,
            "Requests freed: {:.2} cores, {} MiB.",
            self.cores_freed,
            i64_nearest(mebibytes)
        )
    }
}

fn row(
    workload: &RecommendedWorkload,
    container: &RecommendedContainer,
    resource: TunedResource,
) -> Vec<Cell> {
    let RecommendedWorkload {
        namespace,
        kind,
        name,
        ..
    } = workload;
    let text = |amount: Option<Amount>| {
        amount.map_or("-".to_owned(), |amount| {
            resource.quantity(amount).to_string()
        })
    };
    let before = container.before[resource];
    let after = container.after.map(|after| after[resource]);
    let used = container
        .used
        .iter()
        .find(|one| one.resource == resource.as_str());
    let of = |pick: fn(&ContainerUsageReport) -> &String| {
        used.map_or("-".to_owned(), |one| pick(one).clone())
    };
    let held = match resource {
        TunedResource::Cpu => container.throttled_share.map(output::percent),
        TunedResource::Memory => container.oom_kills.map(|kills| format!("{kills:.0} kills")),
    };
    let why = used.map_or("not measured".to_owned(), |one| {
        let bound = one.limited_by.map(|bound| format!("limit by {bound}"));
        let reasons = one.reasons.iter().map(|reason| (*reason).to_owned());
        bound
            .into_iter()
            .chain(reasons)
            .collect::<Vec<_>>()
            .join("; ")
    });
    let shown = match resource {
        TunedResource::Cpu => format!("{namespace}/{kind}/{name} {}", container.name),
        TunedResource::Memory => String::new(),
    };
    [
        shown,
        resource.to_string(),
        text(before.request),
        text(before.limit),
        of(|one| &one.p50),
        of(|one| &one.p90),
        of(|one| &one.p99),
        of(|one| &one.peak),
        held.unwrap_or_else(|| "-".to_owned()),
        text(after.and_then(|after| after.request)),
        text(after.and_then(|after| after.limit)),
        why,
    ]
    .map(Cell::new)
    .to_vec()
}
