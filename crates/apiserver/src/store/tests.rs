use serde_json::json;

use super::*;

fn pods() -> Arc<str> {
    Arc::from("pods")
}

fn pod(name: &str, label: &str) -> Value {
    json!({"metadata": {"namespace": "default", "name": name, "labels": {"app": label}}})
}

fn add(store: &ObjectStore, name: &str) -> Arc<StoredObject> {
    let added = store.commit(&pods(), WritePrecondition::Absent, pod(name, "a"));
    added.expect("there was none")
}

fn names(objects: &[Arc<StoredObject>]) -> Vec<String> {
    objects.iter().map(|object| object.key().name).collect()
}

#[test]
fn a_write_needs_the_version_that_it_replaces() {
    let (store, _work) = ObjectStore::new(10);
    let first = add(&store, "a");
    let again = store.commit(&pods(), WritePrecondition::Absent, pod("a", "b"));
    assert_eq!(again.map(|stored| stored.version), Err(StaleWrite));
    let second = store
        .commit(
            &pods(),
            WritePrecondition::Version(first.version),
            pod("a", "b"),
        )
        .expect("nobody else wrote");
    assert!(second.version > first.version);
    assert!(store.remove(&pods(), &first.key(), first.version).is_err());
    assert!(store.remove(&pods(), &first.key(), second.version).is_ok());
    assert!(store.get("pods", &first.key()).is_none());
}

#[test]
fn a_list_at_a_version_undoes_what_came_later() {
    let (store, _work) = ObjectStore::new(10);
    let first = add(&store, "a");
    let at = add(&store, "b").version;
    add(&store, "c");
    store
        .remove(&pods(), &first.key(), first.version)
        .expect("it is there");
    let then = store.list_at("pods", Some("default"), at).expect("kept");
    assert_eq!(names(&then), ["a", "b"]);
    assert_eq!(names(&store.list("pods", None).0), ["b", "c"]);
    assert!(
        store
            .list_at("pods", Some("other"), at)
            .expect("kept")
            .is_empty()
    );
}

#[test]
fn changes_older_than_the_log_are_expired() {
    let (store, _work) = ObjectStore::new(2);
    let first = add(&store, "a").version;
    for name in ["b", "c"] {
        add(&store, name);
    }
    assert_eq!(store.changes("pods", first).expect("kept").0.len(), 2);
    let oldest = store
        .changes("pods", first - 1)
        .map(|(changes, _)| changes.len());
    assert_eq!(oldest, Err(ExpiredVersion { oldest: first }));
}

#[test]
fn a_selector_sees_objects_come_and_go() {
    let (store, _work) = ObjectStore::new(10);
    let first = add(&store, "a");
    let start = first.version;
    let second = store
        .commit(&pods(), WritePrecondition::Version(start), pod("a", "b"))
        .expect("current");
    store
        .remove(&pods(), &second.key(), second.version)
        .expect("current");
    let (changes, _) = store.changes("pods", FIRST_VERSION).expect("kept");
    let seen = |label: &str| -> Vec<Option<ChangeKind>> {
        let matches =
            |stored: &StoredObject| meta::text(&stored.value, "/metadata/labels/app") == label;
        changes
            .iter()
            .map(|change| change.seen_by(matches))
            .collect()
    };
    assert_eq!(
        seen("a"),
        [Some(ChangeKind::Added), Some(ChangeKind::Deleted), None]
    );
    assert_eq!(
        seen("b"),
        [None, Some(ChangeKind::Added), Some(ChangeKind::Deleted)]
    );
}

#[test]
fn dependents_are_found_by_the_owners_uid() {
    let (store, _work) = ObjectStore::new(10);
    let mut owned = pod("a", "a");
    owned["metadata"]["ownerReferences"] = json!([{"uid": "u"}]);
    let stored = store
        .commit(&pods(), WritePrecondition::Absent, owned)
        .expect("there was none");
    assert_eq!(
        store.dependents("u"),
        [Location::new(&pods(), stored.key())]
    );
    let orphan = store.commit(
        &pods(),
        WritePrecondition::Version(stored.version),
        pod("a", "a"),
    );
    assert!(orphan.is_ok());
    assert!(store.dependents("u").is_empty());
}
