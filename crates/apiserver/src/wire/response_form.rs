//! The form of an answer that the client accepts: objects, tables, or metadata only. Everything is
//! JSON. Clients that prefer protobuf or CBOR accept JSON too, or handle the answer's
//! `Content-Type`.

use crate::error::{ApiError, StatusReason};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ResponseForm {
    #[default]
    Object,
    /// Rows and columns for people.
    Table,
    /// `PartialObjectMetadata` objects or a list of them.
    Metadata,
}

const PLAIN: [&str; 6] = [
    "application/json",
    "application/*",
    "*/*",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/cbor-seq",
];

/// The first supported form in the header.
pub(crate) fn parse(header: &str) -> Result<ResponseForm, ApiError> {
    if header.trim().is_empty() {
        return Ok(ResponseForm::Object);
    }
    let mut forms = header.split(',').filter_map(form);
    forms.next().ok_or_else(|| {
        ApiError::new(
            StatusReason::NotAcceptable,
            "only the following media types are accepted: application/json",
        )
    })
}

fn form(entry: &str) -> Option<ResponseForm> {
    let mut parts = entry.split(';').map(str::trim);
    let media = parts.next().filter(|media| PLAIN.contains(media))?;
    let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
    let parameter = |name: &str| {
        parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, v)| *v)
    };
    let meta = parameter("g").is_none_or(|group| group == "meta.k8s.io");
    let v1 = parameter("v").is_none_or(|version| matches!(version, "v1" | "v1beta1"));
    match parameter("as") {
        None => Some(ResponseForm::Object),
        Some(_) if !meta || !v1 || media != "application/json" => None,
        Some("Table") => Some(ResponseForm::Table),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(ResponseForm::Metadata),
        Some(_) => None,
    }
}

/// The requested version of aggregated discovery, such as `v2`; `None` for the legacy form.
pub(crate) fn discovery(header: &str) -> Option<&'static str> {
    let wants = |version: &str| {
        header.split(',').any(|entry| {
            let has = |part: &str| entry.split(';').any(|given| given.trim() == part);
            has("as=APIGroupDiscoveryList") && has(version)
        })
    };
    if wants("v=v2") {
        Some("v2")
    } else if wants("v=v2beta1") {
        Some("v2beta1")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_made_counts() {
        for (header, expected) in [
            ("", ResponseForm::Object),
            ("application/json", ResponseForm::Object),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                ResponseForm::Table,
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
                ResponseForm::Object,
            ),
            ("application/vnd.kubernetes.protobuf", ResponseForm::Object),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                ResponseForm::Metadata,
            ),
        ] {
            assert_eq!(parse(header).ok(), Some(expected), "{header}");
        }
        assert!(parse("text/html").is_err());
        assert!(parse("application/yaml").is_err());
    }

    #[test]
    fn aggregated_discovery_is_asked_for_by_version() {
        let kubectl =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        assert_eq!(discovery(kubectl), Some("v2"));
        assert_eq!(discovery("application/json"), None);
    }
}
