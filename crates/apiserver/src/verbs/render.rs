//! Objects in the requested form: as they are, as table rows, or reduced to their metadata.

use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::meta;
use crate::store::StoredObject;
use crate::wire::response_form::ResponseForm;

#[derive(Debug, Clone, Default)]
pub(crate) struct ListMeta {
    pub(crate) version: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListMeta {
    fn to_value(&self) -> Value {
        let mut value = json!({"resourceVersion": self.version.to_string()});
        meta::put(&mut value, "continue", self.next.clone().map(Value::from));
        meta::put(
            &mut value,
            "remainingItemCount",
            self.remaining.map(Value::from),
        );
        value
    }
}

pub(crate) fn object(call: &ApiRequest, stored: &StoredObject) -> Bytes {
    match call.form {
        ResponseForm::Object if call.resource.conversion.is_none() => stored.json(),
        _ => value(call, &stored.value, true),
    }
}

/// An object in its stored form that is not, or no longer, in the store.
pub(crate) fn value(call: &ApiRequest, stored: &Value, with_columns: bool) -> Bytes {
    let object = call.resource.to_served_version(stored);
    let shown = match call.form {
        ResponseForm::Object => object,
        ResponseForm::Metadata => partial(&object),
        ResponseForm::Table => {
            let meta = json!({"resourceVersion": meta::version(&object)});
            let rows = json!([row(call, &object, call.api.now())]);
            table(call, &meta, &rows, with_columns)
        }
    };
    shown.to_string().into()
}

pub(crate) fn list(
    call: &ApiRequest,
    objects: &[std::sync::Arc<StoredObject>],
    about: &ListMeta,
) -> Bytes {
    let metadata = about.to_value();
    match call.form {
        ResponseForm::Object => {
            let kind = format!("{}List", call.resource.kind);
            let items = objects.iter().map(|stored| object(call, stored));
            items_list(&kind, &call.resource.api_version(), &metadata, items)
        }
        ResponseForm::Metadata => {
            let items = objects
                .iter()
                .map(|stored| value(call, &stored.value, true));
            let kind = "PartialObjectMetadataList";
            items_list(kind, "meta.k8s.io/v1", &metadata, items)
        }
        ResponseForm::Table => {
            let now = call.api.now();
            let rows = objects
                .iter()
                .map(|stored| row(call, &call.resource.to_served_version(&stored.value), now));
            table(call, &metadata, &rows.collect(), true)
                .to_string()
                .into()
        }
    }
}

/// Joins serialised items without parsing them.
fn items_list(
    kind: &str,
    api_version: &str,
    metadata: &Value,
    items: impl Iterator<Item = Bytes>,
) -> Bytes {
    let mut body = BytesMut::new();
    let head = format!(
        r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata},"items":["#
    );
    body.put_slice(head.as_bytes());
    for (index, item) in items.enumerate() {
        if index > 0 {
            body.put_u8(b',');
        }
        body.put_slice(&item);
    }
    body.put_slice(b"]}");
    body.freeze()
}

fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}

fn row(call: &ApiRequest, object: &Value, now: Timestamp) -> Value {
    let mut row = json!({"cells": call.resource.columns.cells(object, now)});
    match call.query.text("includeObject") {
        "None" => {}
        "Object" => row["object"] = object.clone(),
        _ => row["object"] = partial(object),
    }
    row
}

fn table(call: &ApiRequest, metadata: &Value, rows: &Value, with_columns: bool) -> Value {
    let mut columns = json!([]);
    if with_columns {
        columns = call.resource.columns.definitions();
    }
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": columns, "rows": rows,
    })
}
