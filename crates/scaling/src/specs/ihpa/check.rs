//! From the spec of an IntelligentHorizontalPodAutoscaler to its rules, or to what is wrong with it and where.
//!
//! The schema's own rules refuse most of it at the API server; metrics, schedules, behaviour and queries are
//! checked here alone.

mod behavior;
mod checker;
mod error;
mod external;
mod metrics;
mod provider;

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_api::ihpa::spec::{IhpaSpec, MOST_CHECKERS, MOST_PROVIDERS};
use evenkeel_objects::bounds::ReplicaBounds;

use super::rules::{IhpaRules, ScaleMode};

pub use self::error::IhpaError;
use self::error::{IhpaSpecFault, at};

/// The rules of a spec.
///
/// # Errors
/// The first thing in it that is not accepted.
pub fn check(spec: &IhpaSpec) -> Result<IhpaRules, IhpaError> {
    let IhpaSpec {
        scale_target_ref,
        paused,
        min_replicas,
        max_replicas,
        scale_mode,
        portrait_providers,
        behavior,
        stability_checkers,
    } = spec;
    at("spec.scaleTargetRef", target(scale_target_ref))?;
    let bounds = ReplicaBounds::new(*min_replicas, *max_replicas).map_err(IhpaSpecFault::from);
    let bounds = at("spec.minReplicas", bounds)?;
    let mode = match scale_mode.as_deref() {
        None | Some("Auto") => ScaleMode::Auto,
        Some("Preview") => ScaleMode::Preview,
        Some(given) => {
            let problem = IhpaSpecFault::word(given, "Auto or Preview");
            return at("spec.scaleMode", Err(problem));
        }
    };
    let providers_path = "spec.portraitProviders";
    let within = |count, most| IhpaSpecFault::within(count, 1, most);
    at(
        providers_path,
        within(portrait_providers.len(), MOST_PROVIDERS),
    )?;
    let providers = provider::all(providers_path, portrait_providers)?;
    let checkers_path = "spec.stabilityCheckers";
    let few = IhpaSpecFault::within(stability_checkers.len(), 0, MOST_CHECKERS);
    at(checkers_path, few)?;
    Ok(IhpaRules {
        target: scale_target_ref.clone(),
        bounds,
        paused: paused.unwrap_or(false),
        mode,
        providers,
        behavior: behavior::check(behavior.as_ref())?,
        checks: checker::all(checkers_path, stability_checkers)?,
    })
}

fn target(target: &ScaledRef) -> Result<(), IhpaSpecFault> {
    if target.name.is_empty() || target.kind.is_empty() {
        return Err(IhpaSpecFault::Missing("a kind and a name"));
    }
    if target.is_hpa() || target.kind == "DaemonSet" {
        let accepted = "a workload with the subresource scale, such as a Deployment";
        return Err(IhpaSpecFault::word(&target.kind, accepted));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
