use evenkeel_objects::plan::conditional_patch::apply;
use evenkeel_objects::plan::write::WriteOperation;
use evenkeel_units::Amount;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::resizable_pod::tests::{of, running};
use crate::resize::ResizeRules;
use crate::tuning_policy::TuningPolicy;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn context(mode: TuningMode, second: i64) -> TuningContext<'static> {
    TuningContext {
        mode,
        rules: ResizeRules {
            may_restart: false,
            may_lower_memory_limits: true,
        },
        policy: None,
        withdraw_after: SignedDuration::from_mins(10),
        reporter: "evenkeel-0",
        now: at(second),
    }
}

fn resources() -> Value {
    json!({"requests": {"cpu": "300m"}, "limits": {"cpu": "600m"}})
}

/// A Pod that lives through a resize; the test is its kubelet.
struct Life {
    pod: Value,
    version: u32,
}

impl Life {
    fn new() -> Self {
        Self {
            pod: running(&resources()),
            version: 7,
        }
    }

    fn seen(&self) -> ResizablePod {
        of(self.pod.clone())
    }

    fn make(&mut self, write: &Write) {
        let WriteOperation::Conditional(patch) = &write.operation else {
            panic!("a patch")
        };
        apply(&mut self.pod, patch).unwrap();
        self.version += 1;
        self.pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    fn begin(&mut self, limit: u64, second: i64) {
        self.decide(limit, None, second).unwrap();
    }

    /// Begins what is asked for first of a cpu limit in millicores and a memory limit in mebibytes.
    fn decide(&mut self, cpu: u64, memory: Option<u64>, second: i64) -> Result<(), ResizeRefusal> {
        let seen = self.seen();
        let mut changes = ContainerValues::new();
        let mut values = seen.container("app").unwrap().values;
        values.cpu.limit = Some(Amount::new(cpu));
        if let Some(memory) = memory {
            values.memory.limit = Some(Amount::new(memory << 20));
        }
        changes.insert("app".into(), values);
        let write = begin(&seen, &changes, &context(TuningMode::On, second))?;
        self.make(&write.unwrap());
        Ok(())
    }

    fn begin_memory(&mut self, mebibytes: u64, second: i64) {
        let cpu = self.seen().container("app").unwrap().values.cpu.limit;
        let cpu = cpu.unwrap().get();
        self.decide(cpu, Some(mebibytes), second).unwrap();
    }

    /// A whole resize, from its decision until kubelet has done it.
    fn resize(&mut self, cpu: u64, memory: Option<u64>, second: i64) {
        self.decide(cpu, memory, second).unwrap();
        self.follow(TuningMode::On, second + 15);
        self.kubelet_does_it();
        self.follow(TuningMode::On, second + 30);
    }

    fn memory(&self) -> &str {
        self.pod["spec"]["containers"][0]["resources"]["limits"]["memory"]
            .as_str()
            .unwrap()
    }

    /// Follows the Pod, makes what is written on it, and gives the reasons of Events.
    fn follow(&mut self, mode: TuningMode, second: i64) -> Option<&'static str> {
        let PodResizePlan { writes, told, .. } = follow(&self.seen(), &context(mode, second));
        for write in writes {
            if write.purpose == Purpose::Resize {
                self.make(&write);
            }
        }
        told.map(|told| told.reason())
    }

    fn limit(&self) -> &str {
        self.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"]
            .as_str()
            .unwrap()
    }

    fn is_marked(&self) -> bool {
        self.pod["metadata"]["annotations"]["evenkeel.dev/resized"].is_string()
    }

    fn kubelet_does_it(&mut self) {
        let asked = self.pod["spec"]["containers"][0]["resources"].clone();
        self.pod["status"]["containerStatuses"][0]["allocatedResources"] =
            asked["requests"].clone();
        self.pod["status"]["containerStatuses"][0]["resources"] = asked;
        self.pod["status"]["conditions"] = json!([]);
    }

    fn kubelet_says(&mut self, reason: &str, second: i64) {
        self.pod["status"]["conditions"] = json!([{"type": "PodResizePending", "status": "True",
            "reason": reason, "message": "no room", "lastTransitionTime": at(second)}]);
    }
}

