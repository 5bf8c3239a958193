//! ScaledObjects: each of their fields is carried over, named in a note, or refused.

use super::*;

fn cron() -> Value {
    json!({"type": "cron", "metadata": {"timezone": "Europe/Berlin", "start": "0 8 * * 1-5",
        "end": "0 18 * * 1-5", "desiredReplicas": "10"}})
}

fn alone() -> Value {
    json!({
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"name": "web"}, "triggers": [cron()]},
    })
}

/// A ScaledObject with a trigger of another type.
fn beside() -> Value {
    let mut document = alone();
    document["spec"]["triggers"] = json!([{"type": "cpu", "metadata": {"value": "60"}}, cron()]);
    document
}

fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let mut place = &mut document;
    for part in pointer.trim_start_matches('/').split('/') {
        let part = part.replace("~1", "/");
        place = match part.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[part],
        };
    }
    *place = value;
    document
}

#[test]
fn a_scaled_object_that_is_paused_becomes_a_suspended_cron_hpa() {
    let prefix = "/metadata/annotations/autoscaling.keda.sh~1";
    for (name, value, note) in [
        (
            "paused-replicas",
            "0",
            Some("holds its workload at 0 replicas"),
        ),
        (
            "paused-replicas",
            "5",
            Some("holds its workload at 5 replicas"),
        ),
        ("paused", "true", Some("leaves its workload as it is")),
        ("paused", "1", Some("leaves its workload as it is")),
        // KEDA takes what is no boolean for true.
        ("paused", "", Some("leaves its workload as it is")),
        ("paused", "false", None),
        ("paused-scale-in", "false", None),
        ("force-activation", "false", None),
    ] {
        for document in [alone(), beside()] {
            let document = with(document, &format!("{prefix}{name}"), json!(value));
            let found = migrated(&document, None);
            let suspend = &found.manifest["spec"]["suspend"];
            assert_eq!(
                *suspend,
                note.map_or(Value::Null, |_| json!(true)),
                "{name}={value}"
            );
            if let Some(note) = note {
                assert!(has_note(&found, note), "{name}={value}: {:?}", found.notes);
            }
            let annotations = &found.manifest["metadata"]["annotations"];
            assert!(
                annotations
                    .as_object()
                    .is_none_or(serde_json::Map::is_empty),
                "{annotations}"
            );
        }
    }
}

#[test]
fn other_annotations_of_keda_are_decided_too() {
    let prefix = "/metadata/annotations/autoscaling.keda.sh~1";
    for name in ["paused-scale-in", "paused-scale-out"] {
        let document = with(alone(), &format!("{prefix}{name}"), json!("true"));
        let error = refused(&document);
        assert!(
            error.contains(name) && error.contains("in one direction"),
            "{error}"
        );
    }
    let forced = with(alone(), &format!("{prefix}force-activation"), json!("true"));
    assert!(has_note(
        &migrated(&forced, None),
        "so set them to 1, the least of"
    ));
    let other = with(
        alone(),
        "/metadata/annotations/scaledobject.keda.sh~1name",
        json!("x"),
    );
    assert!(has_note(
        &migrated(&other, None),
        "annotation scaledobject.keda.sh/name is left out"
    ));
}

#[test]
fn between_windows_are_the_replicas_to_which_keda_goes() {
    for (idle, min, told) in [
        (None, None, "so set them to 0, the minReplicaCount"),
        (None, Some(2), "so set them to 2, the minReplicaCount"),
        (Some(0), Some(2), "so set them to 0, the idleReplicaCount"),
        (Some(1), Some(2), "so set them to 1, the idleReplicaCount"),
    ] {
        let mut document = alone();
        document["spec"]["idleReplicaCount"] = json!(idle);
        document["spec"]["minReplicaCount"] = json!(min);
        let found = migrated(&document, None);
        assert!(has_note(&found, told), "{told}: {:?}", found.notes);
    }
    let document = with(beside(), "/spec/idleReplicaCount", json!(0));
    let error = refused(&document);
    assert!(
        error.starts_with("spec.idleReplicaCount: without its cron trigger KEDA"),
        "{error}"
    );
}

