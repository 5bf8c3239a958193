//! Reads the traces of an installation, kind by kind; a kind that the cluster lacks has none.

use evenkeel_objects::annotations::ONLINE;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::lenient_object::{UnreadableItems, UnreadableObject};
use evenkeel_objects::scaled_kind::{ScaledKind, UnscalableKind};
use evenkeel_scaling::targets::bounds::ObservedBounds;
use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt as _};

use super::inventory::{
    Inventory, InventoryObjectRef, ListFailure, ModifiedObject, UserAnnotations,
};
use super::shallow_object::ShallowObject;
use crate::cluster::paged_list::{Listing, for_each, list};
use crate::cluster::read_outcome::{ReadFailure, ReadOutcome};
use crate::cluster::watch::{LookError, look_in_any_version};
use crate::config::Config;
use crate::uninstall_plan::installation::{InstallationScope, is_own, label_selector};
use crate::uninstall_plan::{BOUNDED, Extent, WRITTEN, installation, traces};

/// The most named annotations of the user for one object. There are about thirty, and a user with
/// write access may make up more.
const MOST_NAMES: usize = 64;
/// The consequence for a kind with objects that exist and cannot be scaled any more.
const UNSCALED: &str =
    ": workloads without replicas and status annotations of its objects are not found";

/// Everything that is left of an installation in `namespace`, which scales these kinds of custom
/// resources.
pub async fn gather(
    client: &Client,
    namespace: &str,
    kinds: &[ScaledKind],
    now: Timestamp,
) -> Inventory {
    let mut found = marks(client, kinds, OnPods::ALL, now).await;
    for (place, kind) in installation::KINDS {
        owned(client, place, kind, namespace, &mut found).await;
    }
    found.objects.sort();
    found
}

/// All traces on the objects of others.
pub async fn marks(
    client: &Client,
    kinds: &[ScaledKind],
    on_pods: OnPods,
    now: Timestamp,
) -> Inventory {
    let mut found = Inventory::default();
    let look = InventoryQuery {
        extent: Extent::All,
        now,
    };
    for scaled in kinds {
        match look_in_any_version(client, scaled).await {
            Ok(Some(kind)) => {
                let kind = Kind::Custom(kind.into_kind());
                marked(client, kind, look, &mut found).await;
            }
            // There are no objects of it, or none that was ever written on.
            Ok(None) | Err(LookError::Unscalable(UnscalableKind::OfTheCluster)) => {}
            Err(error) => {
                let why = match error {
                    LookError::Unscalable(why) => format!("{why}{UNSCALED}"),
                    LookError::Unanswered(error) => error.to_string(),
                };
                let failed = ReadFailure::Failed(why);
                found
                    .unseen
                    .push(ListFailure::new(scaled.to_string(), &failed));
            }
        }
    }
    let is_written = |kind: &Kind| *kind != Kind::Pod || on_pods.leaves_anything();
    for kind in WRITTEN.into_iter().filter(is_written) {
        marked(client, kind, look, &mut found).await;
    }
    found
}

/// The abandoned objects in the cluster behind `client`. Bounds count if their holder has been gone
/// for so long that its writer is gone too. Without a leader, so do nodes with score labels after ten
/// minutes, and, after an hour, tainted nodes, and, where configured, Pods with deletion costs or other resources. Where Pods are taken out of
/// traffic, so do Pods with a gate that no replica opens.
pub async fn lapsed(client: &Client, extent: Extent, on_pods: OnPods, now: Timestamp) -> Inventory {
    let mut found = Inventory::default();
    let look = InventoryQuery { extent, now };
    for kind in BOUNDED {
        marked(client, kind, look, &mut found).await;
    }
    let is_abandoned = extent == Extent::Abandoned;
    if is_abandoned || extent == Extent::Leaderless {
        marked(client, Kind::Node, look, &mut found).await;
    }
    if on_pods.states || (is_abandoned && on_pods.leaves_anything()) {
        marked(client, Kind::Pod, look, &mut found).await;
    }
    found.marks.retain(|mark| mark.is_due);
    found
}

/// The writes of an installation on Pods, as far as its configuration shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnPods {
    /// Costs of deletion.
    pub costs: bool,
    /// States, for ReplicaProfiles, and the resources of Pods that stand by.
    pub states: bool,
    pub resources: bool,
}

impl OnPods {
    pub const ALL: Self = Self {
        costs: true,
        states: true,
        resources: true,
    };

    pub const fn of(config: &Config) -> Self {
        Self {
            costs: config.cluster.balances_scale_in,
            states: config.scaling.follows_profiles,
            resources: config.tuning.resizes,
        }
    }

    const fn leaves_anything(self) -> bool {
        let Self {
            costs,
            states,
            resources,
        } = self;
        costs || states || resources
    }
}

/// The extent and the time of a search.
#[derive(Clone, Copy)]
struct InventoryQuery {
    extent: Extent,
    now: Timestamp,
}

/// The right to list a kind as `kubectl auth can-i` takes it.
fn right(kind: Kind, place: &str) -> String {
    format!("list {} {place}", kind.qualified())
}

