//! AdmissionReview bodies: the request read with its Pod left as raw text, and the response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A body that cannot be answered: it has no request with a UID that an answer could carry.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Not JSON, or not an AdmissionReview.
    #[error("the body is not an AdmissionReview: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Another version than the one that the webhook configuration asks for.
    #[error(
        "apiVersion {0:?} with kind {1:?} is not accepted; accepted: admission.k8s.io/v1, AdmissionReview"
    )]
    Version(String, String),
    /// A UID that no API server gives: the answer would have to repeat it.
    #[error(
        "request.uid is not accepted: it has {0} bytes; accepted: at most 128, and a UID of the \
         API server has 36"
    )]
    Uid(usize),
}

/// Bytes of the longest UID that an answer repeats.
const LONGEST_UID: usize = 128;

impl WireError {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Version(..) => "version",
            Self::Uid(_) => "uid",
        }
    }
}

#[derive(Deserialize)]
struct Review<'a> {
    #[serde(default, rename = "apiVersion")]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: AdmissionRequestView<'a>,
}

#[derive(Debug, Deserialize)]
pub struct AdmissionRequestView<'a> {
    /// Names this request; the answer repeats it.
    pub uid: String,
    #[serde(default)]
    pub resource: GroupVersionResource,
    /// Set for `pods/binding`, `pods/eviction` and the like.
    #[serde(default, rename = "subResource")]
    pub subresource: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    /// CREATE, UPDATE, DELETE or CONNECT.
    #[serde(default)]
    pub operation: String,
    /// True where nothing is to come of it.
    #[serde(default, rename = "dryRun")]
    pub dry_run: bool,
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
}

/// A kind of object, as the API server names it in requests.
#[derive(Debug, Default, Deserialize)]
pub struct GroupVersionResource {
    /// The API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The resource in the plural, such as `pods`.
    #[serde(default)]
    pub resource: String,
}

impl<'a> AdmissionRequestView<'a> {
    /// Reads the body of a call.
    ///
    /// # Errors
    /// A body that is not JSON, has no request, is of another version, or has too long a UID.
    pub fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        let review: Review<'a> = serde_json::from_slice(body)?;
        if review.api_version != "admission.k8s.io/v1" || review.kind != "AdmissionReview" {
            return Err(WireError::Version(
                excerpt(&review.api_version, OF_VALUE),
                excerpt(&review.kind, OF_VALUE),
            ));
        }
        match review.request.uid.len() {
            0..=LONGEST_UID => Ok(review.request),
            length => Err(WireError::Uid(length)),
        }
    }

    pub fn creates_pod(&self) -> bool {
        self.operation == "CREATE"
            && self.resource.group.is_empty()
            && self.resource.resource == "pods"
            && self.subresource.as_deref().is_none_or(str::is_empty)
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(rename = "patchType", skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
}

/// The body of an answer that allows, with a patch (JSON text) and warnings where there are any.
pub fn answer(uid: &str, patch: Option<&[u8]>, warnings: &[String]) -> Vec<u8> {
    let envelope = Envelope {
        api_version: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        response: Response {
            uid,
            allowed: true,
            patch_type: patch.map(|_| "JSONPatch"),
            patch: patch.map(|patch| STANDARD.encode(patch)),
            warnings,
        },
    };
    serde_json::to_vec(&envelope).expect("strings and booleans are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_review_is_refused_with_a_reason() {
        for (body, reason) in [
            ("", "malformed"),
            ("null", "malformed"),
            ("{}", "malformed"),
            (
                r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#,
                "malformed",
            ),
            (
                r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}"#,
                "malformed",
            ),
            (
                r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1"}}"#,
                "version",
            ),
            (
                r#"{"apiVersion":"admission.k8s.io/v1","kind":"Pod","request":{"uid":"1"}}"#,
                "version",
            ),
        ] {
            assert_eq!(
                AdmissionRequestView::parse(body.as_bytes())
                    .unwrap_err()
                    .reason(),
                reason,
                "{body}"
            );
        }
    }

    #[test]
    fn what_an_answer_repeats_is_of_bounded_length() {
        let body = |version: &str, uid: &str| {
            format!(
                r#"{{"apiVersion":"{version}","kind":"AdmissionReview","request":{{"uid":"{uid}"}}}}"#
            )
        };
        let longest = "u".repeat(LONGEST_UID);
        let accepted = body("admission.k8s.io/v1", &longest);
        assert_eq!(
            AdmissionRequestView::parse(accepted.as_bytes())
                .unwrap()
                .uid,
            longest
        );
        let refused = |body: String| AdmissionRequestView::parse(body.as_bytes()).unwrap_err();
        let error = refused(body("admission.k8s.io/v1", &format!("{longest}u")));
        assert_eq!(error.reason(), "uid");
        assert!(error.to_string().starts_with("request.uid "), "{error}");
        let error = refused(body(&"v".repeat(1 << 20), "1"));
        assert_eq!(error.reason(), "version");
        assert!(error.to_string().len() < 300, "{error}");
    }

    #[test]
    fn only_the_creation_of_pods_counts() {
        for (operation, group, resource, subresource, counts) in [
            ("CREATE", "", "pods", None, true),
            ("CREATE", "", "pods", Some(""), true),
            ("CREATE", "", "pods", Some("binding"), false),
            ("UPDATE", "", "pods", None, false),
            ("CREATE", "", "services", None, false),
            ("CREATE", "metrics.k8s.io", "pods", None, false),
        ] {
            let request = AdmissionRequestView {
                uid: "1".to_owned(),
                resource: GroupVersionResource {
                    group: group.to_owned(),
                    resource: resource.to_owned(),
                },
                subresource: subresource.map(str::to_owned),
                namespace: None,
                operation: operation.to_owned(),
                dry_run: false,
                object: None,
            };
            assert_eq!(
                request.creates_pod(),
                counts,
                "{operation} {group}/{resource}/{subresource:?}"
            );
        }
    }
}