/// Refused values (JSON) at places of a ScaledObject, and what the refusal says.
const REFUSED: [(&str, &str, &str); 19] = [
    (
        "/apiVersion",
        r#""keda.sh/v2""#,
        "apiVersion: v2 is not supported",
    ),
    ("/metadata/name", "null", "metadata.name: is missing"),
    (
        "/spec/triggers/0/metricType",
        r#""Value""#,
        "accepted: AverageValue",
    ),
    (
        "/spec/triggers/0/useCachedMetrics",
        "true",
        "refused by KEDA",
    ),
    (
        "/spec/advanced/scalingModifiers/formula",
        r#""a + b""#,
        "all triggers into one number",
    ),
    (
        "/spec/minReplicaCount",
        r#""2""#,
        "spec.minReplicaCount: is not a replica count",
    ),
    (
        "/spec/maxReplicaCount",
        "-1",
        "spec.maxReplicaCount: is not a replica count",
    ),
    ("/spec/minReplicaCount", "101", "above maxReplicaCount, 100"),
    (
        "/spec/triggers/0/metadata/desiredReplicas",
        r#""0""#,
        "accepted: 1 or more",
    ),
    (
        "/spec/triggers/0/metadata/desiredReplicas",
        r#""ten""#,
        "accepted: 1 or more",
    ),
    (
        "/spec/triggers/0/metadata/desiredReplicas",
        "10",
        "is not text",
    ),
    (
        "/spec/triggers/0/metadata/timezone",
        "null",
        "timezone: is missing",
    ),
    (
        "/spec/triggers/0/metadata/timezone",
        r#""Mars""#,
        "is not a time zone",
    ),
    (
        "/spec/triggers/0/metadata/end",
        r#""0 8 * * 1-5""#,
        "the window never closes",
    ),
    (
        "/spec/triggers/0/metadata/start",
        r#""0 0 8 * * *""#,
        "KEDA reads five fields",
    ),
    (
        "/spec/triggers/0/metadata/start",
        r#""@daily""#,
        "KEDA reads five fields",
    ),
    (
        "/spec/triggers",
        r#""none""#,
        "spec.triggers: is not a list",
    ),
    (
        "/spec/scaleTargetRef/name",
        "null",
        "spec.scaleTargetRef.name: is missing",
    ),
    ("/kind", r#""ScaledJob""#, "a ScaledJob starts Jobs"),
];

#[test]
fn fields_that_a_cron_hpa_has_not_are_named_or_refused() {
    for (pointer, value) in [
        ("/spec/pollingInterval", json!(5)),
        ("/spec/cooldownPeriod", json!(60)),
        ("/spec/initialCooldownPeriod", json!(60)),
        (
            "/spec/fallback",
            json!({"failureThreshold": 3, "replicas": 5, "behavior": "static"}),
        ),
        ("/spec/advanced/restoreToOriginalReplicaCount", json!(true)),
        (
            "/spec/advanced/horizontalPodAutoscalerConfig/behavior",
            json!({"scaleDown": {}}),
        ),
        (
            "/spec/advanced/horizontalPodAutoscalerConfig/name",
            json!("own"),
        ),
        ("/spec/scaleTargetRef/envSourceContainerName", json!("app")),
        (
            "/spec/triggers/0/authenticationRef",
            json!({"name": "secret"}),
        ),
        (
            "/metadata/ownerReferences",
            json!([{"name": "platform", "kind": "App"}]),
        ),
        ("/metadata/finalizers", json!(["example.com/cleaner"])),
    ] {
        let found = migrated(&with(alone(), pointer, value), None);
        let path = pointer
            .trim_start_matches('/')
            .replace('/', ".")
            .replace(".0.", "[0].");
        assert!(has_note(&found, &path), "{path}: {:?}", found.notes);
    }
}

#[test]
fn what_a_cron_hpa_cannot_do_is_refused_with_its_place() {
    for (pointer, value, told) in REFUSED {
        let value = serde_json::from_str(value).unwrap();
        let error = refused(&with(alone(), pointer, value));
        assert!(error.contains(told), "{pointer}: {error}");
    }
    let many = with(
        alone(),
        "/spec/triggers/0/metadata/desiredReplicas",
        json!("5000000000"),
    );
    let found = migrated(&many, None);
    assert_eq!(found.manifest["spec"]["crons"][0]["replicas"], 100);
    assert!(has_note(
        &found,
        "5000000000 is 100 within the bounds of 0 to 100"
    ));
}

/// The paths of all objects in a value, except those with free fields.
fn objects(value: &Value, pointer: &str, found: &mut Vec<String>) {
    const FREE: [&str; 3] = [
        "/metadata",
        "/spec/triggers/1/metadata",
        "/spec/triggers/0/authenticationRef",
    ];
    if value.is_object() && !FREE.contains(&pointer) && !pointer.ends_with("behavior") {
        found.push(pointer.to_owned());
    }
    let fields = value.as_object().into_iter().flatten();
    let items = value.as_array().into_iter().flatten().enumerate();
    let fields = fields.map(|(name, field)| (name.clone(), field));
    for (name, part) in fields.chain(items.map(|(place, item)| (place.to_string(), item))) {
        let pointer = format!("{pointer}/{name}");
        if !FREE.contains(&pointer.as_str()) {
            objects(part, &pointer, found);
        }
    }
}

#[test]
fn a_field_that_is_not_known_is_refused_wherever_it_stands() {
    let mut document = beside();
    document["spec"]["advanced"] = json!({
        "horizontalPodAutoscalerConfig": {"behavior": {}, "name": "own"},
        "scalingModifiers": {"target": "1"},
    });
    document["spec"]["fallback"] = json!({"failureThreshold": 3, "replicas": 5});
    document["spec"]["triggers"][0] = cron();
    document["spec"]["triggers"][1] = json!({"type": "cpu", "metadata": {"value": "60"}});
    migrated(&document, None);
    let mut places = Vec::new();
    objects(&document, "", &mut places);
    assert!(places.len() > 8, "{places:?}");
    for place in places {
        let document = with(document.clone(), &format!("{place}/surprise"), json!(1));
        let error = refused(&document);
        assert!(
            error.contains("surprise") && error.contains("not known and would be lost"),
            "{place}: {error}"
        );
    }
    let two = with(with(document, "/spec/a", json!(1)), "/spec/b", json!(2));
    assert!(refused(&two).starts_with("spec.a, spec.b: are not known"));
}

/// True if KEDA has a window open, by its own comparison of the next start with the next end.
fn is_active(start: &Schedule, end: &Schedule, at: Timestamp) -> bool {
    end.next_after(at) <= start.next_after(at)
}

/// True if a CronHPA has it open.
fn is_open(start: &Schedule, end: &Schedule, at: Timestamp) -> bool {
    end.latest_until(at) <= start.latest_until(at)
}

#[test]
fn windows_are_taken_over_where_keda_opens_them_at_the_same_hours() {
    let utc = Zone::utc();
    let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    for (start, end, alternates) in [
        ("0 8 * * 1-5", "0 18 * * 1-5", true),
        ("0 20 * * *", "0 6 * * *", true),
        ("0 8 * * 1", "0 18 * * 5", true),
        ("0 8 1 * *", "0 20 28 * *", true),
        ("0 0 1 12 *", "0 0 1 1 *", true),
        ("0 8,14 * * *", "0 12,18 * * *", true),
        ("*/30 * * * *", "15/30 * * * *", true),
        // Open for 36 hours in KEDA, from the last of the starts on.
        ("0 8 28,29,30,31 * *", "0 20 1 * *", false),
        ("0 8 * * *", "0 18 * * 1-5", false),
        ("0 8 * * 1-5", "0 18 * * *", false),
        ("0 8,12 * * *", "0 18 * * *", false),
        ("0 8 * * *", "0 18,22 * * *", false),
        ("0 8 29 2 *", "0 20 * 2 *", false),
        ("*/20 8 * * *", "0 18 * * *", false),
        // At one moment: it goes on, by either reading.
        ("0 8,18 * * *", "0 18,20 * * *", true),
        ("0 8 * * *", "0 4,6,8 * * *", false),
        ("0 8 * * *", "0 8 * * 1", false),
    ] {
        let document = with(alone(), "/spec/triggers/0/metadata/start", json!(start));
        let document = with(document, "/spec/triggers/0/metadata/end", json!(end));
        let found = migrate(&document, &circumstances(None)).unwrap();
        assert_eq!(found.is_ok(), alternates, "{start} to {end}: {found:?}");
        let [start, end] = [start, end].map(|text| Schedule::parse(text, None, &utc).unwrap());
        let mut hours =
            (0..5 * 366 * 24).map(|hour| now + SignedDuration::from_mins(60 * hour + 1));
        let differs = hours.any(|at| is_active(&start, &end, at) != is_open(&start, &end, at));
        assert_eq!(
            differs,
            !alternates,
            "{} to {} by KEDA's own comparison",
            start.expression(),
            end.expression()
        );
    }
    let document = with(
        alone(),
        "/spec/triggers/0/metadata/start",
        json!("0 8 28,29,30,31 * *"),
    );
    let document = with(
        document,
        "/spec/triggers/0/metadata/end",
        json!("0 20 1 * *"),
    );
    let error = refused(&document);
    for part in [
        "spec.triggers[0].metadata.start: start is at",
        "(36h)",
        "(108h)",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}
