//! Which lists are merged by a key, and by which: the lists of objects and the lists of words that
//! the built-in kinds mark so. All others are replaced as a whole.

/// How the lists of a name are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// Items are the same when these fields are; the first is the strategic merge key.
    Keyed(&'static [&'static str]),
    /// Words, each at most once.
    Set,
    Atomic,
}

/// The list under `field` in an object that stands under `parent`.
pub(super) fn of(parent: &str, field: &str) -> ListKind {
    match (parent, field) {
        (
            _,
            "containers"
            | "initContainers"
            | "ephemeralContainers"
            | "volumes"
            | "env"
            | "schedulingGates"
            | "imagePullSecrets"
            | "resourceClaims"
            | "secrets"
            | "webhooks",
        ) => ListKind::Keyed(&["name"]),
        ("containers" | "initContainers" | "ephemeralContainers", "ports") => {
            ListKind::Keyed(&["containerPort", "protocol"])
        }
        ("spec", "ports") => ListKind::Keyed(&["port", "protocol"]),
        (_, "volumeMounts") => ListKind::Keyed(&["mountPath"]),
        (_, "volumeDevices") => ListKind::Keyed(&["devicePath"]),
        (_, "hostAliases" | "podIPs" | "hostIPs") => ListKind::Keyed(&["ip"]),
        (_, "topologySpreadConstraints") => ListKind::Keyed(&["topologyKey", "whenUnsatisfiable"]),
        ("status", "conditions" | "addresses") => ListKind::Keyed(&["type"]),
        ("metadata", "ownerReferences") => ListKind::Keyed(&["uid"]),
        ("metadata", "finalizers") | ("spec", "finalizers" | "podCIDRs") => ListKind::Set,
        _ => ListKind::Atomic,
    }
}
