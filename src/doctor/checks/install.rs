//! The installation: versions, configuration, and the replicas of the Deployment.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;

use super::evidence::{CheckFindings, Evidence, replicas};
use super::external_instance;
use super::finding_text::{count, named};
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;
use evenkeel_service::cluster::read_outcome::ReadOutcome;
use evenkeel_service::cluster::registration;

/// The oldest and the newest minor version of Kubernetes 1 that Evenkeel is built for.
const OLDEST_MINOR: u32 = 33;
const NEWEST_MINOR: u32 = 37;

pub(super) const NAMESPACE: &str = "namespace";
pub(super) const SERVER: &str = "server-version";
pub(super) const PROGRAM: &str = "program-version";
pub(super) const CONFIGURATION: &str = "configuration";
pub(super) const DEPLOYMENT: &str = "deployment";
pub(super) const SPREAD: &str = "replica-spread";

/// The finding that the requested namespace is empty while the webhook leads to another: all other
/// checks would repeat it.
pub(super) fn elsewhere(evidence: &Evidence<'_>) -> Option<DoctorFinding> {
    let seen = evidence.seen;
    let asked = &seen.namespace;
    let nothing = seen.deployment == ReadOutcome::Absent
        && seen.configuration == ReadOutcome::Absent
        && seen.lease == ReadOutcome::Absent;
    let named = seen.webhooks.there()?.iter();
    let mut named =
        named.filter(|one| one.metadata.name.as_deref() == Some(registration::CONFIGURATION));
    let registered = named.find_map(registration::namespace)?;
    (nothing && registered != asked).then(|| {
        DoctorFinding::error(
            NAMESPACE,
            format!(
                "Evenkeel is not in namespace {asked}; its webhook configuration names namespace \
                 {registered}"
            ),
            format!("evenkeel doctor -n {registered}"),
        )
    })
}

/// Nothing, where Evenkeel is there: [`elsewhere`] comes before all checks.
#[allow(clippy::unnecessary_wraps)] // all checks have one form
pub(super) fn namespace(evidence: &Evidence<'_>) -> CheckFindings {
    Ok(elsewhere(evidence).into_iter().collect())
}

pub(super) fn server_version(evidence: &Evidence<'_>) -> CheckFindings {
    let Some(version) = evidence
        .seen
        .server
        .look(SERVER, "the API server's version")?
    else {
        let what = "the API server does not report its version";
        return Ok(vec![DoctorFinding::info(SERVER, what, "kubectl version")]);
    };
    Ok(vec![match minor(version) {
        Some(minor) if minor < OLDEST_MINOR => DoctorFinding::error(
            SERVER,
            format!("the API server is Kubernetes {version}"),
            format!("upgrade the control plane to 1.{OLDEST_MINOR} or newer"),
        ),
        Some(minor) if minor > NEWEST_MINOR => DoctorFinding::warning(
            SERVER,
            format!(
                "the API server is Kubernetes {version}; this Evenkeel is tested with 1.{OLDEST_MINOR} to \
                 1.{NEWEST_MINOR}"
            ),
            "use a newer Evenkeel",
        ),
        _ => DoctorFinding::ok(SERVER, format!("the API server is Kubernetes {version}")),
    }])
}

