//! MutatingWebhookConfigurations: the defaults that decide when a webhook is called.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;

pub(super) fn defaults(configuration: &mut Value) {
    for webhook in meta::each_mut(configuration, "webhooks") {
        for (field, value) in [
            ("failurePolicy", json!("Fail")),
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
            ("timeoutSeconds", json!(10)),
            ("reinvocationPolicy", json!("Never")),
        ] {
            meta::default(webhook, field, value);
        }
        for rule in meta::each_mut(webhook, "rules") {
            meta::default(rule, "scope", "*");
        }
        if webhook
            .pointer("/clientConfig/service")
            .is_some_and(Value::is_object)
        {
            meta::default(&mut webhook["clientConfig"]["service"], "port", 443);
        }
    }
}

pub(super) fn validate(configuration: &Value, causes: &mut Vec<Cause>) {
    for (index, webhook) in meta::list(configuration, "/webhooks").iter().enumerate() {
        let at = format!("webhooks[{index}]");
        if meta::text(webhook, "/name").split('.').count() < 3 {
            let why = "should be a domain with at least three segments separated by dots";
            causes.push(Cause::invalid(format!("{at}.name"), &webhook["name"], why));
        }
        let client = &webhook["clientConfig"];
        let url = meta::text(client, "/url");
        if url.is_empty() == client["service"].is_null() {
            causes.push(Cause::required(
                format!("{at}.clientConfig"),
                "exactly one of url or service is required",
            ));
        }
        if !url.is_empty() && !url.starts_with("https://") {
            let why = "'https' is the only allowed URL scheme";
            causes.push(Cause::invalid(
                format!("{at}.clientConfig.url"),
                &client["url"],
                why,
            ));
        }
        if !matches!(meta::text(webhook, "/sideEffects"), "None" | "NoneOnDryRun") {
            let accepted = "\"None\", \"NoneOnDryRun\"";
            causes.push(Cause::unsupported(
                format!("{at}.sideEffects"),
                &webhook["sideEffects"],
                accepted,
            ));
        }
        let seconds = meta::number(webhook, "/timeoutSeconds").unwrap_or(10);
        if !(1..=30).contains(&seconds) {
            let why = "the timeout value must be between 1 and 30 seconds";
            causes.push(Cause::invalid(
                format!("{at}.timeoutSeconds"),
                &seconds.into(),
                why,
            ));
        }
        if meta::list(webhook, "/admissionReviewVersions").is_empty() {
            causes.push(Cause::required(format!("{at}.admissionReviewVersions"), ""));
        }
        words(webhook, &at, causes);
        if !meta::list(webhook, "/matchConditions").is_empty() {
            let why = "this API server does not evaluate CEL: a condition that is not \
                       evaluated would call the webhook too often or too rarely";
            causes.push(Cause::forbidden(format!("{at}.matchConditions"), why));
        }
    }
}

/// Fields with a closed set of words.
fn words(webhook: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (field, accepted) in [
        ("failurePolicy", ["Fail", "Ignore"]),
        ("matchPolicy", ["Equivalent", "Exact"]),
        ("reinvocationPolicy", ["IfNeeded", "Never"]),
    ] {
        let given = &webhook[field];
        if !accepted.iter().any(|word| given == word) {
            let accepted = accepted.map(|word| format!("{word:?}")).join(", ");
            causes.push(Cause::unsupported(
                format!("{at}.{field}"),
                given,
                &accepted,
            ));
        }
    }
}