#[test]
fn a_decision_becomes_a_record_then_a_resize_and_goes_back_when_tuning_is_off() {
    let mut life = Life::new();
    life.begin(900, 0);
    assert_eq!((life.limit(), life.is_marked()), ("600m", true));
    assert_eq!(life.follow(TuningMode::On, 15), Some("Resized"));
    assert_eq!(life.limit(), "900m");
    // Kubelet has not said anything yet: it is waited for.
    assert_eq!(life.follow(TuningMode::On, 30), None);
    life.kubelet_does_it();
    assert_eq!(life.follow(TuningMode::On, 45), None);
    assert_eq!(life.limit(), "900m");
    for mode in [TuningMode::Recommend, TuningMode::Off] {
        let mut life = Life {
            pod: life.pod.clone(),
            version: life.version,
        };
        assert_eq!(life.follow(mode, 60), Some("ResourcesPutBack"));
        assert_eq!((life.limit(), life.is_marked()), ("600m", true));
        assert_eq!(life.follow(mode, 75), None);
        assert!(!life.is_marked());
        assert_eq!(
            follow(&life.seen(), &context(mode, 90)),
            PodResizePlan::default()
        );
    }
}

#[test]
fn what_kubelet_does_not_do_is_told_with_its_age_and_withdrawn() {
    for reason in ["Deferred", "Infeasible"] {
        let mut life = Life::new();
        life.begin(900, 0);
        life.follow(TuningMode::On, 15);
        life.kubelet_says(reason, 20);
        let followed = follow(&life.seen(), &context(TuningMode::On, 30));
        let pending = followed.pending.unwrap();
        assert_eq!((pending.phase.as_str(), pending.since), (reason, at(20)));
        assert_eq!(followed.told.unwrap().reason(), format!("Resize{reason}"));
        let again = follow(&life.seen(), &context(TuningMode::On, 45));
        assert_eq!(
            followed.writes[0].target, again.writes[0].target,
            "one Event"
        );
        assert_eq!(life.follow(TuningMode::On, 620), Some("ResizeWithdrawn"));
        assert_eq!(life.limit(), "900m", "the record comes first");
        life.follow(TuningMode::On, 635);
        assert_eq!(life.limit(), "600m");
        life.kubelet_does_it();
        life.follow(TuningMode::On, 650);
        assert!(life.is_marked(), "what has failed is remembered");
        assert!(matches!(
            life.decide(900, None, 1200),
            Err(ResizeRefusal::Rests(_))
        ));
        life.begin(400, 1200);
        life.follow(TuningMode::On, 1215);
        assert_eq!(life.limit(), "400m", "cuts do not rest");
    }
}

#[test]
fn what_fails_again_and_again_is_asked_for_ever_more_rarely() {
    let mut life = Life::new();
    let (mut second, mut pauses) = (0, Vec::new());
    life.begin(900, second);
    for _ in 0..8 {
        life.follow(TuningMode::On, second + 15);
        life.kubelet_says("Deferred", second + 20);
        let failed = second + 620;
        assert_eq!(life.follow(TuningMode::On, failed), Some("ResizeWithdrawn"));
        life.follow(TuningMode::On, failed + 15);
        life.kubelet_does_it();
        second = failed + 30;
        life.follow(TuningMode::On, second);
        while life.decide(900, None, second).is_err() {
            second += 60;
        }
        pauses.push((second - failed) / 1800);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 48, 48]);
}

#[test]
fn a_withdrawal_that_kubelet_does_not_do_is_not_withdrawn() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(TuningMode::On, 15);
    assert_eq!(life.follow(TuningMode::On, 620), Some("ResizeWithdrawn"));
    life.follow(TuningMode::On, 635);
    life.kubelet_says("Deferred", 640);
    assert_eq!(life.follow(TuningMode::On, 1300), Some("ResizeDeferred"));
    assert_eq!(life.limit(), "600m");
}

