//! The schema of CronHPA, its rules, and its columns in `kubectl get`.

mod columns;

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(super) use self::columns::columns;
use crate::cron_hpa::{MOST_CRONS, MOST_DAYS, MOST_DAYS_OF_ALL};

use super::schedule::schedule;
use super::schema::{conditions, flag, list, object, replicas, ruled, text, time, written};

/// The rules between fields of one cron, each with its message.
const RULES_OF_CRON: [(&str, &str); 6] = [
    (
        "!has(self.start) || !has(self.end) || self.start != self.end",
        "start and end must differ: otherwise the window opens again whenever it closes",
    ),
    (
        "has(self.schedule) != has(self.start)",
        "a cron has either a schedule with a target, or a window with start, end and replicas",
    ),
    (
        "has(self.schedule) == has(self.target)",
        "schedule and target go together: the schedule says when, the target how many replicas",
    ),
    (
        "has(self.start) == has(self.end) && has(self.start) == has(self.replicas)",
        "start, end and replicas go together: a window says when it opens and closes, and the \
         minimum of replicas meanwhile",
    ),
    (
        "!has(self.timeZone) || !has(self.schedule) || !self.schedule.contains('TZ=')",
        "the time zone is in timeZone or before the schedule, not in both",
    ),
    (
        "!has(self.timeZone) || !has(self.start) || !has(self.end) \
         || !(self.start.contains('TZ=') || self.end.contains('TZ='))",
        "the time zone is in timeZone or before start and end, not in both",
    ),
];

/// How many excluded days there are together.
static DAYS_OF_ALL: LazyLock<(String, String)> = LazyLock::new(|| {
    let rule = format!(
        "(has(self.excludeDates) ? self.excludeDates.size() : 0) + self.crons.map(one, \
         has(one.excludeDates) ? one.excludeDates.size() : 0).sum() <= {MOST_DAYS_OF_ALL}"
    );
    let message = format!(
        "excludeDates of the spec and of all crons have at most {MOST_DAYS_OF_ALL} entries in total"
    );
    (rule, message)
});

const RULES_OF_SPEC: [(&str, &str); 3] = [
    (
        "self.crons.all(a, !has(a.name) \
         || self.crons.filter(b, has(b.name) && b.name == a.name).size() == 1)",
        "each cron needs a unique name",
    ),
    (
        "!has(self.scaleWorkloadRef) || self.scaleTargetRef.kind == 'HorizontalPodAutoscaler'",
        "scaleWorkloadRef names the workload of a HorizontalPodAutoscaler; if scaleTargetRef is \
         the workload itself, leave it out",
    ),
    (
        "!has(self.scaleWorkloadRef) \
         || self.scaleWorkloadRef.kind != 'HorizontalPodAutoscaler'",
        "scaleWorkloadRef is a workload such as a Deployment",
    ),
];

const RULES_OF_REFERENCE: [(&str, &str); 2] = [
    (
        "self.kind != 'DaemonSet'",
        "a DaemonSet has one Pod on each node and cannot be scaled",
    ),
    (
        "self.kind != 'HorizontalPodAutoscaler' || !has(self.apiVersion) \
         || self.apiVersion.startsWith('autoscaling/')",
        "a HorizontalPodAutoscaler has the apiVersion autoscaling/v2",
    ),
];

/// The schema of the whole object.
pub(super) fn schema() -> Value {
    object(
        "CronHPA scales a workload by the calendar: at the times of schedules, and during windows. \
         If the workload has a HorizontalPodAutoscaler, it raises and lowers the bounds of that. \
         For a workload in mode direct, it changes the bounds of that mode. For any other \
         Deployment, StatefulSet or ReplicaSet, it sets the replicas. The original values are put \
         back at the end.",
        &["spec"],
        json!({
            "apiVersion": written("The version of the schema of this object."),
            "kind": written("The kind of this object."),
            // The API server knows it, and takes no other word on it.
            "metadata": {"type": "object"},
            "spec": spec(),
            "status": status(),
        }),
    )
}

fn spec() -> Value {
    let properties = json!({
        "scaleTargetRef": reference(
            "What is scaled: a HorizontalPodAutoscaler or a workload. A workload with a \
             HorizontalPodAutoscaler is scaled through it. For a workload without one, a single \
             CronHPA sets the replicas.",
        ),
        "scaleWorkloadRef": reference(
            "The workload of the HorizontalPodAutoscaler in scaleTargetRef, as a check that it is \
             the intended one.",
        ),
        "timeZone": text(
            "The time zone of all crons that name none, as an IANA name such as Europe/Berlin. \
             Default: UTC.",
            64,
        ),
        "crons": {
            "type": "array",
            "description": "The rules. If several ask for replicas at one time, the largest count \
                applies.",
            "minItems": 1,
            "maxItems": MOST_CRONS,
            "items": cron(),
        },
        "excludeDates": excluded(
            "Calendar days, each in the time zone of its cron, on which no cron runs and no window \
             opens: dates (2026-12-25), ranges (2026-12-24/2026-12-31), or cron expressions whose \
             fields below the day are all * (\"* * 25 12 *\"). Open windows close on these days as \
             usual. The spec and all crons have at most 128 entries in total.",
        ),
        "suspend": flag(
            "True suspends all crons, and their changes are put back.",
        ),
        "startingDeadlineSeconds": {
            "type": "integer",
            "format": "int64",
            "minimum": 30,
            "maximum": 86400,
            "default": 300,
            "description": "How late a missed run may still take place, once, for example after \
                 Evenkeel was down. Windows do not need it: Evenkeel finds them open.",
        },
    });
    let spec = object(
        "What is scaled, when, and to how many replicas.",
        &["scaleTargetRef", "crons"],
        properties,
    );
    let (rule, message) = &*DAYS_OF_ALL;
    let [a, b, c] = RULES_OF_SPEC;
    ruled(spec, &[a, b, c, (rule, message)])
}

