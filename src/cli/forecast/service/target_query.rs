//! Asks the dashboard's API of a running service for a target and its past.

use std::sync::Arc;

use evenkeel_http_client::Uri;
use jiff::SignedDuration;

use crate::api;
use crate::api::history::ScalingHistory;
use crate::api::scaling::{ScalingStatus, TargetList};
use crate::cli::output::CliFailure;
use crate::cli::service_api::ServiceApi;
use evenkeel_core::units::Resource;

#[derive(Debug, Clone, Copy)]
pub(in crate::cli::forecast) struct TargetHistoryQuery<'a> {
    /// Address of the dashboard's listener.
    pub url: &'a Uri,
    pub namespace: &'a str,
    pub name: &'a str,
    pub kind: Option<&'a str>,
    pub resource: Option<Resource>,
    pub start_up: Option<SignedDuration>,
}

pub(super) struct TargetHistoryAnswer {
    pub target: Arc<ScalingStatus>,
    pub resource: Resource,
    pub history: ScalingHistory,
}

pub(super) async fn ask(query: &TargetHistoryQuery<'_>) -> Result<TargetHistoryAnswer, CliFailure> {
    let service = ServiceApi::new(query.url)?;
    let list: TargetList = service.get(api::SCALING, &[]).await?;
    let target = choose(query, &list.targets)?;
    let resource = resource(query, &target)?;
    let fields = [
        ("namespace", &*target.namespace),
        ("kind", &*target.object.kind),
        ("name", &*target.object.name),
        ("resource", resource.as_str()),
    ];
    let history = service.get(api::SCALING_HISTORY, &fields).await?;
    Ok(TargetHistoryAnswer {
        target,
        resource,
        history,
    })
}

fn choose(
    query: &TargetHistoryQuery<'_>,
    targets: &[Arc<ScalingStatus>],
) -> Result<Arc<ScalingStatus>, CliFailure> {
    let named = targets.iter().filter(|target| {
        *target.namespace == *query.namespace
            && *target.object.name == *query.name
            && query.kind.is_none_or(|kind| *target.object.kind == *kind)
    });
    let name = format!("{}/{}", query.namespace, query.name);
    match named.collect::<Vec<_>>()[..] {
        [target] => Ok(Arc::clone(target)),
        [] => Err(CliFailure::call(format_args!(
            "{} has no target {name}; its targets: {}",
            query.url,
            list(targets)
        ))),
        _ => Err(CliFailure::call(format_args!(
            "several kinds have a target {name}: choose one with --kind"
        ))),
    }
}

/// The targets, as they are asked for.
fn list(targets: &[Arc<ScalingStatus>]) -> String {
    const SHOWN: usize = 10;
    let names = targets.iter().take(SHOWN).map(|target| {
        let object = &target.object;
        format!("{}/{} ({})", target.namespace, object.name, object.kind)
    });
    let mut names: Vec<String> = names.collect();
    if targets.len() > SHOWN {
        names.push(format!("and {} more", targets.len() - SHOWN));
    }
    if names.is_empty() {
        names.push("none".to_owned());
    }
    names.join(", ")
}

fn resource(
    query: &TargetHistoryQuery<'_>,
    target: &ScalingStatus,
) -> Result<Resource, CliFailure> {
    if let Some(resource) = query.resource {
        return Ok(resource);
    }
    let names: Vec<&str> = target.loads.iter().map(|load| &*load.resource).collect();
    let drawn = [Resource::Cpu, Resource::Memory];
    let drawn = drawn
        .into_iter()
        .find(|resource| names.contains(&resource.as_str()));
    // One that has not been measured yet names no load.
    let drawn = drawn.or_else(|| names.is_empty().then_some(Resource::Cpu));
    drawn.ok_or_else(|| {
        CliFailure::work(format_args!(
            "{}/{} scales by {}; only cpu and memory can be drawn",
            query.namespace,
            query.name,
            names.join(" and ")
        ))
    })
}
