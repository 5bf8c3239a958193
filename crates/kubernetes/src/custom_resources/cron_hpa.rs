//! The schema of CronHPA, its rules, and its columns in `kubectl get`.

mod columns;

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(super) use self::columns::columns;
use crate::cron_hpa::{MOST_CRONS, MOST_DAYS, MOST_DAYS_OF_ALL};

use super::schedule::schedule;
use super::schema::{conditions, flag, list, object, replicas, ruled, text, time, written};

/// What goes together in a rule.
const RULES_OF_CRON: [(&str, &str); 6] = [
    (
        "!has(self.start) || !has(self.end) || self.start != self.end",
        "start and end differ: a window that opens again whenever it closes is always open",
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
        "start, end and replicas go together: a window says when it opens and closes, and how many \
         replicas there are at least meanwhile",
    ),
    (
        "!has(self.timeZone) || !has(self.schedule) || !self.schedule.contains('TZ=')",
        "the time zone stands in timeZone or before the schedule, not in both",
    ),
    (
        "!has(self.timeZone) || !has(self.start) || !has(self.end) \
         || !(self.start.contains('TZ=') || self.end.contains('TZ='))",
        "the time zone stands in timeZone or before start and end, not in both",
    ),
];

/// How many excluded days there are together.
static DAYS_OF_ALL: LazyLock<(String, String)> = LazyLock::new(|| {
    let rule = format!(
        "(has(self.excludeDates) ? self.excludeDates.size() : 0) + self.crons.map(one, \
         has(one.excludeDates) ? one.excludeDates.size() : 0).sum() <= {MOST_DAYS_OF_ALL}"
    );
    let message = format!(
        "excludeDates of the spec and of all crons have {MOST_DAYS_OF_ALL} entries at most"
    );
    (rule, message)
});

