//! `managedFields` and server-side apply: conflicts between managers, and the removal of fields
//! that their only manager no longer applies. Changes are tracked from creation on. As in a real
//! server, fields from admission or the server have no manager. If an object has no manager, the
//! first apply gives its fields to `before-first-apply`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::{ApiError, Cause, StatusReason};
use crate::meta;
use crate::patch::fields;
use crate::patch::fields::ManagedFieldSet;
use crate::patch::merge_keys::{ListKind, Position};

/// Manager of the fields before the first apply.
const BEFORE: &str = "before-first-apply";

/// Most separate managers that update; the oldest beyond become one.
const MOST_UPDATERS: usize = 10;
/// The name of that one.
const ANCIENT: &str = "ancient-changes";

#[derive(Debug, Clone)]
pub(crate) struct Applier<'a> {
    pub(crate) manager: &'a str,
    pub(crate) force: bool,
    pub(crate) api_version: String,
    pub(crate) builtin: bool,
    pub(crate) now: String,
    /// `status` for an apply of the status.
    pub(crate) subresource: &'a str,
}

#[derive(Debug, Clone)]
struct Manager {
    entry: Value,
    fields: ManagedFieldSet,
}

impl Manager {
    fn is(&self, operation: &str, name: &str, subresource: &str) -> bool {
        let text = |field: &str| meta::text(&self.entry, field);
        text("/operation") == operation
            && text("/manager") == name
            && text("/subresource") == subresource
    }
}

fn managers(object: &Value) -> Vec<Manager> {
    let entries = meta::list(object, "/metadata/managedFields").iter();
    entries
        .map(|entry| Manager {
            entry: entry.clone(),
            fields: fields::read(&entry["fieldsV1"]),
        })
        .collect()
}

fn put_managers(object: &mut Value, managers: Vec<Manager>) {
    let entries = managers
        .into_iter()
        .filter(|manager| !manager.fields.is_empty());
    let written = entries.map(|manager| {
        let mut entry = manager.entry;
        entry["fieldsV1"] = fields::write(&manager.fields);
        entry
    });
    let written: Vec<Value> = written.collect();
    let some = !written.is_empty();
    meta::put(
        meta::child(object, "metadata"),
        "managedFields",
        some.then_some(Value::Array(written)),
    );
}

impl Applier<'_> {
    fn entry(&self, operation: &str, manager: &str) -> Value {
        let mut entry = json!({
            "manager": manager, "operation": operation, "apiVersion": self.api_version,
            "time": self.now, "fieldsType": "FieldsV1",
        });
        if !self.subresource.is_empty() {
            entry["subresource"] = self.subresource.into();
        }
        entry
    }

    /// With the bookkeeping in the metadata.
    pub(crate) fn apply(&self, live: Option<&Value>, wanted: &Value) -> Result<Value, ApiError> {
        if wanted
            .pointer("/metadata/managedFields")
            .is_some_and(|f| !f.is_null())
        {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        let wanted_fields = fields::of(wanted, self.builtin);
        let empty = json!({});
        let before = live.unwrap_or(&empty);
        let mut others = managers(before);
        if live.is_some() && others.is_empty() {
            others.push(Manager {
                entry: self.entry("Update", BEFORE),
                fields: fields::of(before, self.builtin),
            });
        }
        let own = others
            .iter()
            .position(|manager| manager.is("Apply", self.manager, self.subresource))
            .map(|position| others.remove(position));
        self.resolve_conflicts(before, wanted, &wanted_fields, &mut others)?;
        let mut object = before.clone();
        merge(&mut object, wanted, Position::new("", "", self.builtin));
        let given_up = own
            .iter()
            .flat_map(|own| own.fields.difference(&wanted_fields));
        for path in given_up {
            let wanted_still = wanted_fields.iter().any(|other| other.starts_with(path));
            let theirs = others.iter().flat_map(|other| &other.fields);
            if !wanted_still && !theirs.into_iter().any(|other| other.starts_with(path)) {
                fields::remove(&mut object, path);
            }
        }
        others.push(Manager {
            entry: self.entry("Apply", self.manager),
            fields: wanted_fields,
        });
        put_managers(&mut object, others);
        Ok(object)
    }

    /// Reports conflicts, or takes the fields if the applier forces it.
    fn resolve_conflicts(
        &self,
        live: &Value,
        wanted: &Value,
        wanted_fields: &ManagedFieldSet,
        others: &mut [Manager],
    ) -> Result<(), ApiError> {
        let mut causes = Vec::new();
        for path in wanted_fields {
            let new = fields::get(wanted, path);
            let is_item = path.last().is_some_and(|step| step.starts_with("k:"));
            let is = fields::get(live, path);
            // An empty map requires a map, but not an empty one.
            let are_maps = is.is_some_and(Value::is_object) && new.is_some_and(Value::is_object);
            if is_item || are_maps || is == new {
                continue;
            }
            for other in others.iter_mut() {
                let taken: Vec<_> = other
                    .fields
                    .iter()
                    .filter(|theirs| theirs.starts_with(path) || **theirs == *path)
                    .cloned()
                    .collect();
                for theirs in taken {
                    if self.force {
                        other.fields.remove(&theirs);
                    } else {
                        causes.push(conflict(&other.entry, &fields::display(path)));
                    }
                }
            }
        }
        if causes.is_empty() {
            return Ok(());
        }
        let count = causes.len();
        let s = if count == 1 { "" } else { "s" };
        let message = format!(
            "Apply failed with {count} conflict{s}: {}",
            by_manager(&causes)
        );
        Err(ApiError::new(StatusReason::Conflict, message).with_causes(&causes))
    }
}

