//! The APIServices of the groups that Evenkeel may serve: one per group and cluster, so another
//! server may hold it, and one that leads nowhere disturbs requests for all APIs.

use evenkeel_certificates::api_service;
use evenkeel_certificates::api_service::Holder;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;

use super::evidence::{CheckFindings, Evidence};
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;
use evenkeel_service::cluster::read_outcome::ReadOutcome;

struct ExpectedApiGroup<'a> {
    /// The check, which is the component that has the group served, too.
    id: &'static str,
    served: &'static str,
    name: &'static str,
    is_served: bool,
    seen: &'a ReadOutcome<APIService>,
    /// The behaviour of its clients while it is not available.
    harm: &'static str,
}

pub(super) const EXTERNAL: &str = "external-metrics";
pub(super) const PROVIDER: &str = "metrics-provider";

pub(super) fn external_metrics(evidence: &Evidence<'_>) -> CheckFindings {
    let group = ExpectedApiGroup {
        id: EXTERNAL,
        served: "external metrics",
        name: api_service::EXTERNAL_METRICS,
        is_served: evidence.serves_external_metrics(),
        seen: &evidence.seen.api_service,
        harm: "HPAs that scale by them stay as they are",
    };
    Ok(vec![finding(&group, evidence)?])
}

pub(super) fn metrics_provider(evidence: &Evidence<'_>) -> CheckFindings {
    let group = ExpectedApiGroup {
        id: PROVIDER,
        served: "series",
        name: api_service::METRICS_PROVIDER,
        is_served: evidence.serves_series(),
        seen: &evidence.seen.provider_api_service,
        harm: "the API server passes on no series",
    };
    Ok(vec![finding(&group, evidence)?])
}

fn finding(
    group: &ExpectedApiGroup<'_>,
    evidence: &Evidence<'_>,
) -> Result<DoctorFinding, DoctorFinding> {
    let ExpectedApiGroup {
        id,
        served,
        name,
        is_served,
        seen,
        harm,
    } = *group;
    let found = seen.look(id, &format!("the APIService of {served}"))?;
    let holder = found.map(|found| api_service::holder(found, &evidence.seen.namespace));
    Ok(match (is_served, found, holder) {
        (false, Some(_), Some(Holder::Own)) => DoctorFinding::error(
            id,
            format!(
                "APIService {name} points to Evenkeel, which does not serve it: API discovery and \
                 the deletion of namespaces partly fail"
            ),
            format!("kubectl delete apiservice {name}, or install the component {id}"),
        ),
        (false, ..) => {
            DoctorFinding::ok(id, format!("Evenkeel is not configured to serve {served}"))
        }
        (true, None, _) | (true, Some(_), None) => DoctorFinding::warning(
            id,
            format!("Evenkeel serves {served}, but there is no APIService {name}"),
            format!(
                "kubectl create -k deploy/api-service/{id} (with cert-manager, {id}-cert-manager)"
            ),
        ),
        (true, Some(_), Some(Holder::Other(other))) => DoctorFinding::error(
            id,
            format!("APIService {name} points to {other}: replicas of Evenkeel refuse to start"),
            format!(
                "install without the component {id}, or kubectl delete apiservice {name} once that \
                 server is no longer needed"
            ),
        ),
        (true, Some(found), Some(Holder::Own)) => match api_service::unavailable(found) {
            None => DoctorFinding::ok(id, format!("{served} are served and available")),
            Some(why) => DoctorFinding::error(
                id,
                format!("APIService {name} is not available, and {harm}"),
                format!(
                    "kubectl describe apiservice {name}; if the certificate is not trusted, {}; if \
                     callers are not known, {}",
                    evidence.kubectl("logs deployment/evenkeel-signer"),
                    evidence.kubectl("logs deployment/evenkeel")
                ),
            )
            .seen_by(why),
        },
    })
}
