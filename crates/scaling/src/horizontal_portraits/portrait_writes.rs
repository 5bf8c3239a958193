//! The HorizontalPortraits that autoscalers name.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_api::horizontal_portrait::spec::HorizontalPortraitSpec;
use evenkeel_api::horizontal_portrait::status::PORTRAIT_GENERATED;
use evenkeel_objects::condition::Condition;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::status_writer::StatusSubject;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use serde_json::json;

use super::hours_ahead::{FORECAST_MADE, forecast_workload};
use super::portrait_objects::ExternalPortraitObjects;
use crate::specs::horizontal_portrait::{
    CheckedHorizontalPortrait, HorizontalPortrait, portrait_name,
};
use crate::specs::ihpa::{CheckedIhpa, Ihpa, PortraitSource};
use crate::status::opt_in_notice::NOT_OPTED_IN;

/// The writes that bring the HorizontalPortraits in line that autoscalers name: those that are missing, and those that
/// belong to their autoscaler.
pub fn portraits(observed: &ExternalPortraitObjects<'_>) -> Vec<Write> {
    let known: HashMap<_, _> = observed
        .portraits
        .iter()
        .map(|one| (key(&one.object.metadata), one))
        .collect();
    let mut writes = Vec::new();
    for ihpa in observed.ihpas {
        for (name, spec) in named_by(ihpa) {
            let (Some(namespace), _) = key(&ihpa.object.metadata) else {
                continue;
            };
            let write = match known.get(&(Some(namespace), Some(name.as_str()))) {
                None => Some(create(&ihpa.object, namespace, &name, &spec)),
                Some(portrait) => update(&ihpa.object, portrait, &spec),
            };
            writes.extend(write);
        }
    }
    writes.extend(
        observed
            .portraits
            .iter()
            .filter_map(|one| without_leftovers(one)),
    );
    writes
}

/// The status without what no longer holds: that the namespace had not opted in, which nothing else replaces where no
/// job runs, and hours ahead that the spec no longer asks for.
fn without_leftovers(portrait: &CheckedHorizontalPortrait) -> Option<Write> {
    let HorizontalPortrait {
        metadata, status, ..
    } = &*portrait.object;
    let on = StatusSubject {
        kind: Kind::HorizontalPortrait,
        metadata,
        held: status.as_ref(),
    };
    let mut after = status.clone()?;
    after.conditions.retain(|one| one.reason != NOT_OPTED_IN);
    if after.hours_ahead.is_some() && forecast_workload(&portrait.object).is_none() {
        after.hours_ahead = None;
        let is_of_hours =
            |one: &Condition| one.kind == PORTRAIT_GENERATED && one.reason == FORECAST_MADE;
        after.conditions.retain(|one| !is_of_hours(one));
    }
    on.write(&after)
}

/// The origin of the spec of a HorizontalPortrait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Authorship {
    /// Its own author's, or it says what its autoscaler says.
    Confirmed,
    /// Its autoscaler says something else, as for a moment after it was changed.
    Differs,
    /// Its autoscaler does not name it any more, or is not there.
    NotNamed,
}

/// The origin of the spec of a HorizontalPortrait. An attacker in a replica can write a HorizontalPortrait
/// that belongs to an autoscaler, but not the autoscaler. So the two are compared.
pub(super) fn authorship(
    portrait: &CheckedHorizontalPortrait,
    ihpas: &[Arc<CheckedIhpa>],
) -> Authorship {
    let metadata = &portrait.object.metadata;
    let owner = metadata.controller();
    let Some(owner) = owner.filter(|owner| Kind::Ihpa.is(&owner.api_version, &owner.kind)) else {
        return Authorship::Confirmed;
    };
    let is_owner = |ihpa: &&Arc<CheckedIhpa>| {
        let own = &ihpa.object.metadata;
        own.uid.as_deref() == Some(owner.uid.as_str()) && own.namespace == metadata.namespace
    };
    let Some(ihpa) = ihpas.iter().find(is_owner) else {
        return Authorship::NotNamed;
    };
    let name = metadata.name.as_deref();
    let is_named = named_by(ihpa).any(|(named, _)| Some(named.as_str()) == name);
    if ihpa.rules().is_ok() && !is_named {
        return Authorship::NotNamed;
    }
    let written = ihpa.object.spec.portrait_providers.iter();
    let mut written = written.filter_map(|provider| provider.dynamic.as_ref());
    if written.any(|written| *written == portrait.object.spec.portrait) {
        Authorship::Confirmed
    } else {
        Authorship::Differs
    }
}

/// The names and specs of those that an autoscaler names.
fn named_by(ihpa: &CheckedIhpa) -> impl Iterator<Item = (String, HorizontalPortraitSpec)> + '_ {
    let spec = &ihpa.object.spec;
    let name = ihpa.object.metadata.name.as_deref().unwrap_or_default();
    let providers = ihpa.rules().ok().map(|rules| &rules.providers);
    let pairs = providers
        .into_iter()
        .flatten()
        .zip(&spec.portrait_providers);
    pairs.filter_map(move |(provider, written)| {
        let PortraitSource::External { portrait_type } = &provider.source else {
            return None;
        };
        let spec = HorizontalPortraitSpec {
            scale_target_ref: spec.scale_target_ref.clone(),
            portrait: written.dynamic.clone()?,
        };
        Some((portrait_name(name, portrait_type), spec))
    })
}

fn key(metadata: &Meta) -> (Option<&str>, Option<&str>) {
    (metadata.namespace.as_deref(), metadata.name.as_deref())
}

fn create(ihpa: &Ihpa, namespace: &str, name: &str, spec: &HorizontalPortraitSpec) -> Write {
    let kind = Kind::HorizontalPortrait;
    Write::new(
        Purpose::Portrait,
        ObjectRef::in_namespace(kind, namespace, name),
        WriteOperation::Create(ihpa.owned(kind, name, spec)),
    )
}

/// The write of the spec if it differs and the object belongs to this autoscaler; `None` for another author's object.
fn update(
    ihpa: &Ihpa,
    portrait: &CheckedHorizontalPortrait,
    spec: &HorizontalPortraitSpec,
) -> Option<Write> {
    let metadata = &portrait.object.metadata;
    let is_its = metadata.controller()?.uid == ihpa.metadata.uid.as_deref()?
        && metadata.namespace == ihpa.metadata.namespace;
    if !is_its || portrait.object.spec == *spec {
        return None;
    }
    let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
    let mut patch = ConditionalPatch::of(metadata);
    let version = json!(metadata.resource_version);
    patch.expect(&["metadata", "resourceVersion"], version);
    // As a whole: of what there is, not everything may have been read.
    patch.change(&["spec"], true, serde_json::to_value(spec).ok()?);
    Some(Write::new(
        Purpose::Portrait,
        ObjectRef::in_namespace(Kind::HorizontalPortrait, namespace, name),
        WriteOperation::Conditional(patch),
    ))
}