/// The minor version in a `gitVersion` such as `v1.33.4-eks-1`.
fn minor(version: &str) -> Option<u32> {
    let rest = version
        .strip_prefix('v')
        .unwrap_or(version)
        .strip_prefix("1.")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

pub(super) fn program_version(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(PROGRAM, "the version that runs")?;
    let running: BTreeSet<&str> = pages
        .iter()
        .flat_map(|(_, page)| page.by_label("evenkeel_build_info", "version"))
        .map(|(version, _)| version)
        .collect();
    let shown = named(&running.iter().collect::<Vec<_>>());
    let program = &*evidence.seen.program;
    Ok(vec![if running.len() > 1 {
        let what = format!("the replicas run different versions: {shown}");
        let fix = evidence.kubectl("rollout status deployment/evenkeel");
        DoctorFinding::warning(PROGRAM, what, fix)
    } else if running.contains(program) {
        DoctorFinding::ok(
            PROGRAM,
            format!("the replicas and this program are {program}"),
        )
    } else {
        let image = format!("evenkeel=ghcr.io/evenkeel/evenkeel:{program}");
        DoctorFinding::warning(
            PROGRAM,
            format!("the replicas run {shown}, this program is {program}"),
            format!(
                "use the program of that version, or {}",
                evidence.kubectl(&format!("set image deployment/evenkeel {image}"))
            ),
        )
    }])
}

pub(super) fn configuration(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = &evidence.seen.configuration;
    let map = seen.look(CONFIGURATION, "the configuration")?;
    let edit = evidence.kubectl("edit configmap evenkeel");
    Ok(vec![match (map, &evidence.configured) {
        (None, _) => DoctorFinding::error(
            CONFIGURATION,
            "there is no ConfigMap evenkeel: the replicas cannot start without it",
            "evenkeel install [your options] | kubectl apply -f -",
        ),
        (Some(_), None) => DoctorFinding::error(
            CONFIGURATION,
            "the ConfigMap evenkeel has no config.yaml",
            format!("{edit}, or evenkeel install [your options] | kubectl apply -f -"),
        ),
        (Some(_), Some(Err(error))) => DoctorFinding::error(
            CONFIGURATION,
            "the configuration is refused: running replicas keep the previous one, and none can restart",
            format!("{edit}; `evenkeel serve --check --config FILE` checks a file"),
        )
        .seen_by(error.to_string()),
        (Some(_), Some(Ok(config))) => match refusing(evidence).as_slice() {
            [] if !config.idle_options.is_empty() => {
                let options = config.idle_options.iter().map(|option| &*option.path);
                let options: Vec<&str> = options.collect();
                let lines = config.idle_options.iter().map(ToString::to_string);
                DoctorFinding::warning(
                    CONFIGURATION,
                    format!(
                        "options have no effect, because a variable of the Deployment turns their component \
                         off: {}",
                        named(&options)
                    ),
                    format!("{edit} and remove them, or remove the variable"),
                )
                .seen_by(lines.collect::<Vec<_>>().join("\n"))
            }
            [] => DoctorFinding::ok(CONFIGURATION, "the configuration is accepted"),
            replicas => DoctorFinding::warning(
                CONFIGURATION,
                format!(
                    "{} use an older configuration, because they refuse the current file",
                    named(replicas)
                ),
                format!(
                    "{}, which names the field; correct it, then restart the replicas",
                    evidence.kubectl(
                        "logs -l app.kubernetes.io/name=evenkeel --tail=200 | grep refused"
                    )
                ),
            ),
        },
    }])
}

/// The replicas that say that they refuse their file.
fn refusing<'a>(evidence: &Evidence<'a>) -> Vec<&'a str> {
    let pages = evidence.pages.iter();
    let refuse = pages.filter(|(_, page)| {
        let refused = page.sum("evenkeel_configuration_refused", &[]);
        refused.is_some_and(|refused| refused > 0.0)
    });
    refuse.map(|(replica, _)| *replica).collect()
}