fn conflict(entry: &Value, field: &str) -> Cause {
    let text = |field: &str| meta::text(entry, field);
    let mut who = format!("{:?}", text("/manager"));
    if !text("/subresource").is_empty() {
        who = format!("{who} with subresource {:?}", text("/subresource"));
    }
    if text("/operation") == "Update" {
        who = format!("{who} using {} at {}", text("/apiVersion"), text("/time"));
    }
    Cause {
        reason: "FieldManagerConflict",
        field: field.to_owned(),
        message: format!("conflict with {who}"),
    }
}

/// One in a line, more as a list.
fn by_manager(causes: &[Cause]) -> String {
    let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cause in causes {
        let who = cause.message.trim_start_matches("conflict with ");
        fields.entry(who).or_default().push(&cause.field);
    }
    let lines = fields.iter().map(|(who, fields)| match fields.as_slice() {
        [field] => format!("conflict with {who}: {field}"),
        several => format!("conflicts with {who}:\n- {}", several.join("\n- ")),
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Makes the creator the manager of all fields of a new object, and ignores the `managedFields` of
/// the body. With `has_status` the status is left out.
pub(crate) fn begin(applier: &Applier<'_>, new: &mut Value, has_status: bool) {
    let mut fields = fields::of(new, applier.builtin);
    if has_status {
        fields.retain(|path| path.first().is_none_or(|step| step != "f:status"));
    }
    let entry = applier.entry("Update", applier.manager);
    put_managers(new, vec![Manager { entry, fields }]);
}

/// Makes the manager the owner of the fields that it changed.
pub(crate) fn track(applier: &Applier<'_>, old: &Value, new: &mut Value) {
    let mut all = managers(old);
    let after = fields::of(new, applier.builtin);
    let before = fields::of(old, applier.builtin);
    let changed: ManagedFieldSet = after
        .iter()
        .filter(|path| fields::get(old, path) != fields::get(new, path))
        .filter(|path| {
            path.last().is_none_or(|step| !step.starts_with("k:")) || !before.contains(*path)
        })
        .cloned()
        .collect();
    for manager in &mut all {
        manager
            .fields
            .retain(|path| !changed.contains(path) && fields::get(new, path).is_some());
    }
    let known = all
        .iter_mut()
        .find(|manager| manager.is("Update", applier.manager, applier.subresource));
    match known {
        _ if changed.is_empty() => {}
        Some(manager) => {
            manager.fields.extend(changed);
            manager.entry["time"] = applier.now.as_str().into();
        }
        None => all.push(Manager {
            entry: applier.entry("Update", applier.manager),
            fields: changed,
        }),
    }
    put_managers(new, bounded(all));
}

/// Joins the oldest of too many managers that update.
fn bounded(mut all: Vec<Manager>) -> Vec<Manager> {
    let updates = |manager: &Manager| manager.entry["operation"] == "Update";
    while all.iter().filter(|manager| updates(manager)).count() > MOST_UPDATERS {
        let mut oldest: Vec<usize> = (0..all.len()).filter(|&at| updates(&all[at])).collect();
        oldest.sort_by_key(|&at| meta::text(&all[at].entry, "/time").to_owned());
        let (first, second) = (oldest[0].min(oldest[1]), oldest[0].max(oldest[1]));
        let joined = all.remove(second);
        all[first].fields.extend(joined.fields);
        all[first].entry["manager"] = ANCIENT.into();
    }
    all
}

/// Merges maps by field, keyed lists by item, the rest as a whole.
fn merge(target: &mut Value, wanted: &Value, at: Position<'_>) {
    match wanted {
        Value::Object(fields) => {
            if !target.is_object() {
                *target = json!({});
            }
            for (key, value) in fields {
                merge(&mut target[key.as_str()], value, at.child(key));
            }
        }
        Value::Array(items) => merge_list(target, items, at),
        scalar => *target = scalar.clone(),
    }
}

fn merge_list(target: &mut Value, items: &[Value], at: Position<'_>) {
    let kind = at.list_kind();
    let list = match target {
        Value::Array(list) if kind != ListKind::Atomic => list,
        _ => {
            *target = Value::Array(items.to_vec());
            return;
        }
    };
    for item in items {
        let existing = list.iter_mut().find(|existing| match kind {
            ListKind::Keyed(keys) => {
                fields::key_step(existing, keys) == fields::key_step(item, keys)
            }
            _ => *existing == item,
        });
        match existing {
            Some(existing) => merge(existing, item, at),
            None => list.push(item.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applier(manager: &str, force: bool) -> Applier<'_> {
        Applier {
            manager,
            force,
            api_version: "apps/v1".to_owned(),
            builtin: true,
            now: "2026-01-01T00:00:00Z".to_owned(),
            subresource: "",
        }
    }

    fn spec(replicas: i64) -> Value {
        json!({"metadata": {"name": "w"}, "spec": {"replicas": replicas}})
    }

    #[test]
    fn managers_conflict_unless_they_insist() {
        let live = applier("a", false).apply(None, &spec(1)).expect("new");
        let refused = applier("b", false).apply(Some(&live), &spec(2));
        let error = refused.expect_err("a conflict");
        assert_eq!(
            error.to_string(),
            "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas"
        );
        assert!(applier("b", false).apply(Some(&live), &spec(1)).is_ok());
        let forced = applier("b", true)
            .apply(Some(&live), &spec(2))
            .expect("forced");
        assert_eq!(forced["spec"]["replicas"], 2);
        assert!(applier("a", false).apply(Some(&forced), &spec(1)).is_err());
    }

    #[test]
    fn fields_go_with_their_only_manager() {
        let both = json!({"spec": {"replicas": 1, "paused": true}});
        let live = applier("a", false).apply(None, &both).expect("new");
        let live = applier("b", false)
            .apply(Some(&live), &json!({"spec": {"replicas": 1}}))
            .expect("the same value");
        let live = applier("a", false)
            .apply(Some(&live), &json!({}))
            .expect("given up");
        assert_eq!(live["spec"], json!({"replicas": 1}));
    }

    #[test]
    fn objects_older_than_tracking_have_an_owner() {
        let live = spec(1);
        assert!(applier("a", false).apply(Some(&live), &spec(2)).is_err());
        assert!(applier("a", true).apply(Some(&live), &spec(2)).is_ok());
    }

    #[test]
    fn updates_take_fields_over() {
        let live = applier("a", false).apply(None, &spec(1)).expect("new");
        let mut new = live.clone();
        new["spec"]["replicas"] = 5.into();
        track(&applier("kubectl", false), &live, &mut new);
        let error = applier("a", false)
            .apply(Some(&new), &spec(1))
            .expect_err("taken over");
        assert!(error.to_string().contains("kubectl"));
    }

    #[test]
    fn who_makes_an_object_owns_what_it_says_and_no_status() {
        let mut made = json!({
            "metadata": {"name": "w", "managedFields": [{"manager": "forged"}]},
            "spec": {"replicas": 1}, "status": {"replicas": 0},
        });
        begin(&applier("a", false), &mut made, true);
        let entries = made["metadata"]["managedFields"].clone();
        assert_eq!(entries[0]["manager"], "a");
        assert_eq!(entries[0]["operation"], "Update");
        assert_eq!(
            entries[0]["fieldsV1"],
            json!({"f:spec": {"f:replicas": {}}})
        );
        assert_eq!(entries.as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn many_updaters_become_one() {
        let mut live = spec(0);
        begin(&applier("first", false), &mut live, true);
        for index in 0..20 {
            let mut new = live.clone();
            new["metadata"]["labels"][format!("l{index}")] = "x".into();
            let name = format!("m{index}");
            track(&applier(&name, false), &live, &mut new);
            live = new;
        }
        let entries = meta::list(&live, "/metadata/managedFields");
        assert_eq!(entries.len(), MOST_UPDATERS);
        assert!(entries.iter().any(|entry| entry["manager"] == ANCIENT));
        let owned: usize = managers(&live)
            .iter()
            .map(|manager| manager.fields.len())
            .sum();
        assert_eq!(owned, 21);
    }
}
