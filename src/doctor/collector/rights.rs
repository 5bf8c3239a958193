//! Asks the authorizer about each needed right, in the name of its ServiceAccount.

use evenkeel_objects::request_header;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;

use super::api_reader::ClusterReader;
use crate::doctor::collector::kinds::ConfiguredKind;
use crate::doctor::observation::Right;
use evenkeel_service::cluster::access::{Need, RbacRule, Scope, access, scaling};
use evenkeel_service::cluster::read_outcome::ReadOutcome;

/// Questions that are under way at a time.
const AT_ONCE: usize = 8;

/// Every right with the answer, those for custom resources included.
pub(super) async fn review(
    reader: &ClusterReader<'_>,
    kinds: &[ConfiguredKind],
) -> ReadOutcome<Vec<Right>> {
    let served = kinds.iter().filter_map(|kind| kind.served.as_ref());
    let custom = served.flat_map(|served| {
        let definition = [&*served.definition];
        let all = scaling(served.kind, &definition).map(|access| rights(access, reader.namespace));
        all.into_iter().flatten().collect::<Vec<_>>()
    });
    let always = access().into_iter();
    let rights = always
        .flat_map(|access| rights(access, reader.namespace))
        .chain(custom);
    let answers = stream::iter(rights)
        .map(|right| ask(reader, right))
        .buffered(AT_ONCE)
        .try_collect()
        .await;
    ReadOutcome::of(answers, || {
        "create subjectaccessreviews.authorization.k8s.io".to_owned()
    })
}

/// A right for each verb and each object that `access` names, not yet asked for.
fn rights<'a>(access: RbacRule<'a>, own: &str) -> impl Iterator<Item = Right> + use<'a> {
    let namespace = match access.scope {
        Scope::Cluster => None,
        Scope::OwnNamespace => Some(own.to_owned()),
        Scope::KubeSystem => Some(request_header::NAMESPACE.to_owned()),
    };
    let names: Vec<Option<&'a str>> = if access.names.is_empty() {
        vec![None]
    } else {
        access.names.iter().copied().map(Some).collect()
    };
    names.into_iter().flat_map(move |name| {
        let namespace = namespace.clone();
        access.verbs.iter().map(move |verb| Right {
            account: access.identity.as_str().to_owned(),
            group: access.kind.group().to_owned(),
            resource: access.resource(),
            verb: (*verb).to_owned(),
            name: name.map(str::to_owned),
            namespace: namespace.clone(),
            for_certificates: access.need == Need::SelfManagedCertificates,
            for_second_scheduler: access.need == Need::SecondScheduler,
            for_scale_in_balance: access.need == Need::ScaleInBalance,
            for_replica_profiles: access.need == Need::ReplicaProfiles,
            for_in_place_tuning: access.need == Need::InPlaceTuning,
            for_external_metrics: access.need == Need::ExternalMetrics,
            for_metrics_provider: access.need == Need::MetricsProvider,
            for_custom_kinds: access.need == Need::CustomKinds,
            for_external_algorithms: access.need == Need::ExternalAlgorithms,
            for_external_checks: access.need == Need::ExternalChecks,
            allowed: false,
        })
    })
}

async fn ask(reader: &ClusterReader<'_>, right: Right) -> kube::Result<Right> {
    let (own, account) = (reader.namespace, &right.account);
    let (resource, part) = match right.resource.split_once('/') {
        Some((resource, part)) => (resource, Some(part.to_owned())),
        None => (right.resource.as_str(), None),
    };
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{own}:{account}")),
            groups: Some(vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{own}"),
                "system:authenticated".to_owned(),
            ]),
            resource_attributes: Some(ResourceAttributes {
                group: Some(right.group.clone()),
                resource: Some(resource.to_owned()),
                subresource: part,
                verb: Some(right.verb.clone()),
                name: right.name.clone(),
                namespace: right.namespace.clone(),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(reader.client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(Right {
        allowed: answer.status.is_some_and(|status| status.allowed),
        ..right
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_on_every_object_is_asked_for() {
        let all: Vec<Right> = access()
            .into_iter()
            .flat_map(|one| rights(one, "keel"))
            .collect();
        let expected: usize = access()
            .iter()
            .map(|access| access.verbs.len() * access.names.len().max(1))
            .sum();
        assert_eq!(all.len(), expected);
        let service = |right: &&Right| right.resource == "services" && !right.for_external_checks;
        let services: Vec<_> = all.iter().filter(service).collect();
        assert_eq!(services.len(), 2);
        assert!(
            services.iter().all(|right| {
                right.for_certificates && right.namespace.as_deref() == Some("keel")
            })
        );
    }
}