pub(super) fn deployment(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = &evidence.seen.deployment;
    let Some(deployment) = seen.look(DEPLOYMENT, "the Deployment")? else {
        if let Some(address) = external_instance::address(evidence) {
            return Ok(vec![DoctorFinding::info(
                DEPLOYMENT,
                format!(
                    "there is no Deployment: the endpoints of its Service point to {address}, \
                     which is no Pod of the cluster"
                ),
                "nothing to do if that is intended, for example with `evenkeel dev`; otherwise \
                 evenkeel install [your options] | kubectl apply -f -",
            )]);
        }
        return Ok(vec![DoctorFinding::error(
            DEPLOYMENT,
            format!(
                "there is no Deployment evenkeel in {}",
                evidence.seen.namespace
            ),
            "evenkeel install [your options] | kubectl apply -f - (or name its namespace by --namespace)",
        )]);
    };
    let spec = deployment.spec.as_ref();
    let wanted = spec.and_then(|spec| spec.replicas).unwrap_or(1);
    let status = deployment.status.as_ref();
    let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let what = format!("{ready} of {wanted} replicas are ready");
    let look = evidence.kubectl("describe pods -l app.kubernetes.io/name=evenkeel");
    let shown = evidence
        .seen
        .replicas
        .there()
        .map_or_else(String::new, |all| {
            let troubles: Vec<String> = all.iter().filter_map(|one| trouble(&one.pod)).collect();
            troubles.join("; ")
        });
    Ok(vec![match (ready, wanted) {
        (_, ..=0) => DoctorFinding::error(
            DEPLOYMENT,
            "the Deployment is scaled to zero replicas",
            evidence.kubectl("scale deployment/evenkeel --replicas=2"),
        ),
        (..=0, _) => DoctorFinding::error(DEPLOYMENT, what, look).seen_by(shown),
        (ready, wanted) if ready < wanted => {
            DoctorFinding::warning(DEPLOYMENT, what, look).seen_by(shown)
        }
        (_, 1) => DoctorFinding::info(
            DEPLOYMENT,
            "the only replica is ready; while it is replaced, calls are not answered",
            evidence.kubectl("scale deployment/evenkeel --replicas=2"),
        ),
        _ => DoctorFinding::ok(DEPLOYMENT, what),
    }])
}

/// Reason why a Pod is not ready, in a few words.
fn trouble(pod: &Pod) -> Option<String> {
    let name = pod.metadata.name.as_deref()?;
    let status = pod.status.as_ref()?;
    let containers = status.container_statuses.as_ref();
    let waiting = containers.into_iter().flatten().find_map(|container| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        Some(waiting.reason.clone().unwrap_or_default())
    });
    let conditions = status.conditions.as_ref();
    let unready = conditions.into_iter().flatten().find_map(|condition| {
        let about = ["PodScheduled", "Ready"].contains(&&*condition.type_);
        (about && condition.status != "True").then(|| {
            condition
                .message
                .clone()
                .or_else(|| condition.reason.clone())
        })
    });
    let why = waiting.or_else(|| unready.map(Option::unwrap_or_default))?;
    Some(format!("{name}: {why}"))
}

pub(super) fn spread(evidence: &Evidence<'_>) -> CheckFindings {
    if external_instance::address(evidence).is_some() {
        return Ok(Vec::new());
    }
    evidence
        .seen
        .replicas
        .look(SPREAD, "where the replicas run")?;
    let placed: Vec<(&str, &str)> = replicas(evidence.seen)
        .iter()
        .filter_map(|replica| {
            let node = replica.pod.spec.as_ref()?.node_name.as_deref()?;
            Some((node, replica.pod.metadata.name.as_deref()?))
        })
        .collect();
    let nodes: BTreeSet<&str> = placed.iter().map(|(node, _)| *node).collect();
    let cluster = evidence.seen.nodes.there().map_or(0, Vec::len);
    Ok(vec![match *placed.as_slice() {
        [.., (node, pod)] if placed.len() > 1 && nodes.len() == 1 && cluster != 1 => {
            let delete = evidence.kubectl(&format!("delete pod {pod}"));
            DoctorFinding::warning(
                SPREAD,
                format!("{} run on one node, {node}", count(placed.len(), "replica")),
                format!(
                    "once another node has room: {delete}; nodes without a topologyKey of the \
                     Deployment's topologySpreadConstraints do not count for them"
                ),
            )
        }
        _ => DoctorFinding::ok(
            SPREAD,
            format!(
                "{} on {}",
                count(placed.len(), "replica"),
                count(nodes.len(), "node")
            ),
        ),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_versions_are_read_as_vendors_write_them() {
        for (version, expected) in [
            ("v1.33.0", Some(33)),
            ("v1.36.2-eks-abc", Some(36)),
            ("v1.33+", Some(33)),
            ("1.32.1", Some(32)),
            ("v2.0.0", None),
            ("", None),
        ] {
            assert_eq!(minor(version), expected, "{version}");
        }
    }
}
