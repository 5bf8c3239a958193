//! Which lists are merged by a key, and by which: the lists of objects and the lists of words that
//! the built-in kinds mark so. All others are replaced as a whole.

/// The way in which a list is merged.
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

/// The place of a value in an object: the field that holds it and the field that holds that.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    parent: &'a str,
    field: &'a str,
    builtin: bool,
}

impl<'a> Position<'a> {
    /// The value under `field` in an object that stands under `parent`.
    pub(super) const fn new(parent: &'a str, field: &'a str, builtin: bool) -> Self {
        Self {
            parent,
            field,
            builtin,
        }
    }

    /// The value under `field` in the object at this position.
    pub(super) const fn child(self, field: &'a str) -> Self {
        Self::new(self.field, field, self.builtin)
    }

    /// The way in which a list at this position is merged; of custom resources only metadata has
    /// keys here.
    pub(super) fn list_kind(self) -> ListKind {
        if self.builtin || self.parent == "metadata" {
            of(self.parent, self.field)
        } else {
            ListKind::Atomic
        }
    }
}
