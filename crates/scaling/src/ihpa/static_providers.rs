//! The recommendations of the providers of an IHPA that need no loads: counts and windows in its spec, and
//! portraits that others make.

use std::sync::Arc;

use evenkeel_api::ihpa::status::IhpaStatus;
use jiff::Timestamp;

use crate::merge::recommendation::{Ask, Recommendation, Unavailable};
use crate::recommend::merged_portraits::ProviderRef;
use crate::specs::horizontal_portrait::{CheckedHorizontalPortrait, portrait_name};
use crate::specs::ihpa::{CheckedIhpa, IhpaRules, PortraitSource};
use crate::targets::reference::TargetRef;
use crate::targets::schedules::ProviderSchedules;
use crate::targets::target_objects::TargetObjects;

/// The word of an outcome that failed.
const FAILED: &str = "Failed";

/// The names of the HorizontalPortraits that others make for an IHPA.
pub fn portrait_names(ihpa: &CheckedIhpa) -> impl Iterator<Item = String> {
    let name = ihpa.object.metadata.name.as_deref().unwrap_or_default();
    let rules = ihpa.rules().ok();
    let providers = rules.into_iter().flat_map(|rules| &rules.providers);
    providers.filter_map(move |provider| match &provider.source {
        PortraitSource::External { portrait_type } => Some(portrait_name(name, portrait_type)),
        PortraitSource::Portrait(_)
        | PortraitSource::Reactive(_)
        | PortraitSource::Predictive(_) => None,
    })
}

/// The recommendations of these providers; `before` is the IHPA's status at the tick before.
pub(super) fn given(
    observed: &TargetObjects,
    rules: &IhpaRules,
    schedules: &mut ProviderSchedules,
    before: Option<&IhpaStatus>,
    now: Timestamp,
) -> Vec<Recommendation> {
    let Some(ihpa) = observed.ihpa.as_deref() else {
        return Vec::new();
    };
    let metadata = &ihpa.object.metadata;
    let uid = metadata.uid.as_deref().unwrap_or_default();
    let generation = metadata.generation.map(|number| format!("{uid} {number}"));
    let providers = rules.providers.iter().filter_map(|provider| {
        let asked = match &provider.source {
            PortraitSource::Portrait(portrait) => {
                let schedule = schedules.entry(Arc::clone(&provider.name)).or_default();
                portrait.at(schedule.of(generation.clone()), now)
            }
            PortraitSource::External { portrait_type } => {
                let name = metadata.name.as_deref().unwrap_or_default();
                let name = portrait_name(name, portrait_type);
                let since = failing_since(before, &provider.name).unwrap_or(now);
                match external(observed, &name) {
                    Ok(found) => match found.portrait() {
                        Some(Ok(portrait)) => {
                            let version = found.object.metadata.resource_version.clone();
                            let schedule = schedules.entry(Arc::clone(&provider.name)).or_default();
                            portrait.at(schedule.of(version), now)
                        }
                        Some(Err(error)) => failed(error.reason(), error.to_string(), since),
                        None => failed(
                            "PortraitPending",
                            format!("HorizontalPortrait {name} has no value yet"),
                            since,
                        ),
                    },
                    Err((reason, message)) => failed(reason, message, since),
                }
            }
            PortraitSource::Reactive(_) | PortraitSource::Predictive(_) => return None,
        };
        let by = ProviderRef::of_portrait(&provider.name, provider.priority);
        Some(by.recommend(asked))
    });
    providers.collect()
}

/// The portrait of a name, where it is made for this target.
fn external<'a>(
    observed: &'a TargetObjects,
    name: &str,
) -> Result<&'a CheckedHorizontalPortrait, (&'static str, String)> {
    let mut portraits = observed.portraits.iter();
    let found = portraits.find(|one| one.object.metadata.name.as_deref() == Some(name));
    let Some(found) = found else {
        let message = format!("HorizontalPortrait {name} does not exist");
        return Err(("PortraitMissing", message));
    };
    let named = &found.object.spec.scale_target_ref;
    let named = TargetRef::new(
        named.api_version(),
        &named.kind,
        &observed.namespace,
        &named.name,
    );
    if named.is_same_workload(&observed.target) {
        return Ok(found);
    }
    let target = &observed.target;
    Err((
        "OtherTarget",
        format!("HorizontalPortrait {name} is for {named}, not for {target}"),
    ))
}

fn failed(reason: &'static str, message: String, since: Timestamp) -> (Ask, Option<Timestamp>) {
    let failed = Unavailable::Failed {
        reason,
        message: message.into(),
        since,
    };
    (Ask::Unavailable(failed), None)
}

/// Since when a provider fails without a break, as the status has it.
fn failing_since(before: Option<&IhpaStatus>, provider: &str) -> Option<Timestamp> {
    let mut portraits = before?.portraits.iter();
    let told = portraits.find(|one| one.provider == provider && one.outcome == FAILED)?;
    told.since
}
