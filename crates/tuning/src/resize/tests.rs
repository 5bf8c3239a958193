use evenkeel_objects::managed_fields::MANAGER;
use evenkeel_objects::plan::conditional_patch::apply;
use serde_json::json;

use super::*;
use crate::resizable_pod::Obstacle;
use crate::resizable_pod::tests::{of, running, written_by};

const RULES: ResizeRules = ResizeRules {
    may_restart: false,
    may_lower_memory_limits: true,
};

fn burstable() -> Value {
    json!({"requests": {"cpu": "300m", "memory": "200Mi"}, "limits": {"cpu": "600m", "memory": "400Mi"}})
}

fn guaranteed() -> Value {
    json!({"requests": {"cpu": "600m", "memory": "400Mi"}, "limits": {"cpu": "600m", "memory": "400Mi"}})
}

/// The wanted values of `app`, on top of the Pod's own.
fn wanted(pod: &ResizablePod, resources: &Value) -> ContainerValues {
    let mut spec = json!({"resources": {"requests": {}, "limits": {}}});
    {
        let (name, values) = ("app", &pod.container("app").unwrap().values);
        let _ = name;
        spec["resources"] = crate::resize_record::resources(values);
    }
    json_patch::merge(&mut spec["resources"], resources);
    let read: evenkeel_objects::pod::ResourceRequirements =
        serde_json::from_value(spec["resources"].clone()).unwrap();
    [("app".into(), read.tuned())].into()
}

fn ask(pod: Value, resources: &Value, rules: ResizeRules) -> Result<Option<Write>, &'static str> {
    let pod = of(pod);
    let wanted = wanted(&pod, resources);
    resize(&pod, &wanted, rules, Purpose::Resize).map_err(|refusal| refusal.reason())
}

fn patched(mut object: Value, write: &Write) -> Value {
    let WriteOperation::Conditional(patch) = &write.operation else {
        panic!("a patch")
    };
    apply(&mut object, patch).unwrap();
    object
}

#[test]
fn a_resize_changes_what_differs_of_the_very_pod_as_it_was_seen() {
    let pod = running(&burstable());
    let change = json!({"limits": {"cpu": "900m"}});
    let write = ask(pod.clone(), &change, RULES).unwrap().unwrap();
    assert_eq!(write.target.to_string(), "pods/resize shop/web-1");
    let after = patched(pod.clone(), &write);
    let mut expected = burstable();
    expected["limits"]["cpu"] = json!("900m");
    assert_eq!(after["spec"]["containers"][0]["resources"], expected);
    assert_eq!(ask(pod, &json!({}), RULES), Ok(None));
    let WriteOperation::Conditional(patch) = &write.operation else {
        panic!("a patch")
    };
    let mut newer = running(&burstable());
    newer["metadata"]["resourceVersion"] = json!("8");
    assert!(apply(&mut newer, patch).is_err());
}

