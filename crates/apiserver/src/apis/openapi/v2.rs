//! `/openapi/v2`: which objects can be patched with field validation on the server, which kubectl
//! asks for if it cannot use `/openapi/v3`. It has no definitions of fields. kubectl accepts
//! protobuf only, with the field numbers of gnostic's
//! [`OpenAPIv2.proto`](https://github.com/google/gnostic-models/blob/main/openapiv2/OpenAPIv2.proto).

use serde_json::{Map, Value, json};

use super::{PARAMETERS, TITLE, gvk, path, version};
use crate::apis::discovery::{DiscoveryResource, groups};
use crate::error::{ApiError, StatusReason};
use crate::state::Api;
use crate::wire::reply::Reply;

/// The protobuf form in requests.
const ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The protobuf form in answers, without the `@`.
const ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Names the kind of an operation.
const KIND: &str = "x-kubernetes-group-version-kind";

/// In the first form of the header `Accept` that is supported.
pub(crate) fn document(api: &Api, accept: &str) -> Result<Reply, ApiError> {
    let mut forms = accept.split(',').filter_map(|entry| {
        let media = entry.split(';').next().unwrap_or_default();
        match media.trim() {
            ASKED | ANSWERED => Some(true),
            "" | "*/*" | "application/*" | "application/json" => Some(false),
            _ => None,
        }
    });
    let is_protobuf = forms.next().ok_or_else(|| {
        ApiError::new(
            StatusReason::NotAcceptable,
            format!("only the following media types are accepted: application/json, {ASKED}"),
        )
    })?;
    let groups = groups(api);
    let versions = groups.values().flat_map(|versions| versions.values());
    let entries = versions.flatten();
    Ok(if is_protobuf {
        Reply::json(protobuf(entries).into()).with_media(ANSWERED)
    } else {
        Reply::value(&swagger(entries))
    })
}

fn swagger<'a>(entries: impl Iterator<Item = &'a DiscoveryResource>) -> Value {
    let parameters = PARAMETERS.map(|name| json!({"name": name, "in": "query", "type": "string"}));
    let paths: Map<String, Value> = entries
        .map(|entry| {
            let operation = json!({
                "x-kubernetes-action": "patch", KIND: gvk(entry), "parameters": parameters,
                "responses": {"200": {"description": "OK"}},
            });
            (path(entry), json!({"patch": operation}))
        })
        .collect();
    json!({"swagger": "2.0", "info": {"title": TITLE, "version": version()}, "paths": paths})
}

/// As a message `Document`.
fn protobuf<'a>(entries: impl Iterator<Item = &'a DiscoveryResource>) -> Vec<u8> {
    let info = [text(1, TITLE), text(2, &version())].concat();
    let paths: Vec<u8> = entries
        .flat_map(|entry| named(2, &path(entry), &field(8, &operation(entry))))
        .collect();
    [text(1, "2.0"), field(2, &info), field(8, &paths)].concat()
}

/// A message `Operation`.
fn operation(entry: &DiscoveryResource) -> Vec<u8> {
    let parameters = PARAMETERS.into_iter().flat_map(|name| {
        let schema = [text(2, "query"), text(4, name), text(6, "string")].concat();
        // Messages ParametersItem, Parameter and NonBodyParameter around one of a query parameter.
        field(8, &field(1, &field(2, &field(3, &schema))))
    });
    let response = field(1, &text(1, "OK"));
    let responses = field(9, &named(1, "200", &response));
    // An extension's value is YAML, which includes JSON.
    let kind = named(13, KIND, &text(2, &gvk(entry).to_string()));
    let action = named(13, "x-kubernetes-action", &text(2, "patch"));
    parameters
        .chain(responses)
        .chain(kind)
        .chain(action)
        .collect()
}

/// A name and a value, as in maps.
fn named(number: u8, name: &str, value: &[u8]) -> Vec<u8> {
    field(number, &[text(1, name), field(2, value)].concat())
}

fn text(number: u8, text: &str) -> Vec<u8> {
    field(number, text.as_bytes())
}

/// A text or a message as a field; `number` is below 16.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    const LENGTH_DELIMITED: u8 = 2;
    let mut bytes = vec![number << 3 | LENGTH_DELIMITED];
    let mut length = content.len();
    while length >= 0x80 {
        let [low, ..] = length.to_le_bytes();
        bytes.push(low | 0x80);
        length >>= 7;
    }
    let [low, ..] = length.to_le_bytes();
    bytes.push(low);
    bytes.extend(content);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_protobuf_does() {
        assert_eq!(text(1, "2.0"), b"\x0a\x032.0");
        assert_eq!(field(8, &text(2, "a")), b"\x42\x03\x12\x01a");
        let long = field(13, &[7; 300]);
        assert_eq!((&long[..3], long.len()), (&b"\x6a\xac\x02"[..], 303));
    }
}