#[test]
fn raises_come_before_cuts_and_each_kind_of_cut_has_its_turn() {
    let mut life = Life::new();
    life.pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("400Mi");
    life.kubelet_does_it();
    let has = |life: &Life| (life.limit().to_owned(), life.memory().to_owned());
    life.resize(900, Some(300), 0);
    assert_eq!(has(&life), ("900m".into(), "400Mi".into()));
    life.resize(800, Some(300), 600);
    assert_eq!(has(&life), ("900m".into(), "300Mi".into()));
    life.resize(800, Some(250), 1200);
    assert_eq!(has(&life), ("800m".into(), "300Mi".into()));
    life.resize(700, Some(250), 1800);
    assert_eq!(has(&life), ("800m".into(), "250Mi".into()));
}

#[test]
fn memory_that_cannot_be_lowered_keeps_no_cpu_from_growing() {
    let mut life = Life::new();
    life.pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("400Mi");
    life.kubelet_does_it();
    life.begin_memory(300, 0);
    life.follow(TuningMode::On, 15);
    life.pod["status"]["conditions"] = json!([{"type": "PodResizeInProgress", "status": "True",
        "reason": "Error", "message": "it holds more", "lastTransitionTime": at(20)}]);
    assert_eq!(life.follow(TuningMode::On, 30), Some("ResizeFailed"));
    assert_eq!(life.follow(TuningMode::On, 640), Some("ResizeWithdrawn"));
    life.follow(TuningMode::On, 655);
    life.kubelet_does_it();
    life.follow(TuningMode::On, 670);
    life.resize(900, Some(300), 1200);
    assert_eq!((life.limit(), life.memory()), ("900m", "400Mi"));
    assert!(matches!(
        life.decide(900, Some(300), 1800),
        Err(ResizeRefusal::Rests(_))
    ));
    life.resize(900, Some(300), 670 + 1800);
    assert_eq!(life.memory(), "300Mi");
}

#[test]
fn a_container_that_lacks_lowered_memory_gets_it_back_at_once_and_keeps_it() {
    let killed = json!({"lastState": {"terminated": {"reason": "OOMKilled"}}});
    let loops = json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}});
    for state in [killed, loops] {
        let mut life = Life::new();
        life.pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("512Mi");
        life.kubelet_does_it();
        life.begin_memory(165, 0);
        life.follow(TuningMode::On, 15);
        life.kubelet_does_it();
        assert_eq!(
            (life.follow(TuningMode::On, 30), life.memory()),
            (None, "165Mi")
        );
        json_patch::merge(&mut life.pod["status"]["containerStatuses"][0], &state);
        assert_eq!(life.follow(TuningMode::On, 45), Some("MemoryPutBack"));
        assert_eq!(life.follow(TuningMode::On, 60), Some("Resized"));
        assert_eq!(life.memory(), "512Mi");
        // It waits for room for as long as that takes.
        life.kubelet_says("Deferred", 70);
        assert_eq!(life.follow(TuningMode::On, 3600), Some("ResizeDeferred"));
        life.kubelet_does_it();
        assert_eq!(life.follow(TuningMode::On, 3615), None);
        let status = &mut life.pod["status"]["containerStatuses"][0];
        status["state"] = json!({"running": {}});
        status["lastState"] = json!({});
        assert_eq!(life.follow(TuningMode::On, 3630), None);
        assert!(life.seen().lacked_memory("app"), "it is remembered");
        assert_eq!(life.follow(TuningMode::Off, 3645), None);
        assert!(!life.is_marked());
    }
}

/// The harm: a failed raise of cpu kept memory from a container that was killed for lack of it.
#[test]
fn cpu_that_could_not_grow_keeps_no_memory_from_who_lacks_it() {
    let mut life = Life::new();
    life.pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("512Mi");
    life.kubelet_does_it();
    life.begin(900, 0);
    life.follow(TuningMode::On, 15);
    life.kubelet_says("Deferred", 20);
    assert_eq!(life.follow(TuningMode::On, 620), Some("ResizeWithdrawn"));
    life.follow(TuningMode::On, 635);
    life.kubelet_does_it();
    life.follow(TuningMode::On, 650);
    assert!(matches!(
        life.decide(900, None, 700),
        Err(ResizeRefusal::Rests(_))
    ));
    life.resize(600, Some(165), 700);
    assert_eq!(life.memory(), "165Mi");
    life.pod["status"]["containerStatuses"][0]["lastState"] =
        json!({"terminated": {"reason": "OOMKilled"}});
    assert_eq!(life.follow(TuningMode::On, 745), Some("MemoryPutBack"));
}