#[test]
fn what_the_api_server_refuses_is_not_asked() {
    let restarts = |mut pod: Value| {
        pod["spec"]["containers"][0]["resizePolicy"] =
            json!([{"resourceName": "memory", "restartPolicy": "RestartContainer"}]);
        pod
    };
    let only_limits = json!({"limits": {"cpu": "600m"}});
    let change = json!({"limits": {"cpu": "900m"}});
    let memory = json!({"limits": {"memory": "500Mi"}});
    let mut under_way = running(&burstable());
    under_way["status"]["conditions"] =
        json!([{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]);
    let mut skipped = running(&burstable());
    skipped["metadata"]["annotations"] = json!({"evenkeel.dev/skip": "true"});
    for (pod, change, reason) in [
        (running(&json!({})), &change, "BestEffort"),
        (
            running(&only_limits),
            &json!({"requests": {"cpu": "1m"}}),
            "AbsentIsNotAdded",
        ),
        (
            running(&burstable()),
            &json!({"limits": {"cpu": null}}),
            "AbsentIsNotAdded",
        ),
        (running(&guaranteed()), &change, "ClassWouldChange"),
        (
            running(&burstable()),
            &json!({"requests": {"cpu": "600m", "memory": "400Mi"}}),
            "ClassWouldChange",
        ),
        (
            running(&burstable()),
            &json!({"limits": {"cpu": "200m"}}),
            "RequestAboveLimit",
        ),
        (restarts(running(&burstable())), &memory, "WouldRestart"),
        (under_way, &change, "ResizeUnderWay"),
        (skipped, &change, "Skipped"),
    ] {
        assert_eq!(ask(pod, change, RULES), Err(reason), "{change}");
    }
    let may = ResizeRules {
        may_restart: true,
        ..RULES
    };
    assert!(
        ask(restarts(running(&burstable())), &memory, may)
            .unwrap()
            .is_some()
    );
    assert!(
        ask(restarts(running(&burstable())), &change, RULES)
            .unwrap()
            .is_some()
    );
    let both = json!({"requests": {"cpu": "900m"}, "limits": {"cpu": "900m"}});
    assert!(ask(running(&guaranteed()), &both, RULES).unwrap().is_some());
}

#[test]
fn containers_that_have_run_are_left_and_sidecars_are_not() {
    let with = |policy: Value| {
        let mut pod = running(&burstable());
        pod["spec"]["initContainers"] =
            json!([{"name": "side", "resources": burstable(), "restartPolicy": policy}]);
        let pod = of(pod);
        let wanted: ContainerValues = wanted(&pod, &json!({"limits": {"cpu": "900m"}}))
            .into_values()
            .map(|values| ("side".into(), values))
            .collect();
        resize(&pod, &wanted, RULES, Purpose::Resize).map_err(|refusal| refusal.reason())
    };
    let write = with(json!("Always")).unwrap().unwrap();
    assert!(format!("{write:?}").contains("initContainers"));
    assert_eq!(with(json!(null)), Err("InitContainer"));
}

#[test]
fn a_lower_memory_limit_is_left_out_where_the_api_server_refuses_it() {
    let old = ResizeRules {
        may_lower_memory_limits: false,
        ..RULES
    };
    let change = json!({"limits": {"cpu": "500m", "memory": "300Mi"}});
    let write = ask(running(&burstable()), &change, old).unwrap().unwrap();
    let after = patched(running(&burstable()), &write);
    let limits = &after["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(*limits, json!({"cpu": "500m", "memory": "400Mi"}));
    let only = json!({"limits": {"memory": "300Mi"}});
    assert_eq!(ask(running(&burstable()), &only, old), Ok(None));
    assert!(ask(running(&burstable()), &only, RULES).unwrap().is_some());
}

/// A Pod after the record and the resize of a change have been written, as kubelet then tells it.
fn resized(change: &Value) -> Value {
    let mut pod = running(&burstable());
    let seen = of(pod.clone());
    let changes = check(&seen, &wanted(&seen, change), RULES).unwrap();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let record = record(&seen, Resizer::Tuning, &changes, now).unwrap();
    let write = annotate(&seen, Some(&record), Purpose::Resize).unwrap();
    assert_eq!(write.target.to_string(), "pods shop/web-1");
    pod = patched(pod, &write);
    let seen = of(pod.clone());
    assert!(!record.is_done(&seen.values()));
    let write = resize(&seen, &record.to, RULES, Purpose::Resize);
    pod = patched(pod, &write.unwrap().unwrap());
    let resources = pod["spec"]["containers"][0]["resources"].clone();
    pod["status"]["containerStatuses"][0]["allocatedResources"] = resources["requests"].clone();
    pod["status"]["containerStatuses"][0]["resources"] = resources;
    let seen = of(pod.clone());
    assert_eq!(own(&seen, Resizer::Tuning), Ok(Some(&record)));
    assert!(record.is_done(&seen.values()) && seen.resize.is_none());
    pod
}

#[test]
fn what_was_resized_is_put_back_and_leaves_nothing() {
    let mut pod = resized(&json!({"limits": {"cpu": "900m", "memory": "500Mi"}}));
    let write = put_back(&of(pod.clone()), RULES, Purpose::Restore)
        .unwrap()
        .unwrap();
    assert_eq!(write.target.subresource.as_deref(), Some("resize"));
    pod = patched(pod, &write);
    assert_eq!(pod["spec"]["containers"][0]["resources"], burstable());
    let write = put_back(&of(pod.clone()), RULES, Purpose::Restore)
        .unwrap()
        .unwrap();
    pod = patched(pod, &write);
    assert_eq!(pod["metadata"]["annotations"], json!({}));
    assert_eq!(put_back(&of(pod), RULES, Purpose::Restore), Ok(None));
}

#[test]
fn what_somebody_else_has_resized_since_is_left_to_them() {
    let mut pod = resized(&json!({"limits": {"cpu": "900m"}}));
    pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("700m");
    let seen = of(pod.clone());
    assert_eq!(
        own(&seen, Resizer::Tuning),
        Err(ResizeRefusal::ChangedByOthers)
    );
    let write = put_back(&seen, RULES, Purpose::Restore).unwrap().unwrap();
    let after = patched(pod.clone(), &write);
    assert_eq!(after["spec"], pod["spec"]);
    assert_eq!(after["metadata"]["annotations"], json!({}));
    let pod = resized(&json!({"limits": {"cpu": "900m"}}));
    let seen = of(pod);
    assert_eq!(
        own(&seen, Resizer::Standby),
        Err(ResizeRefusal::ResizedOtherwise)
    );
}

#[test]
fn a_second_resize_keeps_what_was_first() {
    let pod = resized(&json!({"limits": {"cpu": "900m"}}));
    let seen = of(pod);
    let change = wanted(&seen, &json!({"limits": {"cpu": "1200m"}}));
    let now = "2026-01-01T00:10:00Z".parse().unwrap();
    let second = record(&seen, Resizer::Tuning, &change, now).unwrap();
    let cpu = |values: &ContainerValues| values["app"].cpu.limit.unwrap().get();
    assert_eq!(
        [cpu(&second.original), cpu(&second.from), cpu(&second.to)],
        [600, 900, 1200]
    );
    assert_eq!(ResizeRecord::parse(&second.to_string()), Ok(second));
}

#[test]
fn a_record_that_cannot_be_read_is_acted_on_by_nobody_and_kept() {
    let mut pod = running(&burstable());
    pod["metadata"]["annotations"] = json!({"evenkeel.dev/resized": "yes"});
    let seen = of(pod);
    assert_eq!(
        own(&seen, Resizer::Tuning),
        Err(RefusedRecord::Unreadable.into())
    );
    // The version that wrote it may be the one that comes back.
    assert_eq!(
        put_back(&seen, RULES, Purpose::Restore),
        Err(RefusedRecord::Unreadable.into())
    );
}

/// The harm: a forged record would restore 64 cores. Only Evenkeel's own records count.
#[test]
fn a_forged_record_is_acted_on_by_nobody() {
    let mut pod = running(&burstable());
    let mut large = burstable();
    large["limits"]["cpu"] = json!("64");
    let record = json!({"by": "tuning", "original": {"app": large}, "from": {"app": burstable()},
        "to": {"app": burstable()}, "at": "2026-01-01T00:00:00Z"});
    pod["metadata"]["annotations"] = json!({"evenkeel.dev/resized": record.to_string()});
    let believed = put_back(&of(pod.clone()), RULES, Purpose::Restore)
        .unwrap()
        .unwrap();
    assert_eq!(believed.target.subresource.as_deref(), Some("resize"));
    for written in [written_by("kubectl-annotate"), json!([]), json!(null)] {
        pod["metadata"]["managedFields"] = written;
        let seen = of(pod.clone());
        for by in [Resizer::Tuning, Resizer::Standby] {
            assert_eq!(own(&seen, by), Err(RefusedRecord::Foreign.into()));
            assert!(!seen.is_resized_by(by) && !seen.is_resized());
        }
        assert_eq!(put_back(&seen, RULES, Purpose::Restore), Ok(None));
        let change = wanted(&seen, &json!({"limits": {"cpu": "900m"}}));
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let begun = super::record(&seen, Resizer::Tuning, &change, now);
        assert_eq!(begun, Err(RefusedRecord::Foreign.into()));
    }
    pod["metadata"]["managedFields"] = written_by(MANAGER);
    assert!(of(pod).is_resized_by(Resizer::Tuning));
}

#[test]
fn no_record_is_written_that_would_not_be_read() {
    let mut pod = running(&burstable());
    let containers =
        (0..200).map(|number| json!({"name": format!("{number:063}"), "resources": burstable()}));
    pod["spec"]["containers"] = containers.collect();
    let seen = of(pod);
    let raised = |values: &CpuMemory<RequestAndLimit>| {
        let mut values = *values;
        values.cpu.limit = Some(Amount::new(900));
        values
    };
    let all = seen.values();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let of_all = all
        .iter()
        .map(|(name, values)| (name.clone(), raised(values)));
    let begun = record(&seen, Resizer::Tuning, &of_all.collect(), now);
    assert_eq!(begun, Err(ResizeRefusal::TooManyContainers));
    let one = all
        .iter()
        .take(1)
        .map(|(name, values)| (name.clone(), raised(values)));
    let begun = record(&seen, Resizer::Tuning, &one.collect(), now).unwrap();
    assert_eq!(ResizeRecord::parse(&begun.to_string()), Ok(begun));
}

/// The record is the only memory of what a Pod was made with: it stays until that is asked for.
#[test]
fn what_cannot_be_put_back_keeps_its_record_and_is_an_error() {
    let old = ResizeRules {
        may_lower_memory_limits: false,
        ..RULES
    };
    let memory = resized(&json!({"limits": {"memory": "600Mi"}}));
    let refused = put_back(&of(memory.clone()), old, Purpose::Restore);
    assert_eq!(refused, Err(ResizeRefusal::MemoryLimitStays("app".into())));
    let mut both = resized(&json!({"limits": {"cpu": "900m", "memory": "600Mi"}}));
    let write = put_back(&of(both.clone()), old, Purpose::Restore);
    both = patched(both, &write.unwrap().unwrap());
    let limits = json!({"cpu": "600m", "memory": "600Mi"});
    assert_eq!(both["spec"]["containers"][0]["resources"]["limits"], limits);
    let refused = put_back(&of(both.clone()), old, Purpose::Restore);
    assert_eq!(refused, Err(ResizeRefusal::MemoryLimitStays("app".into())));
    // A newer API server takes the rest.
    let write = put_back(&of(both.clone()), RULES, Purpose::Restore);
    both = patched(both, &write.unwrap().unwrap());
    assert_eq!(both["spec"]["containers"][0]["resources"], burstable());
    let mut stopped = memory;
    stopped["status"]["containerStatuses"] = json!([{"name": "app"}]);
    let refused = put_back(&of(stopped), RULES, Purpose::Restore);
    assert_eq!(refused, Err(Obstacle::NodeWithoutSupport.into()));
}
