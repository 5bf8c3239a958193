//! Get and list, with pages that agree with each other.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::error::{ApiError, StatusReason};
use crate::selector;
use crate::selector::ListSelector;
use crate::store::{ExpiredVersion, ObjectKey, StoredObject};
use crate::verbs::render;
use crate::verbs::render::ListMeta;
use crate::wire::query::ListVersion;
use crate::wire::reply::Reply;

pub(crate) fn get(call: &ApiRequest) -> Result<Reply, ApiError> {
    Ok(Reply::json(render::object(call, &*call.current()?)))
}

/// Selectors of the request, and the name in its path.
pub(crate) fn selection(call: &ApiRequest) -> Result<ListSelector, ApiError> {
    let fields = call.query.text("fieldSelector");
    selector::check_fields(fields, &call.resource.selectable)?;
    let mut fields = fields.to_owned();
    // A watch or list with a name in its path is one of that object.
    if let Some(name) = &call.name {
        if !fields.is_empty() {
            fields.push(',');
        }
        fields = format!("{fields}metadata.name={name}");
    }
    let selector = ListSelector::parse(call.query.text("labelSelector"), &fields)?;
    let renamed = (call.resource.conversion).map_or(&[][..], |conversion| conversion.renamed);
    Ok(selector.with_stored_names(renamed))
}

/// Possibly a page.
pub(crate) fn list(call: &ApiRequest) -> Result<Reply, ApiError> {
    let selection = selection(call)?;
    let Snapshot {
        objects,
        version,
        after,
    } = snapshot(call)?;
    let limit = call.query.number("limit")?.filter(|limit| *limit > 0);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let mut matching = objects
        .into_iter()
        .filter(|stored| selection.is_everything() || selection.matches(&stored.value))
        .filter(|stored| after.as_ref().is_none_or(|after| stored.key() > *after));
    let page: Vec<Arc<StoredObject>> = matching
        .by_ref()
        .take(limit.unwrap_or(usize::MAX))
        .collect();
    let rest = matching.count();
    let next = page
        .last()
        .filter(|_| rest > 0)
        .map(|last| token(version, &last.key()));
    let about = ListMeta {
        version,
        remaining: next
            .as_ref()
            .filter(|_| selection.is_everything())
            .map(|_| rest),
        next,
    };
    Ok(Reply::json(render::list(call, &page, &about)))
}

/// A collection at one version; a page begins after `after`.
struct Snapshot {
    objects: Vec<Arc<StoredObject>>,
    version: u64,
    after: Option<ObjectKey>,
}

fn snapshot(call: &ApiRequest) -> Result<Snapshot, ApiError> {
    let first_page = |objects, version| Snapshot {
        objects,
        version,
        after: None,
    };
    let collection = &call.resource.collection;
    let namespace = call.namespace.as_deref();
    let store = &call.api.store;
    let token = call.query.text("continue");
    if !token.is_empty() {
        let (version, after) = read_token(token).ok_or_else(|| {
            ApiError::bad_request("continue key is not valid: it was not issued by this server")
        })?;
        let objects = store.list_at(collection, namespace, version).map_err(|_| {
            ApiError::new(
                StatusReason::Expired,
                "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
            )
        })?;
        return Ok(Snapshot {
            objects,
            version,
            after: Some(after),
        });
    }
    let at = call.query.at()?;
    if let ListVersion::Exactly(version) = at {
        let objects = store
            .list_at(collection, namespace, version)
            .map_err(|old| expired(version, old))?;
        not_ahead(call, version)?;
        return Ok(first_page(objects, version));
    }
    if let ListVersion::NotBefore(version) = at {
        not_ahead(call, version)?;
    }
    let (objects, version) = store.list(collection, namespace);
    Ok(first_page(objects, version))
}

/// Refuses versions that no write has made yet.
pub(crate) fn not_ahead(call: &ApiRequest, version: u64) -> Result<(), ApiError> {
    let newest = call.api.store.version();
    if version <= newest {
        return Ok(());
    }
    let error = ApiError::new(
        StatusReason::ServiceUnavailable,
        format!("Too large resource version: {version}, current: {newest}"),
    );
    Err(error.with_status(504).retry_after(1))
}

/// The version is older than the history.
pub(crate) fn expired(version: u64, old: ExpiredVersion) -> ApiError {
    let oldest = old.oldest;
    ApiError::new(
        StatusReason::Expired,
        format!("too old resource version: {version} ({oldest})"),
    )
}

fn token(version: u64, last: &ObjectKey) -> String {
    let token =
        json!({"v": "meta.k8s.io/v1", "rv": version, "ns": last.namespace, "name": last.name});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn read_token(token: &str) -> Option<(u64, ObjectKey)> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let token: Value = serde_json::from_slice(&bytes).ok()?;
    let text = |field: &str| token[field].as_str().map(str::to_owned);
    Some((
        token["rv"].as_u64()?,
        ObjectKey::new(text("ns")?, text("name")?),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back_and_strange_ones_are_not() {
        let key = ObjectKey::new("default", "web");
        assert_eq!(read_token(&token(7, &key)), Some((7, key)));
        assert_eq!(read_token("e30"), None);
        assert_eq!(read_token("%"), None);
    }
}
