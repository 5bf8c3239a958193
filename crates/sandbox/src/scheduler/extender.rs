//! Calls to one extender, in kube-scheduler's form.

use std::collections::HashMap;

use evenkeel_http_client::header::CONTENT_TYPE;
use evenkeel_http_client::{
    Identity, PooledHttpClient, Request, StatusCode, TlsError, TrustAnchors,
};
use evenkeel_placement::kube_scheduler_scores::EXTENDER_SCALE;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::debug;

use super::configuration::{Error, Settings};
use crate::scheduler::plugins::NodeRefusal;

/// Largest answer: names and reasons of some ten thousand nodes.
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExtenderFilterReply {
    /// In the order of the answer.
    pub(super) kept: Vec<String>,
    pub(super) refused: Vec<(String, NodeRefusal)>,
    /// The extender gave no answer, and the Pod goes on without it.
    pub(super) skipped: bool,
}

#[derive(Clone)]
pub(super) struct Extender {
    settings: Settings,
    http: PooledHttpClient,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct FilterAnswer {
    node_names: Option<Vec<String>>,
    failed_nodes: Option<HashMap<String, String>>,
    failed_and_unresolvable_nodes: Option<HashMap<String, String>>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BindAnswer {
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostPriority {
    host: String,
    score: i64,
}

impl Extender {
    pub(super) fn new(settings: &Settings) -> Result<Self, Error> {
        let tls = &settings.tls;
        let identity = Identity {
            chain: tls.certificate.as_bytes(),
            key: tls.key.as_bytes(),
        };
        let trust = TrustAnchors::Authorities(tls.authorities.as_bytes());
        let http = PooledHttpClient::new(trust, Some(identity));
        let http = http.map_err(|error: TlsError| Error::Tls(error.to_string()))?;
        Ok(Self {
            settings: settings.clone(),
            http,
        })
    }

    /// The nodes of `names` that pass; all if the extender may be ignored and does not answer.
    pub(super) async fn filter(
        &self,
        pod: &Pod,
        names: &[&str],
    ) -> Result<ExtenderFilterReply, String> {
        let all = || ExtenderFilterReply {
            kept: names.iter().map(|&name| name.to_owned()).collect(),
            refused: Vec::new(),
            skipped: false,
        };
        let Some(verb) = &self.settings.filter else {
            return Ok(all());
        };
        let answer = self.call(verb, arguments(pod, names)).await;
        let filtered = answer.and_then(|body| read_filter(&body, names));
        match filtered {
            Err(error) if self.settings.ignorable => {
                debug!(error, "the extender was skipped");
                Ok(ExtenderFilterReply {
                    skipped: true,
                    ..all()
                })
            }
            filtered => filtered,
        }
    }

    /// Score and weight of each node of `names`; zeros without an answer.
    pub(super) async fn prioritize(&self, pod: &Pod, names: &[&str]) -> Vec<(i64, i64)> {
        let weight = self.settings.weight * EXTENDER_SCALE;
        let nothing = || vec![(0, weight); names.len()];
        let Some(verb) = &self.settings.prioritize else {
            return nothing();
        };
        let answer = self.call(verb, arguments(pod, names)).await;
        let scores = answer.and_then(|body| {
            serde_json::from_slice::<Vec<HostPriority>>(&body).map_err(|error| error.to_string())
        });
        match scores {
            Ok(scores) => {
                let sum = |name: &str| {
                    let given = scores.iter().filter(|score| score.host == name);
                    given.map(|score| score.score).sum::<i64>()
                };
                names.iter().map(|name| (sum(name), weight)).collect()
            }
            Err(error) => {
                debug!(error, "the extender gave no scores");
                nothing()
            }
        }
    }

    /// Has an extender bind. True if it says that it has; after an error of an ignorable extender,
    /// the scheduler binds by itself.
    pub(super) async fn bind(&self, pod: &Pod, node: &str) -> Result<bool, String> {
        let Some(verb) = &self.settings.bind else {
            return Ok(false);
        };
        let body = json!({
            "PodName": pod.metadata.name, "PodNamespace": pod.metadata.namespace,
            "PodUID": pod.metadata.uid, "Node": node,
        });
        let answer = self.call(verb, body.to_string().into_bytes()).await;
        let bound = answer.and_then(|body| {
            let answer: BindAnswer =
                serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            answer
                .error
                .filter(|error| !error.is_empty())
                .map_or(Ok(()), Err)
        });
        match bound {
            Ok(()) => Ok(true),
            Err(error) if self.settings.ignorable => {
                debug!(error, "the extender left the binding to the scheduler");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn call(&self, verb: &str, body: Vec<u8>) -> Result<Vec<u8>, String> {
        let url = format!("{}/{verb}", self.settings.url_prefix.trim_end_matches('/'));
        let request = Request::post(url)
            .header(CONTENT_TYPE, "application/json")
            .body(body.into())
            .map_err(|error| error.to_string())?;
        let answer = self.http.send(request, self.settings.timeout).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status() != StatusCode::OK {
            return Err(format!(
                "failed {verb} with extender, code {}",
                answer.status()
            ));
        }
        let body = answer.bytes(LARGEST_ANSWER).await;
        body.map_err(|error| error.to_string())
    }
}

/// Go's field names, and the Pod without its type and its `managedFields`.
fn arguments(pod: &Pod, names: &[&str]) -> Vec<u8> {
    let mut pod = serde_json::to_value(pod).unwrap_or_default();
    if let Value::Object(fields) = &mut pod {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    if let Value::Object(metadata) = &mut pod["metadata"] {
        metadata.remove("managedFields");
    }
    let body = json!({"Pod": pod, "Nodes": null, "NodeNames": names});
    body.to_string().into_bytes()
}

/// A node in both lists passes, and one in neither is refused without a reason.
fn read_filter(body: &[u8], names: &[&str]) -> Result<ExtenderFilterReply, String> {
    let answer: FilterAnswer = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if let Some(error) = answer.error.filter(|error| !error.is_empty()) {
        return Err(error);
    }
    let mut kept = answer.node_names.unwrap_or_default();
    if let Some(stranger) = kept.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!(
            "extender claims a filtered node {stranger:?} which is not found in the input node list"
        ));
    }
    let mut seen = std::collections::HashSet::new();
    kept.retain(|name| seen.insert(name.clone()));
    let failed = answer.failed_nodes.unwrap_or_default();
    let unresolvable = answer.failed_and_unresolvable_nodes.unwrap_or_default();
    let mut refused = Vec::new();
    for name in names.iter().filter(|name| !seen.contains(**name)) {
        let (text, resolvable) = match (unresolvable.get(*name), failed.get(*name)) {
            (Some(text), _) => (text.clone(), false),
            (None, Some(text)) => (text.clone(), true),
            (None, None) => (String::new(), false),
        };
        let text = text.into();
        refused.push(((*name).to_owned(), NodeRefusal { text, resolvable }));
    }
    Ok(ExtenderFilterReply {
        kept,
        refused,
        skipped: false,
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_placement::extender::wire;

    use super::*;

    #[test]
    fn the_body_is_the_one_that_kube_scheduler_sends() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "a", "uid": "u", "managedFields": [{"manager": "x"}]},
            "spec": {"containers": []},
        }))
        .unwrap();
        let body: Value = serde_json::from_slice(&arguments(&pod, &["n1", "n2"])).unwrap();
        assert_eq!(body["NodeNames"], json!(["n1", "n2"]));
        assert_eq!(body["Nodes"], Value::Null);
        assert_eq!(body["Pod"]["metadata"], json!({"name": "a", "uid": "u"}));
        assert_eq!(body["Pod"]["kind"], Value::Null);
        let bytes = arguments(&pod, &["n1"]);
        assert_eq!(wire::ExtenderRequest::parse(&bytes).unwrap().names, ["n1"]);
    }

    #[test]
    fn answers_mean_what_kube_scheduler_makes_of_them() {
        let names = ["a", "b", "c"];
        let read = |answer: Value| read_filter(answer.to_string().as_bytes(), &names);
        let partly = read(json!({
            "NodeNames": ["b", "b"],
            "FailedNodes": {"b": "contradicts itself", "a": "full"},
            "FailedAndUnresolvableNodes": {"c": "never"},
        }))
        .unwrap();
        assert_eq!(partly.kept, ["b"]);
        let reasons: Vec<_> = partly
            .refused
            .iter()
            .map(|(name, refusal)| (&**name, &*refusal.text, refusal.resolvable))
            .collect();
        assert_eq!(reasons, [("a", "full", true), ("c", "never", false)]);
        assert_eq!(read(json!({})).unwrap().refused.len(), 3);
        assert!(read(json!({"NodeNames": ["d"]})).is_err());
        assert!(read(json!({"NodeNames": ["a"], "Error": "broken"})).is_err());
        assert!(read_filter(b"", &names).is_err());
    }
}
