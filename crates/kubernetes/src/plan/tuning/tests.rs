use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::plan::conditional::apply;
use crate::plan::resize::Rules;
use crate::plan::write::Operation;
use crate::resizable_pod::tests::{of, running};
use evenkeel_core::units::Amount;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn context(mode: Mode, second: i64) -> Context<'static> {
    Context {
        mode,
        rules: Rules {
            may_restart: false,
            may_lower_memory_limits: true,
        },
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
        let Operation::Conditional(patch) = &write.operation else {
            panic!("a patch")
        };
        apply(&mut self.pod, patch).unwrap();
        self.version += 1;
        self.pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    fn begin(&mut self, limit: u64, second: i64) {
        let seen = self.seen();
        let mut changes = ContainerValues::new();
        let mut values = seen.container("app").unwrap().values;
        values.cpu.limit = Some(Amount::new(limit));
        changes.insert("app".into(), values);
        let write = begin(&seen, &changes, &context(Mode::On, second)).unwrap();
        self.make(&write.unwrap());
    }

    /// Follows the Pod, makes what is written on it, and gives the reasons of Events.
    fn follow(&mut self, mode: Mode, second: i64) -> Option<&'static str> {
        let Followed { writes, told, .. } = follow(&self.seen(), &context(mode, second));
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
    assert_eq!(life.follow(Mode::On, 15), Some("Resized"));
    assert_eq!(life.limit(), "900m");
    // Kubelet has not said anything yet: it is waited for.
    assert_eq!(life.follow(Mode::On, 30), None);
    life.kubelet_does_it();
    assert_eq!(life.follow(Mode::On, 45), None);
    assert_eq!(life.limit(), "900m");
    for mode in [Mode::Recommend, Mode::Off] {
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
            Followed::default()
        );
    }
}

#[test]
fn what_kubelet_does_not_do_is_told_with_its_age_and_withdrawn() {
    for reason in ["Deferred", "Infeasible"] {
        let mut life = Life::new();
        life.begin(900, 0);
        life.follow(Mode::On, 15);
        life.kubelet_says(reason, 20);
        let followed = follow(&life.seen(), &context(Mode::On, 30));
        let pending = followed.pending.unwrap();
        assert_eq!((pending.phase.as_str(), pending.since), (reason, at(20)));
        assert_eq!(followed.told.unwrap().reason(), format!("Resize{reason}"));
        let again = follow(&life.seen(), &context(Mode::On, 45));
        assert_eq!(
            followed.writes[0].target, again.writes[0].target,
            "one Event"
        );
        assert_eq!(life.follow(Mode::On, 620), Some("ResizeWithdrawn"));
        assert_eq!(life.limit(), "900m", "the record comes first");
        life.follow(Mode::On, 635);
        assert_eq!(life.limit(), "600m");
        life.kubelet_does_it();
        life.follow(Mode::On, 650);
        assert!(!life.is_marked());
    }
}

#[test]
fn a_resize_that_the_api_server_refuses_is_given_up() {
    let mut life = Life::new();
    life.begin(900, 0);
    // The write is planned again and again, and never made.
    let followed = follow(&life.seen(), &context(Mode::On, 60));
    assert_eq!(followed.told.unwrap().reason(), "Resized");
    assert_eq!(life.follow(Mode::On, 120), Some("ResizeRefused"));
    assert_eq!((life.limit(), life.is_marked()), ("600m", false));
}

#[test]
fn a_later_decision_that_is_refused_leaves_the_record_of_what_stands() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(Mode::On, 15);
    life.kubelet_does_it();
    life.begin(1200, 600);
    assert_eq!(life.follow(Mode::On, 720), Some("ResizeRefused"));
    assert_eq!((life.limit(), life.is_marked()), ("900m", true));
    assert_eq!(life.follow(Mode::On, 735), None);
    assert_eq!(life.follow(Mode::Off, 750), Some("ResourcesPutBack"));
    assert_eq!(life.limit(), "600m");
}

#[test]
fn what_somebody_else_changes_is_left_to_them() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(Mode::On, 15);
    life.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("700m");
    life.kubelet_does_it();
    assert_eq!(life.follow(Mode::On, 30), Some("ResizedByOthers"));
    assert_eq!((life.limit(), life.is_marked()), ("700m", false));
}

#[test]
fn the_record_of_another_part_is_left_to_it() {
    let mut life = Life::new();
    life.begin(900, 0);
    let annotation = &mut life.pod["metadata"]["annotations"]["evenkeel.dev/resized"];
    *annotation = json!(annotation.as_str().unwrap().replace("tuning", "standby"));
    for mode in [Mode::On, Mode::Off] {
        assert_eq!(
            follow(&life.seen(), &context(mode, 60)),
            Followed::default()
        );
    }
}

#[test]
fn a_pod_that_is_to_be_skipped_is_put_back() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.follow(Mode::On, 15);
    life.kubelet_does_it();
    life.pod["metadata"]["annotations"]["evenkeel.dev/skip"] = json!("true");
    assert_eq!(life.follow(Mode::On, 30), Some("ResourcesPutBack"));
}

#[test]
fn an_event_says_what_changes() {
    let mut life = Life::new();
    life.begin(900, 0);
    let told = follow(&life.seen(), &context(Mode::On, 15)).told.unwrap();
    assert_eq!(
        told.note(),
        "resized by what it uses: app limits.cpu 600m to 900m"
    );
}

#[test]
fn a_record_that_somebody_else_wrote_is_followed_in_no_mode() {
    let mut life = Life::new();
    life.begin(900, 0);
    life.pod["metadata"]["managedFields"][0]["manager"] = json!("kubectl-annotate");
    for mode in Mode::ALL {
        let followed = follow(&life.seen(), &context(mode, 15));
        assert_eq!(followed, Followed::default(), "{mode:?}");
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
    let write = begin(&seen, &values, &old(Mode::On, 0)).unwrap().unwrap();
    life.make(&write);
    life.follow(Mode::On, 15);
    life.kubelet_does_it();
    let undone = |life: &mut Life, second| {
        let Followed { writes, told, .. } = follow(&life.seen(), &old(Mode::Off, second));
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
    assert_eq!(life.follow(Mode::On, 60), None);
    assert_eq!(life.follow(Mode::On, 75), None);
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
    assert_eq!(life.follow(Mode::Off, 90), Some("ResourcesPutBack"));
    let limits = &life.pod["spec"]["containers"][0]["resources"]["limits"];
    assert_eq!(limits["memory"], "400Mi");
}

#[test]
fn a_resize_that_a_clock_ahead_has_dated_is_withdrawn_like_any_other() {
    let mut life = Life::new();
    life.begin(900, 86_400);
    // Nobody would ever have asked for it.
    assert_eq!(life.follow(Mode::On, 15), Some("ResizeRefused"));
    life.begin(900, 86_400);
    life.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("900m");
    life.kubelet_says("Deferred", 20);
    assert_eq!(life.follow(Mode::On, 30), Some("ResizeDeferred"));
    assert_eq!(life.follow(Mode::On, 620), Some("ResizeWithdrawn"));
}
