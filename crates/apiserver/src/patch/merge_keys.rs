//! Which lists of built-in kinds are merged by key, or as sets of words. All others are replaced as
//! a whole.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// Items with equal fields are the same; the first is the strategic merge key.
    Keyed(&'static [&'static str]),
    /// Words, each at most once.
    Set,
    Atomic,
}

/// Kind of the list `field` in an object under `parent`.
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

/// The field of a value, and the field around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    parent: &'a str,
    field: &'a str,
    builtin: bool,
}

impl<'a> Position<'a> {
    /// Position of the value `field` in an object under `parent`.
    pub(super) const fn new(parent: &'a str, field: &'a str, builtin: bool) -> Self {
        Self {
            parent,
            field,
            builtin,
        }
    }

    pub(super) const fn child(self, field: &'a str) -> Self {
        Self::new(self.field, field, self.builtin)
    }

    /// For custom resources only metadata has keyed lists.
    pub(super) fn list_kind(self) -> ListKind {
        if self.builtin || self.parent == "metadata" {
            of(self.parent, self.field)
        } else {
            ListKind::Atomic
        }
    }
}
