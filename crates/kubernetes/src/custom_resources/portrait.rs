//! How a portrait is made and what it says: the parts that autoscalers and HorizontalPortraits share.

use serde_json::{Value, json};

use super::metric::{labels, metrics};
use super::schedule::schedule;
use super::schema::{flag, list, object, quantity, replicas, ruled, text, time};
use crate::cron_hpa::{MOST_CRONS, MOST_DAYS};
use crate::portrait_data::MOST_POINTS;
use crate::portrait_spec::MOST_METRICS;

/// The rules between fields of a portrait's spec, each with its message.
pub(super) const RULES: [(&str, &str); 4] = [
    (
        "has(self.externalGeneratorName) || self.algorithm.type in ['KubeHPA', 'Forecast', 'ExternalJob']",
        "algorithm.type is KubeHPA, Forecast or ExternalJob, unless externalGeneratorName names who makes the \
         portrait",
    ),
    (
        "has(self.externalGeneratorName) || self.algorithm.type != 'KubeHPA' || self.portraitType == 'Reactive'",
        "algorithm KubeHPA makes a portrait of type Reactive",
    ),
    (
        "has(self.externalGeneratorName) || self.algorithm.type != 'Forecast' \
         || self.portraitType == 'Predictive'",
        "algorithm Forecast makes a portrait of type Predictive",
    ),
    (
        "has(self.externalGeneratorName) || self.algorithm.type != 'ExternalJob' \
         || has(self.algorithm.externalJob)",
        "algorithm ExternalJob needs externalJob, the job that makes the portrait",
    ),
];

const RULES_OF_DATA: [(&str, &str); 5] = [
    (
        "self.type != 'Static' || has(self.static)",
        "type Static needs static",
    ),
    (
        "self.type != 'Cron' || has(self.cron)",
        "type Cron needs cron",
    ),
    (
        "self.type != 'TimeSeries' || has(self.timeSeries)",
        "type TimeSeries needs timeSeries",
    ),
    (
        "self.type != 'TimeSeries' || has(self.expireTime)",
        "a series needs an expireTime, after which its last point is no longer valid",
    ),
    (
        "!has(self.timeSeries) || self.timeSeries.timeSeries.map(point, point.timestamp).isSorted()",
        "the points of a series must be in the order of time",
    ),
];

/// The fields of a portrait's spec, and those that are required.
pub(super) const REQUIRED: [&str; 2] = ["portraitType", "algorithm"];

pub(super) fn properties() -> Value {
    let mut portrait_type = text(
        "The type: Reactive (by the present load), Predictive (by a forecast), or a name of your \
         own for an external generator. An autoscaler has at most one of each.",
        32,
    );
    portrait_type["pattern"] = json!("^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$");
    json!({
        "portraitType": portrait_type,
        "externalGeneratorName": text(
            "The external generator of the portrait, if Evenkeel does not make it. The generator \
             writes the status of the HorizontalPortrait that is named after autoscaler and type. \
             It may use metrics and algorithm as input.",
            128,
        ),
        "metrics": metrics(
            "The metrics of the portrait. KubeHPA scales by them like an HPA (default: cpu at 80 \
             %). Forecast forecasts them, or those of the Reactive portrait if there is one. For \
             other portraits, their generators use them.",
            MOST_METRICS,
        ),
        "algorithm": algorithm(),
    })
}

fn algorithm() -> Value {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "description": "Input for an external generator or its job: at most 32 KiB, nested at most \
            64 deep."});
    object(
        "What makes the portrait.",
        &["type"],
        json!({
            "type": text(
                "KubeHPA (the HPA's own algorithm), Forecast (Evenkeel's models), ExternalJob (a \
                 job that Evenkeel runs), or a type of an external generator.",
                64,
            ),
            "kubeHPA": kube_hpa(),
            "forecast": forecast(),
            "externalJob": external_job(),
            "config": free,
        }),
    )
}

fn kube_hpa() -> Value {
    let rules = |description: &str| {
        object(
            description,
            &[],
            json!({
                "stabilizationWindowSeconds": {"type": "integer", "format": "int32", "minimum": 0,
                    "maximum": 3600, "description": "How long earlier recommendations count."},
                "selectPolicy": {"type": "string", "enum": ["Max", "Min", "Disabled"],
                    "description": "Which of the policies applies."},
                "policies": list("The policies.", 16, object(
                    "The largest change in a period.",
                    &["type", "value", "periodSeconds"],
                    json!({
                        "type": {"type": "string", "enum": ["Pods", "Percent"],
                            "description": "The unit of value."},
                        "value": {"type": "integer", "format": "int32", "minimum": 1,
                            "description": "The largest change."},
                        "periodSeconds": {"type": "integer", "format": "int32", "minimum": 1,
                            "maximum": 1800, "description": "The period."},
                    }),
                )),
                "tolerance": quantity("How far a metric may be from its target without effect, such as \"0.05\"."),
            }),
        )
    };
    object(
        "The settings of the HPA's algorithm.",
        &[],
        json!({
            "tolerance": quantity(
                "How far a metric may be from its target without effect, as a share of it. \
                 Default: \"0.1\".",
            ),
            "behavior": object(
                "How fast the portrait may rise and fall, like behavior of an HPA. Steps and \
                 checks of the autoscaler's own behavior apply in addition.",
                &[],
                json!({
                    "scaleUp": rules("The rules for scaling up."),
                    "scaleDown": rules("The rules for scaling down."),
                }),
            ),
        }),
    )
}

