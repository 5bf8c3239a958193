//! The stability checks in the schema of an IntelligentHorizontalPodAutoscaler.

use serde_json::{Value, json};

use crate::custom_resources::metric::{labels, metrics};
use crate::custom_resources::schema::{list, object, ruled, text};
use crate::ihpa::{MOST_CHECKERS, MOST_METRICS_OF_CHECK};

const RULES_OF_CHECKER: [(&str, &str); 4] = [
    (
        "self.type == 'Metrics' ? has(self.metrics) : !has(self.metrics)",
        "metrics goes with type Metrics",
    ),
    (
        "self.type == 'PodsReady' || !has(self.podsReady)",
        "podsReady goes with type PodsReady",
    ),
    (
        "self.type == 'ErrorRate' ? has(self.errorRate) : !has(self.errorRate)",
        "errorRate goes with type ErrorRate",
    ),
    (
        "self.type == 'External' ? has(self.external) : !has(self.external)",
        "external goes with type External",
    ),
];

const ONE_ENDPOINT: (&str, &str) = (
    "has(self.service) != has(self.url)",
    "an external check is asked at either a service or a url",
);

const NAMES: (&str, &str) = (
    "self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",
    "each stability checker has a name of its own",
);

pub(super) fn checkers() -> Value {
    let all = list(
        "Checks between the steps of a change, and while it is observed. A change goes on while all pass; one whose data are \
         missing, or older than the last step, lets it wait. The first step is made whatever they say.",
        MOST_CHECKERS,
        checker(),
    );
    ruled(all, &[NAMES])
}

fn checker() -> Value {
    let checker = object(
        "One check.",
        &["type", "stabilizationAction"],
        json!({
            "name": text(
                "The name, by which status and Events speak of it; made of type and place unless said.",
                64,
            ),
            "type": {"type": "string", "enum": ["Metrics", "PodsReady", "ErrorRate", "External"],
                "description": "What is looked at."},
            "stabilizationAction": {"type": "string", "enum": ["Pause", "Rollback"],
                "description": "What follows where it fails: Pause keeps the change where it is, Rollback takes it back to its \
                     begin. It goes on once all checks have passed for the cool-down, or at the time in annotation \
                     evenkeel.dev/resume."},
            "coolDownSeconds": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 86400,
                "description": "How long the checks have to pass before a change that was held goes on; 0 \
                     unless said."},
            "metrics": of_metrics(),
            "podsReady": of_pods(),
            "errorRate": of_errors(),
            "external": external(),
        }),
    );
    ruled(checker, &RULES_OF_CHECKER)
}

fn of_metrics() -> Value {
    let mut metrics = metrics(
        "The metrics, each a rule that names an anomaly as an alert does: the check fails while `value operator target` \
         holds for one of them.",
        MOST_METRICS_OF_CHECK,
    );
    metrics["minItems"] = json!(1);
    object(
        "Metrics against bounds.",
        &["metrics"],
        json!({"metrics": metrics}),
    )
}

fn of_pods() -> Value {
    object(
        "The readiness of the Pods that are to be online.",
        &[],
        json!({
            "minPercent": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100,
                "description": "How many percent of them have to be ready; 100 unless said."},
            "withinSeconds": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 86400,
                "description": "The time after a step until which they are waited for; 300 unless said."},
        }),
    )
}

fn of_errors() -> Value {
    let mut most = text(
        "The largest share of requests that may fail, such as 0.5%.",
        16,
    );
    most["pattern"] = json!(r"^[0-9]{1,3}(\.[0-9]+)?%$");
    object(
        "The share of requests that fail. Where there are no requests, none fails.",
        &["errors", "requests", "maxPercent"],
        json!({
            "errors": text("PromQL for the requests that fail, in a second.", 2048),
            "requests": text("PromQL for all requests, in a second.", 2048),
            "maxPercent": most,
        }),
    )
}

fn external() -> Value {
    let service = object(
        "A Service in the namespace of the autoscaler.",
        &["name", "port"],
        json!({
            "name": service_name(),
            "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535,
                "description": "The port of the Service."},
            "path": text("The path that is asked; / unless said.", 512),
            "caBundle": {"type": "string", "format": "byte", "maxLength": 32768,
                "description": "Certificates in PEM of the authorities whose certificates it may show, for the name \
                     NAME.NAMESPACE.svc; asked over plain HTTP unless said."},
        }),
    );
    let external = object(
        "Somebody who is asked over HTTP, where the configuration of Evenkeel has external checks asked. With each question goes a \
         token of the ServiceAccount evenkeel-checks, whose audience is the address without its path.",
        &["name"],
        json!({
            "name": text("The name of the check.", 64),
            "service": service,
            "url": text("An address that Evenkeel's configuration allows.", 1024),
            "timeoutSeconds": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 10,
                "description": "The time within which an answer has to come; 5 unless said."},
            "config": labels("What is sent along."),
        }),
    );
    ruled(external, &[ONE_ENDPOINT])
}

fn service_name() -> Value {
    let mut name = text("The name of the Service.", 63);
    name["pattern"] = json!("^[a-z]([-a-z0-9]*[a-z0-9])?$");
    name
}