/// The harm: each turn asked for what the owner allows, each look for the original values.
#[test]
fn memory_is_given_back_as_far_as_its_owner_allows() {
    let annotations = json!({"evenkeel.dev/max-allowed": "memory=300Mi"});
    let annotations = serde_json::from_value(annotations).unwrap();
    let (policy, invalid) = TuningPolicy::parse(&annotations);
    assert!(invalid.is_empty());
    let mut life = Life::new();
    life.pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("512Mi");
    life.kubelet_does_it();
    life.begin_memory(165, 0);
    life.follow(TuningMode::On, 15);
    life.kubelet_does_it();
    life.follow(TuningMode::On, 30);
    life.pod["status"]["containerStatuses"][0]["lastState"] =
        json!({"terminated": {"reason": "OOMKilled"}});
    let mut reasons = Vec::new();
    for second in [45, 60, 75, 90, 105] {
        let context = TuningContext {
            policy: Some(&policy),
            ..context(TuningMode::On, second)
        };
        let PodResizePlan { writes, told, .. } = follow(&life.seen(), &context);
        for write in writes
            .iter()
            .filter(|write| write.purpose == Purpose::Resize)
        {
            life.make(write);
        }
        life.kubelet_does_it();
        reasons.extend(told.map(|told| told.reason()));
    }
    assert_eq!(life.memory(), "300Mi");
    assert_eq!(reasons, ["MemoryPutBack", "Resized"]);
}

#[test]
fn a_kill_before_any_memory_was_taken_changes_nothing() {
    let mut life = Life::new();
    life.pod["status"]["containerStatuses"][0]["lastState"] =
        json!({"terminated": {"reason": "OOMKilled"}});
    life.begin(900, 0);
    assert_eq!(life.follow(TuningMode::On, 15), Some("Resized"));
    life.kubelet_does_it();
    assert_eq!(life.follow(TuningMode::On, 30), None);
    assert!(life.seen().lacked_memory("app"));
}

#[test]
fn a_resize_that_the_api_server_refuses_is_given_up() {
    let mut life = Life::new();
    life.begin(900, 0);
    // The write is planned again and again, and never made.
    let followed = follow(&life.seen(), &context(TuningMode::On, 60));
    assert_eq!(followed.told.unwrap().reason(), "Resized");
    assert_eq!(life.follow(TuningMode::On, 120), Some("ResizeRefused"));
    assert_eq!(life.limit(), "600m");
    assert!(matches!(
        life.decide(900, None, 600),
        Err(ResizeRefusal::Rests(_))
    ));
    assert_eq!(life.follow(TuningMode::Off, 615), None);
    assert!(!life.is_marked());
}

#[test]
fn a_later_decision_that_is_refused_leaves_the_record_of_what_stands() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(TuningMode::On, 15);
    life.kubelet_does_it();
    life.begin(1200, 600);
    assert_eq!(life.follow(TuningMode::On, 720), Some("ResizeRefused"));
    assert_eq!((life.limit(), life.is_marked()), ("900m", true));
    assert_eq!(life.follow(TuningMode::On, 735), None);
    assert_eq!(life.follow(TuningMode::Off, 750), Some("ResourcesPutBack"));
    assert_eq!(life.limit(), "600m");
}

#[test]
fn what_somebody_else_changes_is_left_to_them() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(TuningMode::On, 15);
    life.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("700m");
    life.kubelet_does_it();
    assert_eq!(life.follow(TuningMode::On, 30), Some("ResizedByOthers"));
    assert_eq!((life.limit(), life.is_marked()), ("700m", true));
    // It is theirs from then on, also where it has by chance what was once decided.
    for (limit, second) in [("700m", 45), ("900m", 700), ("600m", 1300)] {
        life.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!(limit);
        life.kubelet_does_it();
        assert_eq!(life.follow(TuningMode::On, second), None);
        assert_eq!(
            life.decide(800, None, second),
            Err(ResizeRefusal::ChangedByOthers)
        );
    }
    assert_eq!(life.follow(TuningMode::Off, 1315), None);
    assert_eq!((life.limit(), life.is_marked()), ("600m", false));
}