/// Finds the writes on the objects of one kind. Only the writes are kept of each object, because
/// ten thousand autoscalers are hundreds of megabytes. Deep nesting hides none.
async fn marked(client: &Client, kind: Kind, look: InventoryQuery, found: &mut Inventory) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.api_resource());
    // Only bounds and taints (in specs) and readiness gates (in spec and status) need the whole
    // object.
    let is_whole = kind.bounds_fields().is_some() || matches!(kind, Kind::Node | Kind::Pod);
    let listing = if is_whole {
        Listing::of(&api, ListParams::default())
    } else {
        Listing::of_metadata(&api, ListParams::default())
    };
    let mut noted = Inventory::default();
    let mut unreadable = UnreadableItems::default();
    let read = for_each(listing, |object| {
        if let Some(object) = unreadable.readable(object) {
            note(kind, &object, look, &mut noted);
        }
    });
    let read = read.await;
    found.unseen.extend(left_out(kind, unreadable));
    found.marks.append(&mut noted.marks);
    found.yours.append(&mut noted.yours);
    match ReadOutcome::of(read, || right(kind, "--all-namespaces")) {
        ReadOutcome::There(()) | ReadOutcome::Absent => {}
        ReadOutcome::Unseen(unseen) => found
            .unseen
            .push(ListFailure::new(kind.plural().to_owned(), &unseen)),
    }
}

fn left_out(kind: Kind, unreadable: UnreadableItems) -> Option<ListFailure> {
    let UnreadableItems { count, first } = unreadable;
    let UnreadableObject { metadata, error } = first?;
    let namespace = metadata.namespace.unwrap_or_default();
    let name = metadata.name.unwrap_or_default();
    let plural = kind.plural();
    let what = format!("{count} of {plural}, such as {namespace}/{name}");
    Some(ListFailure::new(what, &ReadFailure::Failed(error)))
}

fn note(kind: Kind, of: &ShallowObject, look: InventoryQuery, found: &mut Inventory) {
    let InventoryQuery { extent, now } = look;
    let traces = traces(kind, &of.0, now);
    let object = InventoryObjectRef {
        kind: kind.as_str().to_owned(),
        namespace: of.namespace().map(str::to_owned),
        name: of.name().to_owned(),
    };
    // The clean-up does not tell of them.
    if extent == Extent::All && !traces.own.is_empty() {
        found.yours.push(UserAnnotations {
            object: object.clone(),
            annotations: traces.own.iter().take(MOST_NAMES).cloned().collect(),
        });
    }
    if traces.is_clean() {
        return;
    }
    let is_due = traces.are_due(extent, now);
    let (bounds, damaged) = match traces.bounds {
        Some(Ok(bounds)) => (Some(bounds), None),
        Some(Err(refused)) => (None, Some(refused.error)),
        None => (None, None),
    };
    found.marks.push(ModifiedObject {
        object,
        kind,
        user_bounds: bounds.as_ref().map(ObservedBounds::user),
        bounds_now: bounds.as_ref().map(ObservedBounds::found),
        damaged,
        is_due,
        annotations: traces.annotations,
        label: traces.label,
        shut_gate: traces.shut.map(|_| ONLINE),
        taints: traces.taints,
        score_labels: traces.score_labels,
        outcome: None,
    });
}

/// Looks for the installation's own objects of one kind.
async fn owned(
    client: &Client,
    place: InstallationScope,
    kind: Kind,
    own: &str,
    found: &mut Inventory,
) {
    let resource = kind.api_resource();
    let (api, flag): (Api<DynamicObject>, String) = match place.namespace(own) {
        None => (Api::all_with(client.clone(), &resource), String::new()),
        Some(namespace) => (
            Api::namespaced_with(client.clone(), namespace, &resource),
            format!("-n {namespace}"),
        ),
    };
    let params = ListParams {
        label_selector: label_selector(kind).map(str::to_owned),
        ..ListParams::default()
    };
    let listed = list::<DynamicObject>(&api, params).await;
    match ReadOutcome::of(listed, || right(kind, &flag)) {
        ReadOutcome::There((objects, unreadable)) => {
            found.unseen.extend(left_out(kind, unreadable));
            let is_own =
                |object: &DynamicObject| is_own(kind, &object.metadata, &object.data["spec"], own);
            let own = objects.into_iter().filter(is_own);
            found.objects.extend(own.map(|object| InventoryObjectRef {
                kind: kind.as_str().to_owned(),
                namespace: object.namespace(),
                name: object.name_any(),
            }));
        }
        ReadOutcome::Absent => {}
        ReadOutcome::Unseen(unseen) => found.unseen.push(ListFailure::new(
            format!("{} {flag}", kind.plural()).trim().to_owned(),
            &unseen,
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};

    use super::*;

    /// The harm: one object of one tenant kept all other floors where they were, and the uninstall
    /// from its end.
    #[tokio::test]
    async fn an_object_that_nests_deep_is_found_with_all_others() {
        let deep = format!("{}1{}", r#"{"f:a":"#.repeat(500), "}".repeat(500));
        let list = format!(
            r#"{{"kind": "List", "apiVersion": "autoscaling/v2", "metadata": {{}}, "items": [
                {{"metadata": {{"name": "deep", "namespace": "shop", "managedFields": [{{"fieldsV1": {deep}}}],
                    "annotations": {{"evenkeel.dev/scaling-status": "{{}}"}}}}}},
                {{"metadata": {{"name": "web", "namespace": "shop", "annotations": {{
                    "evenkeel.dev/scaling-status": "{{}}"}}}}}}]}}"#
        );
        let service = tower::service_fn(move |_: Request<kube::client::Body>| {
            let list = list.clone();
            async move { Ok::<_, Infallible>(Response::new(Body::from(list))) }
        });
        let client = Client::new(service, "default");
        let look = InventoryQuery {
            extent: Extent::All,
            now: Timestamp::UNIX_EPOCH,
        };
        let mut found = Inventory::default();
        marked(&client, Kind::HorizontalPodAutoscaler, look, &mut found).await;
        let marks = found.marks.iter().map(|mark| mark.object.name.as_str());
        assert_eq!(marks.collect::<Vec<_>>(), ["deep", "web"]);
        assert!(found.unseen.is_empty(), "{:?}", found.unseen);
    }
}