fn forecast() -> Value {
    object(
        "The settings of a forecast.",
        &[],
        json!({
            "model": {
                "type": "string",
                "enum": ["auto", "ds-hpa", "arima", "gru", "arima-gru", "gbdt", "swish-net", "traffic"],
                "default": "auto",
                "description": "The model; auto uses the shared trees or the target's own.",
            },
            "risk": text(
                "The share of time in which ready Pods may carry more than their target allows, such as 1%.",
                16,
            ),
            "scaleDown": {
                "type": "string", "enum": ["reactive", "early"],
                "description": "early lowers the counts of the Reactive and the Predictive \
                     portrait ahead of a forecast drop in load. reactive, the default, waits until \
                     the load falls.",
            },
            "predictMemory": flag("True forecasts memory too, although it grows with each Pod."),
            "traffic": list(
                "The traffic from which a model computes replicas, which it learns from history: \
                 PromQL queries, or network.",
                4,
                json!({"type": "string", "maxLength": 2048}),
            ),
        }),
    )
}

fn external_job() -> Value {
    let template = object(
        "The template.",
        &["spec"],
        json!({
            "metadata": object(
                "Its labels and annotations.",
                &[],
                json!({"labels": labels("The labels."), "annotations": labels("The annotations.")}),
            ),
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "description": "The spec of a CronJob of batch/v1: at most 32 KiB, nested at most \
                    64 deep."},
        }),
    );
    object(
        "A job that Evenkeel runs in the namespace of the portrait, as the ServiceAccount that its \
         template names.",
        &["job"],
        json!({
            "job": object(
                "The job.",
                &["type", "cronJob"],
                json!({
                    "type": {"type": "string", "enum": ["CronJob"], "description": "The kind of job."},
                    "cronJob": object("A CronJob.", &["template"], json!({"template": template})),
                }),
            ),
            "resultSource": object(
                "Where the job writes the portrait.",
                &["type"],
                json!({
                    "type": {"type": "string", "enum": ["ConfigMap"],
                        "description": "In the ConfigMap NAME-result, where NAME is that of the \
                             HorizontalPortrait, with the keys type, expireTime and timeSeries."},
                    "configMap": {"type": "object", "description": "It has no fields."},
                }),
            ),
        }),
    )
}

/// The schema of a portrait's data in the status of a HorizontalPortrait.
pub(super) fn data() -> Value {
    let point = object(
        "A replica count and the time from which it applies.",
        &["timestamp", "replicas"],
        json!({
            "timestamp": {"type": "integer", "format": "int64", "minimum": 0,
                "description": "The time, in seconds since 1970."},
            "replicas": replicas("The replicas that should be online from then on."),
        }),
    );
    let mut points = list("The points, in the order of time.", MOST_POINTS, point);
    points["minItems"] = json!(1);
    let data = object(
        "The value of the portrait, written by its generator.",
        &["type"],
        json!({
            "type": {"type": "string", "enum": ["Static", "Cron", "TimeSeries"],
                "description": "Which of the fields applies."},
            "static": constant(),
            "cron": cron(),
            "timeSeries": object(
                "A series: each point applies until the next, the last until expireTime.",
                &["timeSeries"],
                json!({"timeSeries": points}),
            ),
            "expireTime": time("When it expires, unless it is renewed."),
        }),
    );
    ruled(data, &RULES_OF_DATA)
}

/// One count.
pub(super) fn constant() -> Value {
    object(
        "One count.",
        &["replicas"],
        json!({"replicas": replicas("The replicas that should be online.")}),
    )
}

/// Windows by the calendar.
pub(super) fn cron() -> Value {
    let cron = object(
        "A window.",
        &["name", "start", "end", "replicas"],
        json!({
            "name": text("The name, unique among the windows.", 128),
            "description": text("A description for people.", 1024),
            "timeZone": text(
                "The time zone as an IANA name, such as Europe/Berlin. Default: UTC.",
                64,
            ),
            "start": schedule("The times at which it opens, as a schedule."),
            "end": schedule("The times at which it closes, as a schedule."),
            "replicas": replicas("The replicas that should be online while it is open."),
            "excludeDates": list(
                "Calendar days on which it does not open: dates, ranges of dates, or cron expressions whose fields below the \
                 day are all *.",
                MOST_DAYS,
                json!({"type": "string", "maxLength": 128}),
            ),
        }),
    );
    let rules = [(
        "self.start != self.end",
        "start and end must differ: otherwise the window opens again whenever it closes",
    )];
    let mut crons = list(
        "The windows. If several are open, the largest count applies.",
        MOST_CRONS,
        ruled(cron, &rules),
    );
    crons["minItems"] = json!(1);
    crons["x-kubernetes-list-type"] = json!("map");
    crons["x-kubernetes-list-map-keys"] = json!(["name"]);
    object(
        "Windows by the calendar.",
        &["crons"],
        json!({"crons": crons}),
    )
}
