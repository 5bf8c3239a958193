//! The APIService of external metrics: one for the cluster, so that another may hold it, and one that
//! leads nowhere hampers whatever asks for all APIs.

use super::evidence::{Evidence, Found};
use crate::doctor::Finding;
use evenkeel_kubernetes::api_service::{self, Holder, NAME};

const EXTERNAL_METRICS: &str = "external-metrics";

pub(super) fn check(evidence: &Evidence<'_>) -> Found {
    let subject = "the APIService of external metrics";
    let found = evidence.seen.api_service.look(EXTERNAL_METRICS, subject)?;
    let holder = found.map(|found| api_service::holder(found, &evidence.seen.namespace));
    let finding = match (evidence.serves_external_metrics(), found, holder) {
        (false, Some(_), Some(Holder::Own)) => Finding::error(
            EXTERNAL_METRICS,
            format!(
                "APIService {NAME} leads to Evenkeel, which does not serve it: discovery and the \
                 deletion of namespaces suffer"
            ),
            format!("kubectl delete apiservice {NAME}, or install the component external-metrics"),
        ),
        (false, ..) => Finding::ok(
            EXTERNAL_METRICS,
            "external metrics are not Evenkeel's to serve",
        ),
        (true, None, _) | (true, Some(_), None) => Finding::warning(
            EXTERNAL_METRICS,
            format!("external metrics are served, and no APIService {NAME} leads to them"),
            "kubectl create -k deploy/api-service/external-metrics (with cert-manager, \
             external-metrics-cert-manager)",
        ),
        (true, Some(_), Some(Holder::Other(other))) => Finding::error(
            EXTERNAL_METRICS,
            format!("APIService {NAME} leads to {other}: replicas of Evenkeel refuse to start"),
            format!(
                "install without the component external-metrics, or kubectl delete apiservice {NAME} \
                 once no HPA needs that server"
            ),
        ),
        (true, Some(found), Some(Holder::Own)) => match api_service::unavailable(found) {
            None => Finding::ok(
                EXTERNAL_METRICS,
                "external metrics are served and available",
            ),
            Some(why) => Finding::error(
                EXTERNAL_METRICS,
                format!("APIService {NAME} is not available, and its HPAs stay as they are"),
                format!(
                    "kubectl describe apiservice {NAME}; where the certificate is not trusted, {}; \
                     where callers are not known, {}",
                    evidence.kubectl("logs deployment/evenkeel-signer"),
                    evidence.kubectl("logs deployment/evenkeel")
                ),
            )
            .seen_by(why),
        },
    };
    Ok(vec![finding])
}