const RULES_OF_SPEC: [(&str, &str); 3] = [
    (
        "self.crons.all(a, !has(a.name) \
         || self.crons.filter(b, has(b.name) && b.name == a.name).size() == 1)",
        "each cron has a name of its own",
    ),
    (
        "!has(self.scaleWorkloadRef) || self.scaleTargetRef.kind == 'HorizontalPodAutoscaler'",
        "scaleWorkloadRef names the workload of a HorizontalPodAutoscaler; where scaleTargetRef is the \
         workload itself, leave it out",
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
        "CronHPA scales a workload by the calendar: at the moments of schedules, and for windows of time. \
         It goes through the workload's HorizontalPodAutoscaler where there is one, by raising and \
         lowering its bounds, through the bounds of a workload in mode direct, and sets the replicas of \
         any other Deployment, StatefulSet or ReplicaSet. What was there before is put back in the end.",
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
            "What is scaled: a HorizontalPodAutoscaler, or a workload. A workload that a \
             HorizontalPodAutoscaler scales is scaled through it; of one that has none a single CronHPA \
             sets the replicas.",
        ),
        "scaleWorkloadRef": reference(
            "The workload of the HorizontalPodAutoscaler in scaleTargetRef, to make sure that it is the \
             one that is meant.",
        ),
        "timeZone": text(
            "The time zone of all crons that name none, by its IANA name such as Europe/Berlin; UTC \
             unless said.",
            64,
        ),
        "crons": {
            "type": "array",
            "description": "The rules. Of what they ask for at one moment, the larger holds.",
            "minItems": 1,
            "maxItems": MOST_CRONS,
            "items": cron(),
        },
        "excludeDates": excluded(
            "Calendar days, each in the time zone of its cron, on which no cron runs and no window \
             opens: dates (2026-12-25), ranges (2026-12-24/2026-12-31), or cron expressions whose \
             fields below the day are all * (\"* * 25 12 *\"). What is open closes on them as on others. \
             The spec and all crons have 128 of them at most.",
        ),
        "suspend": flag(
            "True suspends all crons: nothing is asked for, and what was changed is put back.",
        ),
        "startingDeadlineSeconds": {
            "type": "integer",
            "format": "int64",
            "minimum": 30,
            "maximum": 86400,
            "default": 300,
            "description": "The time within which a run that was missed, as while no Evenkeel was \
                 there, is made up for, once. Windows need none: whoever comes late finds them open.",
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
            "The name, by which Events and status speak of it; the schedule unless said. It is another \
             cron under another name.",
            128,
        ),
        "schedule": schedule(
            "The moments of a run: five fields (minute, hour, day of month, month, day of week), or six \
             with seconds before them. CRON_TZ=Area/City or TZ=Area/City may stand before it. A run in \
             an hour that clocks skip is made at its end, one in an hour that they repeat once. Numbers, names, \
             lists, ranges and steps are those of robfig/cron: 5/15 is 5, 20, 35 and 50. L, W and # mean \
             the last day, the nearest weekday and the nth weekday. If day of month and day of week are \
             both restricted, either is enough.",
        ),
        "target": replicas(
            "The replicas at a run. Above the current ones, the minReplicas of the HPA are raised to it, \
             and maxReplicas where they are smaller. Below minReplicas, these are lowered to it and the \
             current ones stay. Otherwise nothing changes, unless somebody else's minimum is all that holds \
             the current ones up: then the target is the minReplicas as well. It holds until the next run \
             of any cron.",
        ),
        "start": schedule("The moments at which a window opens, in the form of a schedule."),
        "end": schedule(
            "The moments at which a window closes, in the form of a schedule. It closes when clocks first \
             show, or skip, the next of these times after it has opened.",
        ),
        "replicas": replicas(
            "The replicas while a window is open: they stand in for the minReplicas of the HPA, and for \
             maxReplicas where these are smaller.",
        ),
        "timeZone": text(
            "The time zone of the cron by its IANA name, such as Europe/Berlin; that of the spec unless \
             said.",
            64,
        ),
        "excludeDates": excluded(
            "Calendar days on which this cron does not run or open, beside those of the spec.",
        ),
        "runOnce": flag(
            "True applies the cron once, at its first moment after it was made: a planned event.",
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
            "Group and version; autoscaling/v2 for a HorizontalPodAutoscaler and apps/v1 for anything \
             else unless said.",
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
            "description": "The generation of the spec that the status tells of.",
        },
        "active": active(),
        "held": object(
            "The change that the last run made and that stands until the next.",
            &["cron", "scheduledTime", "minReplicas"],
            json!({
                "cron": written("The cron that ran."),
                "scheduledTime": time("The moment of the run, by its schedule."),
                "minReplicas": replicas("The least replicas that it left."),
                "userMinReplicas": replicas(
                    "The minReplicas of the user at the run. What it raised above them gives way to a \
                     larger number that the user sets later.",
                ),
            }),
        ),
        "lastRun": object(
            "The last run that was made. Of runs that change nothing and follow each other within a \
             minute, it may be an earlier one: the status is written for their sake once a minute.",
            &["cron", "scheduledTime", "target", "replicas"],
            json!({
                "cron": written("The cron that ran."),
                "scheduledTime": time("The moment of the run, by its schedule."),
                "target": replicas("The replicas that it was for."),
                "replicas": replicas("The replicas that there were."),
            }),
        ),
        "nextRuns": list("The next runs and windows of all crons.", 5, next_run()),
        "crons": list("The state of each cron.", MOST_CRONS, cron_state()),
        "conditions": conditions(),
    });
    object(
        "What is asked for, what ran, and what is to come. Written by Evenkeel.",
        &[],
        properties,
    )
}

fn active() -> Value {
    object(
        "What is asked for at present; absent where nothing is.",
        &["minReplicas"],
        json!({
            "minReplicas": replicas(
                "The least replicas; of a workload without a HorizontalPodAutoscaler, the replicas.",
            ),
            "until": time(
                "The end of the window that asks for them; absent where they stand until the next run.",
            ),
        }),
    )
}

fn next_run() -> Value {
    object(
        "A run or a window to come.",
        &["cron", "time", "replicas"],
        json!({
            "cron": written("The cron."),
            "time": time("Its moment."),
            "localTime": written("Its moment in the time zone of the cron."),
            "replicas": replicas("The replicas that it is for."),
            "end": time("The moment at which the window closes; absent for a run."),
        }),
    )
}

fn cron_state() -> Value {
    object(
        "The state of one cron.",
        &["name", "schedule", "since"],
        json!({
            "name": written("Its name."),
            "schedule": written("Its schedules, by which a changed cron is told from the one before."),
            "since": time("When it was first seen: what lies before is not made up for."),
            "lastTime": time("Its last run, made or missed, or the start of its last window."),
            "open": flag("True while its window is open."),
            "userMinReplicas": replicas(
                "The minReplicas of the user when its window opened. What it raises above them gives way \
                 to a larger number that the user sets later.",
            ),
        }),
    )
}
