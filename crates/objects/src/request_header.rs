//! The caller of an extension API server, by the headers of the API server's front proxy. The API
//! server authenticates the caller and passes the request on with its own client certificate and
//! with the caller's names in headers. The ConfigMap [`CONFIG_MAP`] of [`NAMESPACE`] names that
//! certificate and these headers. A reader must verify the certificate before it reads the headers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::authentication::v1::UserInfo;
use percent_encoding::percent_decode_str;

/// Where the API server tells how it introduces callers.
pub const NAMESPACE: &str = "kube-system";
pub const CONFIG_MAP: &str = "extension-apiserver-authentication";

const CLIENT_CA: &str = "requestheader-client-ca-file";
const ALLOWED_NAMES: &str = "requestheader-allowed-names";
const USERNAME_HEADERS: &str = "requestheader-username-headers";
const UID_HEADERS: &str = "requestheader-uid-headers";
const GROUP_HEADERS: &str = "requestheader-group-headers";
const EXTRA_PREFIXES: &str = "requestheader-extra-headers-prefix";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeaders {
    /// The authorities of the proxy's client certificate, as PEM.
    pub client_ca: String,
    /// The common names of its certificate; any where there are none.
    pub allowed_names: BTreeSet<String>,
    headers: HeaderNames,
}

/// The names of the headers, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderNames {
    username: Vec<String>,
    uid: Vec<String>,
    group: Vec<String>,
    extra_prefix: Vec<String>,
}

/// A ConfigMap from which no caller can be identified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestHeadersError {
    #[error(
        "{0} is missing: the API server runs without --requestheader-client-ca-file and passes nothing on"
    )]
    Missing(&'static str),
    #[error("{key} is not a JSON list of strings: {problem}")]
    Unreadable { key: &'static str, problem: String },
}

impl RequestHeadersError {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Missing(_) => "FrontProxyMissing",
            Self::Unreadable { .. } => "FrontProxyUnreadable",
        }
    }
}

impl RequestHeaders {
    /// Reads the data of the ConfigMap.
    ///
    /// # Errors
    /// Authorities or names of the username's headers that are missing, and a list that is none.
    pub fn read(data: &BTreeMap<String, String>) -> Result<Self, RequestHeadersError> {
        let client_ca = data.get(CLIENT_CA).filter(|pem| !pem.trim().is_empty());
        let client_ca = client_ca.ok_or(RequestHeadersError::Missing(CLIENT_CA))?;
        let username = lower(&names(data, USERNAME_HEADERS)?);
        if username.is_empty() {
            return Err(RequestHeadersError::Missing(USERNAME_HEADERS));
        }
        Ok(Self {
            client_ca: client_ca.clone(),
            allowed_names: names(data, ALLOWED_NAMES)?.into_iter().collect(),
            headers: HeaderNames {
                username,
                uid: lower(&names(data, UID_HEADERS)?),
                group: lower(&names(data, GROUP_HEADERS)?),
                extra_prefix: lower(&names(data, EXTRA_PREFIXES)?),
            },
        })
    }

    pub const fn headers(&self) -> &HeaderNames {
        &self.headers
    }
}

fn names(
    data: &BTreeMap<String, String>,
    key: &'static str,
) -> Result<Vec<String>, RequestHeadersError> {
    let Some(text) = data.get(key) else {
        return Ok(Vec::new());
    };
    let unreadable = |error: serde_json::Error| RequestHeadersError::Unreadable {
        key,
        problem: error.to_string(),
    };
    serde_json::from_str(text).map_err(unreadable)
}

fn lower(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.to_ascii_lowercase()).collect()
}

