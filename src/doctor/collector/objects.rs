//! Lists the objects that may carry annotations of Evenkeel's, and those of its own kinds.

use evenkeel_objects::annotated_object::AnnotatedObject;
use evenkeel_objects::annotations::PREFIX;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::RelevantAnnotations;
use futures::future::join_all;

use super::api_reader::ClusterReader;
use crate::doctor::observation::ObjectsOfKind;
use evenkeel_service::cluster::read_outcome::ReadOutcome;

/// The kinds of objects that users annotate, or annotate the Pods of, and Evenkeel's own.
const KINDS: [Kind; 12] = [
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::ReplicaSet,
    Kind::CronJob,
    Kind::Job,
    Kind::HorizontalPodAutoscaler,
    Kind::ScaledObject,
    Kind::CronHpa,
    Kind::Ihpa,
    Kind::HorizontalPortrait,
    Kind::ReplicaProfile,
];

/// The kinds of which a controller makes objects that carry copies of what stands on their owner.
const COPIES: [Kind; 5] = [
    Kind::ReplicaSet,
    Kind::Job,
    Kind::HorizontalPodAutoscaler,
    Kind::HorizontalPortrait,
    Kind::ReplicaProfile,
];

/// The objects of all kinds, with `custom` ones; kinds that the cluster lacks are left out.
pub(super) async fn list(reader: &ClusterReader<'_>, custom: &[Kind]) -> Vec<ObjectsOfKind> {
    let kinds = KINDS.iter().chain(custom).copied();
    let read = join_all(kinds.map(|kind| of_kind(reader, kind))).await;
    let served = read
        .into_iter()
        .filter(|of| of.objects != ReadOutcome::Absent);
    served.collect()
}

async fn of_kind(reader: &ClusterReader<'_>, kind: Kind) -> ObjectsOfKind {
    let is_own = kind.group() == Kind::CronHpa.group();
    let is_kept = |object: &AnnotatedObject| {
        !(COPIES.contains(&kind) && object.is_made_by_controller())
            && (is_own
                || is_annotated(&object.metadata.annotations)
                || object.template().is_some_and(is_annotated))
    };
    ObjectsOfKind {
        api_version: kind.api_version(),
        kind: kind.as_str().to_owned(),
        objects: reader.objects(kind, is_kept).await,
    }
}

fn is_annotated(annotations: &RelevantAnnotations) -> bool {
    annotations.keys().any(|key| key.starts_with(PREFIX))
}
