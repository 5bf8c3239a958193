//! URL paths of the API, parsed.

/// An object or a collection, possibly with a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The path after `proxy`.
    pub(crate) tail: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/livez`, `/readyz` and `/healthz`.
    Health,
    Version,
    /// `/api`: versions of the core group, or all of it in the aggregated form.
    Core,
    /// `/apis`: the other groups.
    Groups,
    /// Versions of a group, such as `/apis/apps`.
    Group(String),
    /// `/api/v1`, `/apis/apps/v1`: resources of a group's version.
    Resources {
        group: String,
        version: String,
    },
    /// `/openapi/v3`.
    OpenApiIndex,
    /// For example `/openapi/v3/apis/apps/v1`.
    OpenApi {
        group: String,
        version: String,
    },
    /// Below a group's version.
    Target(ResourcePath),
}

/// `None` if no such path exists.
pub(crate) fn parse(path: &str) -> Option<Route> {
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    Some(match segments.as_slice() {
        ["livez" | "readyz" | "healthz", ..] => Route::Health,
        ["version"] => Route::Version,
        ["api"] => Route::Core,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["openapi", "v3"] => Route::OpenApiIndex,
        ["openapi", "v3", rest @ ..] => {
            let (group, version, rest) = group_version(rest)?;
            if !rest.is_empty() {
                return None;
            }
            Route::OpenApi { group, version }
        }
        _ => {
            let (group, version, rest) = group_version(&segments)?;
            if rest.is_empty() {
                return Some(Route::Resources { group, version });
            }
            Route::Target(target(group, version, rest)?)
        }
    })
}

fn group_version<'a>(segments: &'a [&'a str]) -> Option<(String, String, &'a [&'a str])> {
    match segments {
        ["api", version, rest @ ..] => Some((String::new(), (*version).to_owned(), rest)),
        ["apis", group, version, rest @ ..] => {
            Some(((*group).to_owned(), (*version).to_owned(), rest))
        }
        _ => None,
    }
}

fn target(group: String, version: String, segments: &[&str]) -> Option<ResourcePath> {
    let own = |text: &&str| decode(text);
    let (namespace, rest) = match segments {
        // A Namespace itself and its parts, not something in it.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, segments),
        ["namespaces", namespace, rest @ ..] => (Some(decode(namespace)?), rest),
        _ => (None, segments),
    };
    let (plural, name, subresource, tail) = match rest {
        [plural] => (plural, None, None, None),
        [plural, name] => (plural, Some(name), None, None),
        [plural, name, "proxy", tail @ ..] => {
            (plural, Some(name), Some(&"proxy"), Some(tail.join("/")))
        }
        [plural, name, subresource] => (plural, Some(name), Some(subresource), None),
        _ => return None,
    };
    Some(ResourcePath {
        group,
        version,
        namespace,
        plural: (*plural).to_owned(),
        name: match name {
            Some(name) => Some(own(name)?),
            None => None,
        },
        subresource: subresource.map(|name| (*name).to_owned()),
        tail,
    })
}

/// Percent encoding, as for `system:basic-user`.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let hex = tail
                .get(..2)
                .and_then(|hex| std::str::from_utf8(hex).ok())?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> ResourcePath {
        match parse(path) {
            Some(Route::Target(target)) => target,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_of_objects_are_taken_apart() {
        for (path, group, namespace, plural, name, part) in [
            ("/api/v1/nodes", "", None, "nodes", None, None),
            ("/api/v1/namespaces", "", None, "namespaces", None, None),
            (
                "/api/v1/namespaces/a",
                "",
                None,
                "namespaces",
                Some("a"),
                None,
            ),
            (
                "/api/v1/namespaces/a/status",
                "",
                None,
                "namespaces",
                Some("a"),
                Some("status"),
            ),
            (
                "/api/v1/namespaces/a/pods/b/binding",
                "",
                Some("a"),
                "pods",
                Some("b"),
                Some("binding"),
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments",
                "apps",
                Some("a"),
                "deployments",
                None,
                None,
            ),
            (
                "/apis/r/v1/clusterroles/system%3Ax",
                "r",
                None,
                "clusterroles",
                Some("system:x"),
                None,
            ),
        ] {
            let target = found(path);
            assert_eq!(target.group, group);
            assert_eq!(target.namespace.as_deref(), namespace, "{path}");
            assert_eq!(target.plural, plural);
            assert_eq!(target.name.as_deref(), name, "{path}");
            assert_eq!(target.subresource.as_deref(), part, "{path}");
        }
    }

    #[test]
    fn what_follows_a_proxy_is_kept() {
        let target = found("/api/v1/namespaces/a/services/web:http/proxy/api/v1/x");
        assert_eq!(target.name.as_deref(), Some("web:http"));
        assert_eq!(target.subresource.as_deref(), Some("proxy"));
        assert_eq!(target.tail.as_deref(), Some("api/v1/x"));
        let bare = found("/api/v1/namespaces/a/pods/p/proxy");
        assert_eq!(bare.tail.as_deref(), Some(""));
    }

    #[test]
    fn the_rest_is_discovery_or_nothing() {
        assert_eq!(parse("/apis"), Some(Route::Groups));
        let resources = Route::Resources {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
        };
        assert_eq!(parse("/apis/apps/v1"), Some(resources));
        for nothing in ["/", "/logs/x", "/api/v1/a/b/c/d/e", "/api/v1/pods/%zz"] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
    }
}