fn cron() -> Value {
    let properties = json!({
        "name": text(
            "The name in Events and in the status. Default: the schedule. A cron with another name \
             is another cron.",
            128,
        ),
        "schedule": schedule(
            "The times of the runs: five fields (minute, hour, day of month, month, day of week), \
             or six with seconds before them. CRON_TZ=Area/City or TZ=Area/City may precede them. \
             A run in an hour that clocks skip takes place at the end of that hour; a run in an \
             hour that clocks repeat takes place once. Numbers, names, lists, ranges and steps are \
             those of robfig/cron: 5/15 is 5, 20, 35 and 50. L, W and # mean the last day, the \
             nearest weekday and the nth weekday. If day of month and day of week are both \
             restricted, either is enough.",
        ),
        "target": replicas(
            "The replicas at a run. If it is above the current replicas, minReplicas of the HPA is \
             raised to it, and maxReplicas too if it is smaller. If it is below minReplicas, \
             minReplicas is lowered to it and the current replicas stay. Otherwise nothing \
             changes, unless only the minimum of another writer keeps the current replicas up: \
             then minReplicas is set to it, too. It applies until the next run of any cron.",
        ),
        "start": schedule("The times at which a window opens, as a schedule."),
        "end": schedule(
            "The times at which a window closes, as a schedule. It closes when clocks first show, \
             or skip, the next of these times after it has opened.",
        ),
        "replicas": replicas(
            "The replicas while a window is open: they replace minReplicas of the HPA, and \
             maxReplicas if it is smaller.",
        ),
        "timeZone": text(
            "The time zone of the cron as an IANA name, such as Europe/Berlin. Default: that of \
             the spec.",
            64,
        ),
        "excludeDates": excluded(
            "Calendar days on which this cron does not run or open, in addition to those of the \
             spec.",
        ),
        "runOnce": flag(
            "True applies the cron once, at its first time after its creation: a planned event.",
        ),
        "suspend": flag("True suspends this cron."),
    });
    let cron = object(
        "One rule: a schedule with a target, or a window with start, end and replicas.",
        &[],
        properties,
    );
    ruled(cron, &RULES_OF_CRON)
}

fn excluded(description: &str) -> Value {
    list(
        description,
        MOST_DAYS,
        json!({"type": "string", "maxLength": 128}),
    )
}

fn reference(description: &str) -> Value {
    let properties = json!({
        "apiVersion": text(
            "Group and version. Default: autoscaling/v2 for a HorizontalPodAutoscaler, and apps/v1 \
             for anything else.",
            128,
        ),
        "kind": text("The kind, for example HorizontalPodAutoscaler or Deployment.", 64),
        "name": text("The name of the object, in the namespace of the CronHPA.", 253),
    });
    let reference = object(description, &["kind", "name"], properties);
    ruled(reference, &RULES_OF_REFERENCE)
}

fn status() -> Value {
    let properties = json!({
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "The generation of the spec that the status describes.",
        },
        "active": active(),
        "held": object(
            "The change of the last run, which applies until the next run.",
            &["cron", "scheduledTime", "minReplicas"],
            json!({
                "cron": written("The cron that ran."),
                "scheduledTime": time("The time of the run, by its schedule."),
                "minReplicas": replicas("The minimum of replicas that it set."),
                "userMinReplicas": replicas(
                    "The user's minReplicas at the run. If the user later sets a larger number \
                     than the run raised it to, that number applies.",
                ),
            }),
        ),
        "lastRun": object(
            "The last run. If runs that change nothing follow each other within a minute, it may \
             be an earlier one: they update the status once a minute.",
            &["cron", "scheduledTime", "target", "replicas"],
            json!({
                "cron": written("The cron that ran."),
                "scheduledTime": time("The time of the run, by its schedule."),
                "target": replicas("The target of the run."),
                "replicas": replicas("The replicas before the run."),
            }),
        ),
        "nextRuns": list("The next runs and windows of all crons.", 5, next_run()),
        "crons": list("The state of each cron.", MOST_CRONS, cron_state()),
        "conditions": conditions(),
    });
    object(
        "The requested replicas, the last run, and the next runs. Written by Evenkeel.",
        &[],
        properties,
    )
}

fn active() -> Value {
    object(
        "The replicas that are requested now; absent if there are none.",
        &["minReplicas"],
        json!({
            "minReplicas": replicas(
                "The minimum of replicas; for a workload without a HorizontalPodAutoscaler, the \
                 replicas.",
            ),
            "until": time(
                "The end of the window that asks for them; absent if they apply until the next \
                 run.",
            ),
        }),
    )
}

fn next_run() -> Value {
    object(
        "A future run or window.",
        &["cron", "time", "replicas"],
        json!({
            "cron": written("The cron."),
            "time": time("Its moment."),
            "localTime": written("Its time in the time zone of the cron."),
            "replicas": replicas("Its replicas."),
            "end": time("The time at which the window closes; absent for a run."),
        }),
    )
}

fn cron_state() -> Value {
    object(
        "The state of one cron.",
        &["name", "schedule", "since"],
        json!({
            "name": written("Its name."),
            "schedule": written("Its schedules, by which Evenkeel notices that a cron has changed."),
            "since": time("When it was first seen: earlier runs are not made up."),
            "lastTime": time("Its last run, also if it was missed, or the start of its last window."),
            "open": flag("True while its window is open."),
            "userMinReplicas": replicas(
                "The user's minReplicas when its window opened. If the user later sets a larger \
                 number than the window raises it to, that number applies.",
            ),
        }),
    )
}
