//! The annotation of a namespace that lists its portraits that have a job. The admission policy allows no
//! job for other portraits, because it cannot look up whether an owner exists.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::PORTRAIT_JOBS;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use serde_json::json;

use super::portrait_objects::{ExternalPortraitObjects, Settings, key_of};
use super::portrait_writes::{Authorship, authorship};

/// The most portraits that a namespace names: 256 UIDs take 9 KiB of the 256 KiB that annotations may take.
const MOST: usize = 256;

/// The UIDs of the portraits that have a job, by namespace, as the annotation `evenkeel.dev/portrait-jobs` has them.
pub fn vouched(
    observed: &ExternalPortraitObjects<'_>,
    settings: &Settings,
) -> BTreeMap<String, String> {
    let mut uids: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for checked in observed.portraits.iter().filter(|_| settings.runs_jobs) {
        let portrait = &checked.object;
        let has_job = portrait.spec.portrait.external_job().is_some();
        let is_asked_for = authorship(checked, observed.ihpas) != Authorship::NotNamed;
        let place = key_of(portrait).zip(portrait.metadata.uid.as_deref());
        if let Some(((namespace, _), uid)) = place.filter(|_| has_job && is_asked_for) {
            uids.entry(namespace).or_default().push(uid);
        }
    }
    uids.remove(&settings.own_namespace);
    let text = |mut uids: Vec<&str>| {
        uids.sort_unstable();
        uids.truncate(MOST);
        uids.join(" ")
    };
    let uids = uids.into_iter();
    uids.map(|(namespace, uids)| (namespace, text(uids)))
        .collect()
}

/// The writes of that annotation, where another was told `before`.
pub fn vouch(before: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Vec<Write> {
    let told = |namespace: &String, text: Option<&String>| {
        let change = json!({"metadata": {"annotations": {PORTRAIT_JOBS: text}}});
        let target = ObjectRef::of_cluster(Kind::Namespace, namespace.as_str());
        Write::new(Purpose::Portrait, target, WriteOperation::Merge(change))
    };
    let new = found
        .iter()
        .filter(|(namespace, text)| before.get(*namespace) != Some(text))
        .map(|(namespace, text)| told(namespace, Some(text)));
    let gone = before.keys().filter(|one| !found.contains_key(*one));
    new.chain(gone.map(|namespace| told(namespace, None)))
        .collect()
}
