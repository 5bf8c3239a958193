//! Upgrade and rollback: objects as the version before wrote them, in `upgrade/`, are read by this
//! one, and this one writes them alike, the record to the letter, so that the version before reads what
//! it writes.

use super::*;

/// The traces of a version on an object, and the results of reading them.
struct Stored {
    /// The object that carries the bounds, as the version before left it.
    object: &'static str,
    /// Brings a world to the same, by this version.
    writes: fn() -> World,
    /// The user's own bounds.
    user: (Option<i64>, i64),
    /// The floor that stands.
    floor: Option<i32>,
    contested: bool,
    /// The fields that this version adds. The version before keeps them and does not read them.
    adds: &'static [&'static str],
}

/// A record with contributors that neither version knows, or that no component renews.
fn others() -> Value {
    json!(
        json!({
            "user": {"min": 2, "max": 10}, "written": {"min": 8, "max": 10},
            "contributions": {
                "cron/day": {"min": 8, "until": "2027-01-15T09:00:00Z"},
                "plan/x": {"how": [1, 2]},
                "portrait/web": {"min": 7, "until": "2027-01-15T09:00:00Z"},
            },
            "version": 2,
        })
        .to_string()
    )
}

/// The end of a contest.
const END: [&str; 2] = [
    r#","leftFor":600,"leftUntil":"2027-01-15T08:10:30Z""#,
    " until 2027-01-15T08:10:30Z",
];

fn stored() -> [Stored; 4] {
    [
        Stored {
            object: include_str!("upgrade/floor.json"),
            writes: || {
                let mut world = World::new();
                world.tick(Some(6), 0);
                world
            },
            user: (Some(2), 10),
            floor: Some(6),
            contested: false,
            adds: &[],
        },
        Stored {
            object: include_str!("upgrade/keda.json"),
            writes: || {
                let mut world = World::with_keda();
                world.owner()["spec"]["minReplicaCount"] = json!(0);
                world.tick(Some(6), 0);
                world
            },
            user: (Some(0), 10),
            floor: Some(6),
            contested: false,
            adds: &[],
        },
        Stored {
            object: include_str!("upgrade/contested.json"),
            writes: || {
                let mut world = World::new();
                for second in [0, 15, 30] {
                    world.tick(Some(6), second);
                    if second < 30 {
                        world.hpa()["spec"]["minReplicas"] = json!(2);
                    }
                }
                world
            },
            user: (Some(2), 10),
            floor: None,
            contested: true,
            adds: &END,
        },
        Stored {
            object: include_str!("upgrade/others.json"),
            writes: || {
                let mut world = World::new();
                world.hpa()["spec"]["minReplicas"] = json!(8);
                world.record_by(MANAGER, &others());
                world.tick(Some(9), 0);
                world
            },
            user: (Some(2), 10),
            floor: Some(9),
            contested: false,
            adds: &[],
        },
    ]
}

impl Stored {
    fn object(&self) -> Value {
        serde_json::from_str(self.object).unwrap()
    }

    /// A world in which the object is as the version before left it.
    fn world(&self) -> World {
        let object = self.object();
        let keda = object["spec"]["minReplicaCount"].is_i64();
        let mut world = if keda {
            World::with_keda()
        } else {
            World::new()
        };
        *world.owner() = object;
        world
    }
}

#[test]
fn objects_of_the_version_before_are_read_and_put_back() {
    for stored in stored() {
        let mut world = stored.world();
        let resolved = world.resolve(at(45));
        let bounds = resolved.bounds.as_ref().unwrap();
        assert_eq!(bounds.refused(), None, "{}", stored.object);
        let user = (
            bounds.user().min.map(i64::from),
            i64::from(bounds.user().max),
        );
        assert_eq!(user, stored.user);
        let floor = bounds.floor(at(45)).map(|floor| floor.replicas);
        assert_eq!(
            (floor, bounds.is_contested()),
            (stored.floor, stored.contested)
        );
        let status = world.status().expect("the status is read");
        assert_eq!(status.mode, "floor");
        world.annotate(SCALING, json!("off"));
        world.tick(None, 60);
        assert_eq!(world.bounds(), stored.user);
        assert!(!world.has_record() && world.status().is_none());
    }
}

#[test]
fn this_version_writes_what_the_version_before_reads() {
    for stored in stored() {
        let mut world = (stored.writes)();
        let (ours, theirs) = (world.owner().clone(), stored.object());
        let annotations = &ours["metadata"]["annotations"];
        let known = |object: &Value| {
            let mut annotations = object["metadata"]["annotations"].clone();
            for text in annotations.as_object_mut().unwrap().values_mut() {
                let added = stored.adds.iter();
                let told = text.as_str().unwrap().to_owned();
                *text = json!(added.fold(told, |told, added| told.replace(added, "")));
            }
            let status = annotations[SCALING_STATUS].as_str().unwrap();
            let mut status: Value = serde_json::from_str(status).unwrap();
            // A field that it does not know is skipped by the version before.
            status.as_object_mut().unwrap().remove("horizonParts");
            // Messages are for people: no version reads them.
            for condition in status["conditions"].as_array_mut().into_iter().flatten() {
                condition.as_object_mut().unwrap().remove("message");
            }
            annotations[SCALING_STATUS] = status;
            annotations
        };
        assert_eq!(known(&ours), known(&theirs));
        assert_eq!(ours["spec"], theirs["spec"]);
        assert!(annotations[BOUNDS].is_string() && annotations[SCALING_STATUS].is_string());
    }
}
