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
    "an external check needs either a service or a url",
);

const NAMES: (&str, &str) = (
    "self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && b.name == a.name))",
    "each stability checker needs a unique name",
);

pub(super) fn checkers() -> Value {
    let all = list(
        "Checks between the steps of a change, and during its observation. A change continues \
         while all checks pass. It waits if the data of a check are missing or older than the last \
         step. The first step does not depend on them.",
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
                "The name in status and Events. Default: made of type and place.",
                64,
            ),
            "type": {"type": "string", "enum": ["Metrics", "PodsReady", "ErrorRate", "External"],
                "description": "What is checked."},
            "stabilizationAction": {"type": "string", "enum": ["Pause", "Rollback"],
                "description": "The action if it fails: Pause stops the change, and Rollback \
                     returns to its beginning. The change continues once all checks have passed \
                     for the cool-down, or at the time in the annotation evenkeel.dev/resume."},
            "coolDownSeconds": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 86400,
                "description": "How long the checks must pass before a paused change continues. \
                     Default: 0."},
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
        "The metrics. Each describes an anomaly, like an alert: the check fails while `value \
         operator target` holds for one of them.",
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
        "The readiness of the Pods that should be online.",
        &[],
        json!({
            "minPercent": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100,
                "description": "The percentage of them that must be ready. Default: 100."},
            "withinSeconds": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 86400,
                "description": "How long after a step they may take to become ready. Default: 300."},
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
        "The share of requests that fail. Without requests, the check passes.",
        &["errors", "requests", "maxPercent"],
        json!({
            "errors": text("PromQL for failed requests per second.", 2048),
            "requests": text("PromQL for all requests per second.", 2048),
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
            "path": text("The path of the request. Default: /.", 512),
            "caBundle": {"type": "string", "format": "byte", "maxLength": 32768,
                "description": "PEM certificates of the authorities for its certificate, which is \
                     for the name NAME.NAMESPACE.svc. Without them, the request is plain HTTP."},
        }),
    );
    let external = object(
        "An HTTP endpoint that Evenkeel calls, if its configuration enables external checks. Each \
         request carries a token of the ServiceAccount evenkeel-checks, whose audience is the \
         address without its path.",
        &["name"],
        json!({
            "name": text("The name of the check.", 64),
            "service": service,
            "url": text("An address that Evenkeel's configuration allows.", 1024),
            "timeoutSeconds": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 10,
                "description": "The time limit of the answer. Default: 5."},
            "config": labels("Additional data of the request."),
        }),
    );
    ruled(external, &[ONE_ENDPOINT])
}

fn service_name() -> Value {
    let mut name = text("The name of the Service.", 63);
    name["pattern"] = json!("^[a-z]([-a-z0-9]*[a-z0-9])?$");
    name
}
