//! The bodies that kube-scheduler sends, read without a copy of what is passed through. Go's types
//! have no JSON tags: keys are capitalised and absent parts are `null`; lower-case keys are
//! accepted too, as in Go. Node objects stay raw text: only their names are read.

use std::borrow::Cow;

use evenkeel_objects::pod::Pod;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::node_name;
use super::refusal::REFUSAL;

/// A body that cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Not JSON, or not of the shape of `ExtenderArgs`.
    #[error("the body is not a kube-scheduler ExtenderArgs: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the body is not a kube-scheduler ExtenderBindingArgs: {0}")]
    Binding(serde_json::Error),
    #[error("the body is not a kube-scheduler ExtenderPreemptionArgs: {0}")]
    Preemption(serde_json::Error),
    /// Neither `Nodes` nor `NodeNames` is there.
    #[error("the body holds neither NodeNames nor Nodes: one of them is needed")]
    NoNodes,
    #[error("item {0} of Nodes has no metadata.name")]
    NamelessNode(usize),
}

impl WireError {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::Binding(_) | Self::Preemption(_) => "malformed",
            Self::NoNodes => "no_nodes",
            Self::NamelessNode(_) => "nameless_node",
        }
    }
}

/// The question of filter and prioritize: a Pod and the nodes it might go to.
#[derive(Debug)]
pub struct ExtenderRequest<'a> {
    pub pod: Pod,
    /// The nodes by name, in the order asked.
    pub names: Vec<Cow<'a, str>>,
    /// The node objects, in the same order, where the scheduler sends them.
    pub objects: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Args<'a> {
    #[serde(rename = "Pod", alias = "pod")]
    pod: Pod,
    #[serde(borrow, default, rename = "Nodes", alias = "nodes")]
    nodes: Option<NodeList<'a>>,
    #[serde(
        borrow,
        default,
        rename = "NodeNames",
        alias = "nodenames",
        alias = "nodeNames"
    )]
    node_names: Option<Vec<BorrowedNodeName<'a>>>,
}

#[derive(Deserialize)]
struct NodeList<'a> {
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct BorrowedNodeName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> ExtenderRequest<'a> {
    /// Reads the body of a call.
    ///
    /// # Errors
    /// A body that is no `ExtenderArgs`, or that names no nodes in either form.
    pub fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        // As one text, the strings of which need not be checked one by one.
        let args: Args<'a> = match std::str::from_utf8(body) {
            Ok(text) => serde_json::from_str(text)?,
            Err(_) => serde_json::from_slice(body)?,
        };
        if let Some(names) = args.node_names {
            return Ok(Self {
                pod: args.pod,
                names: names.into_iter().map(|name| name.0).collect(),
                objects: None,
            });
        }
        let list = args.nodes.ok_or(WireError::NoNodes)?;
        let objects = list.items.unwrap_or_default();
        let names = objects
            .iter()
            .enumerate()
            .map(|(number, object)| {
                node_name::read(object.get())
                    .filter(|name| !name.is_empty())
                    .ok_or(WireError::NamelessNode(number))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            pod: args.pod,
            names,
            objects: Some(objects),
        })
    }
}