impl HeaderNames {
    /// The caller by the headers of a request, with names in lower case; `None` without a username.
    /// As in Kubernetes, the first header with a value counts, groups take all values, and keys of
    /// extra values are percent-encoded.
    pub fn caller(&self, headers: &[(&str, &str)]) -> Option<UserInfo> {
        let first = |names: &[String]| {
            let mut values = names.iter().filter_map(|name| {
                let value = headers.iter().find(|(key, _)| key == name);
                value
                    .map(|(_, value)| *value)
                    .filter(|value| !value.is_empty())
            });
            values.next().map(str::to_owned)
        };
        let username = first(&self.username)?;
        let groups = self.group.iter().flat_map(|name| {
            let named = headers.iter().filter(move |(key, _)| key == name);
            named.map(|(_, value)| (*value).to_owned())
        });
        let groups: Vec<String> = groups.collect();
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in headers {
            let mut prefixes = self.extra_prefix.iter();
            let Some(rest) = prefixes.find_map(|prefix| key.strip_prefix(prefix.as_str())) else {
                continue;
            };
            let decoded = percent_decode_str(rest).decode_utf8();
            let name = decoded.map_or_else(|_| rest.to_owned(), Cow::into_owned);
            extra.entry(name).or_default().push((*value).to_owned());
        }
        Some(UserInfo {
            username: Some(username),
            uid: first(&self.uid),
            groups: Some(groups).filter(|groups| !groups.is_empty()),
            extra: Some(extra).filter(|extra| !extra.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> BTreeMap<String, String> {
        [
            (CLIENT_CA, "a certificate"),
            (ALLOWED_NAMES, r#"["front-proxy-client"]"#),
            (USERNAME_HEADERS, r#"["X-Remote-User","X-Other-User"]"#),
            (GROUP_HEADERS, r#"["X-Remote-Group"]"#),
            (EXTRA_PREFIXES, r#"["X-Remote-Extra-"]"#),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    }

    #[test]
    fn the_callers_names_stand_in_the_headers() {
        let read = RequestHeaders::read(&data()).unwrap();
        assert_eq!(read.client_ca, "a certificate");
        assert_eq!(read.allowed_names, ["front-proxy-client".to_owned()].into());
        let caller = read.headers().caller(&[
            ("accept", "*/*"),
            ("x-remote-user", "system:serviceaccount:kube-system:hpa"),
            ("x-other-user", "somebody else"),
            ("x-remote-uid", "not named in the ConfigMap"),
            ("x-remote-group", "system:serviceaccounts"),
            ("x-remote-group", "system:authenticated"),
            (
                "x-remote-extra-authentication.kubernetes.io%2fpod-name",
                "web-1",
            ),
            ("x-remote-extra-scopes", "a"),
            ("x-remote-extra-scopes", "b"),
        ]);
        let texts = |texts: &[&str]| {
            texts
                .iter()
                .map(|&text| text.to_owned())
                .collect::<Vec<_>>()
        };
        let extra = [
            (
                "authentication.kubernetes.io/pod-name".to_owned(),
                texts(&["web-1"]),
            ),
            ("scopes".to_owned(), texts(&["a", "b"])),
        ];
        let expected = UserInfo {
            username: Some("system:serviceaccount:kube-system:hpa".to_owned()),
            uid: None,
            groups: Some(texts(&["system:serviceaccounts", "system:authenticated"])),
            extra: Some(extra.into()),
        };
        assert_eq!(caller, Some(expected));
    }

    #[test]
    fn without_a_username_there_is_nobody() {
        let read = RequestHeaders::read(&data()).unwrap();
        for headers in [
            &[][..],
            &[("x-remote-user", "")],
            &[("x-remote-group", "system:masters")],
        ] {
            assert_eq!(read.headers().caller(headers), None, "{headers:?}");
        }
        let second = read
            .headers()
            .caller(&[("x-remote-user", ""), ("x-other-user", "b")]);
        assert_eq!(second.unwrap().username.as_deref(), Some("b"));
    }

    #[test]
    fn what_nobody_can_be_known_by_is_refused() {
        for (key, value, reason) in [
            (CLIENT_CA, None, "FrontProxyMissing"),
            (CLIENT_CA, Some(" "), "FrontProxyMissing"),
            (USERNAME_HEADERS, None, "FrontProxyMissing"),
            (USERNAME_HEADERS, Some("[]"), "FrontProxyMissing"),
            (ALLOWED_NAMES, Some("front-proxy"), "FrontProxyUnreadable"),
            (GROUP_HEADERS, Some("{}"), "FrontProxyUnreadable"),
        ] {
            let mut data = data();
            match value {
                Some(value) => data.insert(key.to_owned(), value.to_owned()),
                None => data.remove(key),
            };
            let error = RequestHeaders::read(&data).unwrap_err();
            assert_eq!(error.reason(), reason, "{key} {value:?}");
            assert!(error.to_string().contains(key), "{error}");
        }
        // Any name, no groups and no extras are what the flags leave out.
        let mut least = data();
        least.retain(|key, _| [CLIENT_CA, USERNAME_HEADERS].contains(&key.as_str()));
        let least = RequestHeaders::read(&least).unwrap();
        assert!(least.allowed_names.is_empty());
        let caller = least
            .headers()
            .caller(&[("x-remote-user", "a"), ("x-remote-group", "g")]);
        assert_eq!(caller.unwrap().groups, None);
    }
}