#[test]
fn the_record_of_another_part_is_left_to_it() {
    let mut life = Life::new();
    life.begin(900, 0);
    let annotation = &mut life.pod["metadata"]["annotations"]["evenkeel.dev/resized"];
    *annotation = json!(annotation.as_str().unwrap().replace("tuning", "standby"));
    for mode in [TuningMode::On, TuningMode::Off] {
        assert_eq!(
            follow(&life.seen(), &context(mode, 60)),
            PodResizePlan::default()
        );
    }
}

#[test]
fn a_pod_that_is_to_be_skipped_is_put_back() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(TuningMode::On, 15);
    life.kubelet_does_it();
    life.pod["metadata"]["annotations"]["evenkeel.dev/skip"] = json!("true");
    assert_eq!(life.follow(TuningMode::On, 30), Some("ResourcesPutBack"));
}

#[test]
fn an_event_says_what_changes() {
    let mut life = Life::new();
    life.begin(900, 0);
    let told = follow(&life.seen(), &context(TuningMode::On, 15))
        .told
        .unwrap();
    assert_eq!(
        told.note(),
        "resized to fit its use: app limits.cpu 600m to 900m"
    );
}

#[test]
fn a_record_that_somebody_else_wrote_is_followed_in_no_mode() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.pod["metadata"]["managedFields"][0]["manager"] = json!("kubectl-annotate");
    for mode in TuningMode::ALL {
        let followed = follow(&life.seen(), &context(mode, 15));
        assert_eq!(followed, PodResizePlan::default(), "{mode:?}");
    }
}

#[test]
fn what_the_api_server_puts_back_in_part_is_told_and_goes_on_from_there() {
    let old = |mode, second| {
        let mut context = context(mode, second);
        context.rules.may_lower_memory_limits = false;
        context
    };
    let made = json!({"requests": {"cpu": "300m"}, "limits": {"cpu": "600m", "memory": "400Mi"}});
    let mut life = Life::new();
    life.pod = running(&made);
    let seen = life.seen();
    let mut values = seen.values();
    let raised = values.get_mut("app").unwrap();
    raised.cpu.limit = Some(Amount::new(900));
    raised.memory.limit = Some(Amount::new(600 << 20));
    let write = begin(&seen, &values, &old(TuningMode::On, 0))
        .unwrap()
        .unwrap();
    life.make(&write);
    life.follow(TuningMode::On, 15);
    life.kubelet_does_it();
    let undone = |life: &mut Life, second| {
        let PodResizePlan { writes, told, .. } =
            follow(&life.seen(), &old(TuningMode::Off, second));
        for write in writes
            .iter()
            .filter(|write| write.purpose == Purpose::Resize)
        {
            life.make(write);
        }
        life.kubelet_does_it();
        told.map(|told| told.reason())
    };
    assert_eq!(undone(&mut life, 30), Some("ResourcesPutBack"));
    assert_eq!(undone(&mut life, 45), Some("ResourcesNotPutBack"));
    assert_eq!((life.limit(), life.is_marked()), ("600m", true));
    // Where it is tuned again, what it was made with is not lost.
    assert_eq!(life.follow(TuningMode::On, 60), None);
    assert_eq!(life.follow(TuningMode::On, 75), None);
    let record = life.seen().record.unwrap().unwrap();
    let memory = |values: &ContainerValues| values["app"].memory.limit.unwrap().get() >> 20;
    assert_eq!(
        [
            memory(&record.original),
            memory(&record.from),
            memory(&record.to)
        ],
        [400, 600, 600]
    );
    assert_eq!(life.follow(TuningMode::Off, 90), Some("ResourcesPutBack"));
    let limits = &life.pod["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits["memory"], "400Mi");
}

#[test]
fn a_resize_that_a_clock_ahead_has_dated_is_withdrawn_like_any_other() {
    let mut life = Life::new();
    life.begin(900, 86_400);
    // The record waits no longer because its date is in the future.
    assert_eq!(life.follow(TuningMode::On, 15), Some("ResizeRefused"));
    life.begin(900, 86_400);
    life.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("900m");
    life.kubelet_says("Deferred", 20);
    assert_eq!(life.follow(TuningMode::On, 30), Some("ResizeDeferred"));
    assert_eq!(life.follow(TuningMode::On, 620), Some("ResizeWithdrawn"));
}
