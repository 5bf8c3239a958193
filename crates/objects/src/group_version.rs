//! The group and version in a user's reference, checked before they become part of a path. The API
//! server accepts nearly any text as `apiVersion` and routes by the decoded path, so `%2F` or `?`
//! would address something else than the kinds of a group.

use std::fmt;

const LONGEST_GROUP: usize = 253;
const LONGEST_LABEL: usize = 63;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GroupVersion {
    group: String,
    version: String,
}

impl GroupVersion {
    /// The group and version in an `apiVersion`: `apps/v1`, or `v1` (or empty) for the core group.
    /// `None` unless both parts are valid DNS names.
    pub fn parse(api_version: &str) -> Option<Self> {
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => (group, version),
            None if api_version.is_empty() => ("", "v1"),
            None => ("", api_version),
        };
        let is_group =
            group.is_empty() || group.len() <= LONGEST_GROUP && group.split('.').all(is_label);
        (is_group && is_label(version)).then(|| Self {
            group: group.to_owned(),
            version: version.to_owned(),
        })
    }

    /// The group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.group
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn path(&self) -> String {
        let Self { group, version } = self;
        if group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{group}/{version}")
        }
    }

    /// A resource of the group for `kubectl`: `deployments.apps`, or `pods` of the core group.
    pub fn qualified(&self, plural: &str) -> String {
        if self.group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{}", self.group)
        }
    }
}

impl fmt::Display for GroupVersion {
    /// `apps/v1`, or `v1` of the core group.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_version_leads_to_the_kinds_of_its_group() {
        for (text, path, qualified) in [
            ("v1", "/api/v1", "webs"),
            ("", "/api/v1", "webs"),
            ("/v1", "/api/v1", "webs"),
            ("apps/v1", "/apis/apps/v1", "webs.apps"),
            (
                "networking.k8s.io/v1beta1",
                "/apis/networking.k8s.io/v1beta1",
                "webs.networking.k8s.io",
            ),
        ] {
            let found = GroupVersion::parse(text).unwrap();
            assert_eq!(
                (&*found.path(), &*found.qualified("webs")),
                (path, qualified)
            );
        }
    }

    #[test]
    fn a_group_version_that_would_be_another_path_is_none() {
        let long = format!("{}/v1", vec!["a".repeat(63); 4].join("."));
        for text in [
            "v1%2Fpods?fieldSelector=metadata.name%3Dx",
            "external.metrics.k8s.io/v1beta1%2Fnamespaces%2Fother%2Fqueue",
            "apps/v1?limit=1",
            "apps/v1#",
            "apps/../v1",
            "../v1",
            "apps/v1/namespaces",
            "apps/",
            "/",
            "..",
            "Apps/v1",
            "apps./v1",
            "a pps/v1",
            "-apps/v1",
            "äpps/v1",
            "apps\\v1",
            &long,
        ] {
            assert_eq!(GroupVersion::parse(text), None, "{text}");
        }
    }
}
