//! The known query parameters, checked once.

use std::collections::HashMap;
use std::time::Duration;

use hyper::Uri;
use serde_json::Value;

use crate::error::{ApiError, Cause, StatusReason};
use crate::meta;

/// Treatment of unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListVersion {
    /// Any, which here is the newest.
    Newest,
    Exactly(u64),
    NotBefore(u64),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct QueryParameters(HashMap<String, String>);

impl QueryParameters {
    /// The last of a repeated parameter counts.
    pub(crate) fn parse(uri: &Uri) -> Self {
        let text = uri.query().unwrap_or_default();
        Self(
            form_urlencoded::parse(text.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.text(name), "1" | "true")
    }

    /// An integer; an empty text is absent.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        match self.text(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!("invalid value {text:?} of parameter {name:?}"))
            }),
        }
    }

    /// Nothing is written.
    pub(crate) fn dry_run(&self) -> Result<bool, ApiError> {
        match self.text("dryRun") {
            "" => Ok(false),
            "All" => Ok(true),
            other => Err(invalid_option(&format!(
                "dryRun: Unsupported value: {other:?}: supported values: \"All\""
            ))),
        }
    }

    pub(crate) fn field_validation(&self) -> Result<FieldValidation, ApiError> {
        match self.text("fieldValidation") {
            "Ignore" => Ok(FieldValidation::Ignore),
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Strict" => Ok(FieldValidation::Strict),
            other => Err(invalid_option(&format!(
                "fieldValidation: Unsupported value: {other:?}: supported values: \"Ignore\", \"Strict\", \"Warn\""
            ))),
        }
    }

    /// Where to start; 0 and none mean any.
    pub(crate) fn version(&self) -> Result<Option<u64>, ApiError> {
        let version = self.number("resourceVersion").map_err(|_| {
            let given = Value::from(self.text("resourceVersion"));
            let cause = Cause::invalid("resourceVersion", &given, "must be a whole number");
            ApiError::bad_request(cause.message.clone()).with_causes(&[cause])
        })?;
        Ok(version.filter(|version| *version > 0))
    }

    pub(crate) fn at(&self) -> Result<ListVersion, ApiError> {
        match (self.version()?, self.text("resourceVersionMatch")) {
            (Some(version), "Exact") => Ok(ListVersion::Exactly(version)),
            (Some(version), "" | "NotOlderThan") => Ok(ListVersion::NotBefore(version)),
            (None, "" | "NotOlderThan") => Ok(ListVersion::Newest),
            (_, other) => Err(ApiError::bad_request(format!(
                "resourceVersionMatch: Forbidden: {other:?} is not allowed here"
            ))),
        }
    }

    /// Longest duration of a watch.
    pub(crate) fn timeout(&self) -> Result<Option<Duration>, ApiError> {
        Ok(self.number("timeoutSeconds")?.map(Duration::from_secs))
    }
}

fn invalid_option(why: &str) -> ApiError {
    let message = format!("CreateOptions.meta.k8s.io \"\" is invalid: {why}");
    ApiError::new(StatusReason::Invalid, message)
}

/// From the query and from the body, which wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) dry_run: bool,
}

/// The fate of an object's dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

impl DeleteOptions {
    pub(crate) fn read(query: &QueryParameters, body: &Value) -> Result<Self, ApiError> {
        let own = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let in_body = meta::text(body, "/propagationPolicy");
        let orphan = body["orphanDependents"] == true || query.flag("orphanDependents");
        let word = if in_body.is_empty() {
            query.text("propagationPolicy")
        } else {
            in_body
        };
        let propagation = match word {
            "" => orphan.then_some(Propagation::Orphan),
            "Orphan" => Some(Propagation::Orphan),
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            other => {
                return Err(ApiError::bad_request(format!(
                    "propagationPolicy: Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\""
                )));
            }
        };
        let seconds = query.number("gracePeriodSeconds")?;
        let in_query = seconds.and_then(|seconds| i64::try_from(seconds).ok());
        Ok(Self {
            grace: meta::number(body, "/gracePeriodSeconds").or(in_query),
            propagation,
            uid: own(meta::text(body, "/preconditions/uid")),
            version: own(meta::text(body, "/preconditions/resourceVersion")),
            dry_run: query.dry_run()? || !meta::list(body, "/dryRun").is_empty(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn query(text: &str) -> QueryParameters {
        let uri = format!("/x?{text}").parse().expect("a URI");
        QueryParameters::parse(&uri)
    }

    #[test]
    fn lists_say_which_state_they_want() {
        for (text, at) in [
            ("", ListVersion::Newest),
            ("resourceVersion=0", ListVersion::Newest),
            ("resourceVersion=7", ListVersion::NotBefore(7)),
            (
                "resourceVersion=7&resourceVersionMatch=Exact",
                ListVersion::Exactly(7),
            ),
        ] {
            assert_eq!(query(text).at().ok(), Some(at), "{text}");
        }
        assert!(query("resourceVersion=x").at().is_err());
        assert!(query("resourceVersionMatch=Exact").at().is_err());
    }

    #[test]
    fn unknown_words_are_refused() {
        assert!(query("dryRun=Some").dry_run().is_err());
        assert!(query("fieldValidation=x").field_validation().is_err());
        assert!(DeleteOptions::read(&query("propagationPolicy=x"), &json!({})).is_err());
    }

    #[test]
    fn the_body_of_a_deletion_wins() {
        let body = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"});
        let given = query("gracePeriodSeconds=9&propagationPolicy=Orphan");
        let options = DeleteOptions::read(&given, &body).expect("good options");
        assert_eq!(options.grace, Some(0));
        assert_eq!(options.propagation, Some(Propagation::Foreground));
    }
}