/// Writes the answer to filter: the passing nodes, and the others as not to be helped by
/// preemption.
pub fn filter_answer(request: &ExtenderRequest<'_>, passes: impl Fn(usize) -> bool) -> Vec<u8> {
    let (kept, refused): (Vec<usize>, Vec<usize>) =
        (0..request.names.len()).partition(|&position| passes(position));
    let mut body = Vec::with_capacity(answer_size(request, &kept));
    match &request.objects {
        None => {
            body.extend_from_slice(br#"{"Nodes":null,"NodeNames":["#);
            separated(&mut body, &kept, |body, position| {
                quoted(body, &request.names[position]);
            });
            body.push(b']');
        }
        Some(objects) => {
            body.extend_from_slice(br#"{"Nodes":{"metadata":{},"items":["#);
            separated(&mut body, &kept, |body, position| {
                body.extend_from_slice(objects[position].get().as_bytes());
            });
            body.extend_from_slice(br#"]},"NodeNames":null"#);
        }
    }
    body.extend_from_slice(br#","FailedNodes":{},"FailedAndUnresolvableNodes":{"#);
    separated(&mut body, &refused, |body, position| {
        quoted(body, &request.names[position]);
        body.push(b':');
        quoted(body, &Cow::Borrowed(REFUSAL));
    });
    body.extend_from_slice(br#"},"Error":""}"#);
    body
}

/// Writes the answer to prioritize: a score for every node that was asked about.
pub fn prioritize_answer(request: &ExtenderRequest<'_>, score: impl Fn(usize) -> u8) -> Vec<u8> {
    let mut body = Vec::with_capacity(names_size(request) + request.names.len() * 24);
    let all: Vec<usize> = (0..request.names.len()).collect();
    body.push(b'[');
    separated(&mut body, &all, |body, position| {
        body.extend_from_slice(br#"{"Host":"#);
        quoted(body, &request.names[position]);
        body.extend_from_slice(br#","Score":"#);
        let score = score(position).min(10);
        if score == 10 {
            body.extend_from_slice(b"10");
        } else {
            body.push(b'0' + score);
        }
        body.push(b'}');
    });
    body.push(b']');
    body
}

fn answer_size(request: &ExtenderRequest<'_>, passed: &[usize]) -> usize {
    let objects: usize = request.objects.as_ref().map_or(0, |objects| {
        passed
            .iter()
            .map(|&position| objects[position].get().len() + 1)
            .sum()
    });
    let refusals = (request.names.len() - passed.len()) * (REFUSAL.len() + 3);
    256 + objects + names_size(request) + request.names.len() * 3 + refusals
}

fn names_size(request: &ExtenderRequest<'_>) -> usize {
    request.names.iter().map(|name| name.len()).sum()
}

fn separated(body: &mut Vec<u8>, positions: &[usize], mut write: impl FnMut(&mut Vec<u8>, usize)) {
    for (number, &position) in positions.iter().enumerate() {
        if number > 0 {
            body.push(b',');
        }
        write(body, position);
    }
}

/// Writes a JSON string. A borrowed name stood in the body without escapes, so it is copied as it
/// is.
#[allow(clippy::ptr_arg)] // what matters is whether it was borrowed
fn quoted(body: &mut Vec<u8>, text: &Cow<'_, str>) {
    match text {
        Cow::Borrowed(plain) => {
            body.push(b'"');
            body.extend_from_slice(plain.as_bytes());
            body.push(b'"');
        }
        Cow::Owned(text) => {
            body.extend_from_slice(
                serde_json::Value::from(text.as_str())
                    .to_string()
                    .as_bytes(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn body(nodes: &Value, names: &Value) -> Vec<u8> {
        json!({"Pod": {"metadata": {"name": "p", "namespace": "d", "uid": "1"}, "spec": {"containers": []}},
               "Nodes": nodes, "NodeNames": names})
        .to_string()
        .into_bytes()
    }

    #[test]
    fn both_forms_are_read_and_answered_in_kind() {
        let names = body(&Value::Null, &json!(["a", "b"]));
        let request = ExtenderRequest::parse(&names).unwrap();
        let answer: Value = serde_json::from_slice(&filter_answer(&request, |n| n == 1)).unwrap();
        assert_eq!(
            answer,
            json!({"Nodes": null, "NodeNames": ["b"], "FailedNodes": {},
                   "FailedAndUnresolvableNodes": {"a": REFUSAL}, "Error": ""})
        );

        let items = json!([{"metadata": {"name": "a"}, "x": [1, 2]}, {"metadata": {"name": "b"}}]);
        let nodes = body(&json!({"metadata": {}, "items": items}), &Value::Null);
        let request = ExtenderRequest::parse(&nodes).unwrap();
        let answer: Value = serde_json::from_slice(&filter_answer(&request, |n| n == 0)).unwrap();
        assert_eq!(answer["Nodes"]["items"], json!([items[0]]), "untouched");
        assert_eq!(answer["NodeNames"], Value::Null);
        assert_eq!(answer["FailedAndUnresolvableNodes"], json!({"b": REFUSAL}));
    }

    #[test]
    fn lower_case_keys_are_taken_too() {
        let body = br#"{"pod":{"metadata":{}},"nodenames":["a"]}"#;
        assert_eq!(ExtenderRequest::parse(body).unwrap().names, ["a"]);
    }

    #[test]
    fn what_is_no_question_is_refused_with_a_reason() {
        for (body, reason) in [
            (&b""[..], "malformed"),
            (b"null", "malformed"),
            (b"[]", "malformed"),
            (br#"{"Pod":{},"NodeNames":[1]}"#, "malformed"),
            (br#"{"Pod":null,"NodeNames":["a"]}"#, "malformed"),
            (br#"{"Pod":{"metadata":{}}}"#, "no_nodes"),
            (
                br#"{"Pod":{"metadata":{}},"Nodes":{"items":[{"metadata":{}}]}}"#,
                "nameless_node",
            ),
        ] {
            let error = ExtenderRequest::parse(body).unwrap_err();
            assert_eq!(error.reason(), reason, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn no_nodes_at_all_is_a_question_too() {
        let body = body(&json!({"items": null}), &Value::Null);
        let request = ExtenderRequest::parse(&body).unwrap();
        assert!(request.names.is_empty());
        let answer: Value = serde_json::from_slice(&prioritize_answer(&request, |_| 0)).unwrap();
        assert_eq!(answer, json!([]));
    }

    proptest! {
        /// Whatever the names are, the answer is JSON with exactly these names.
        #[test]
        fn any_name_comes_back(names in prop::collection::vec(any::<String>(), 0..8), scores in prop::collection::vec(0..=10_u8, 8)) {
            let body = body(&Value::Null, &json!(names));
            let request = ExtenderRequest::parse(&body).unwrap();
            let answer: Value = serde_json::from_slice(&filter_answer(&request, |n| n % 2 == 0)).unwrap();
            let kept: Vec<&String> = names.iter().step_by(2).collect();
            prop_assert_eq!(&answer["NodeNames"], &json!(kept));
            let answer: Value = serde_json::from_slice(&prioritize_answer(&request, |n| scores[n])).unwrap();
            for (n, name) in names.iter().enumerate() {
                prop_assert_eq!(&answer[n], &json!({"Host": name, "Score": scores[n]}));
            }
        }
    }
}
