//! kube-scheduler: it must know, reach and call the extender. It has no metric of its extenders, so
//! the replicas' metrics show the last call.

use crate::doctor::observation::Look as _;
use k8s_openapi::api::core::v1::Pod;

use super::certificate;
use super::command_line::flag;
use super::evidence::{CheckFindings, Evidence, replicas};
use super::finding_text::{about, count, named};
use crate::doctor::DoctorFinding;
use evenkeel_service::server::paths;

/// With unbound or placed Pods and no call for this long, the extender is no longer called. A Pod
/// may wait as long for its volumes between call and binding.
const SILENCE: f64 = 600.0;

/// The same if something is known to keep callers away: clocks differ, and times are in whole
/// seconds.
const MARGIN: f64 = 60.0;

/// The scheduler of Pods that name none.
const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// The scheduler of the component second-scheduler.
const SECOND_SCHEDULER: &str = "evenkeel-scheduler";

pub(super) const ADDRESS: &str = "extender-address";
pub(super) const CALLED: &str = "extender-called";
pub(super) const WHOLE_NODES: &str = "extender-nodes";
pub(super) const NAMES: &str = "scheduler-names";

/// Prints the file that tells kube-scheduler of the extender.
const PRINT: &str = "(umask 077; evenkeel certs scheduler-config > evenkeel-scheduler.yaml)";

pub(super) fn address(evidence: &Evidence<'_>) -> CheckFindings {
    let service = evidence
        .seen
        .extender_service
        .look(ADDRESS, "the extender's address")?;
    let Some(service) = service else {
        // That the Service is missing is said with the endpoints.
        return Ok(Vec::new());
    };
    let address = service
        .spec
        .as_ref()
        .and_then(|spec| spec.cluster_ip.as_deref());
    let Some(address) = address.and_then(|address| address.parse().ok()) else {
        return Ok(vec![DoctorFinding::error(
            ADDRESS,
            "the Service evenkeel-extender has no ClusterIP, and kube-scheduler cannot resolve names",
            "evenkeel install [your options] | kubectl apply -f - (delete the Service first: its type cannot \
             be changed)",
        )]);
    };
    evidence.seen.certificate.look(
        ADDRESS,
        "whether the certificate covers the extender's address",
    )?;
    Ok(vec![match certificate::covers(evidence, address) {
        Some(true) => DoctorFinding::ok(
            ADDRESS,
            format!("the certificate covers the extender's address {address}"),
        ),
        // kube-scheduler checks the name in serverName, others the address.
        Some(false) => DoctorFinding::warning(
            ADDRESS,
            format!("the certificate does not cover the extender's address {address}"),
            format!(
                "keep tlsConfig.serverName in kube-scheduler's file; {} makes a new certificate",
                evidence.kubectl("rollout restart deployment/evenkeel")
            ),
        ),
        None => DoctorFinding::info(
            ADDRESS,
            format!("the extender's address is {address}; there is no certificate to compare"),
            "see certificate",
        ),
    }])
}

pub(super) fn called(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(CALLED, "whether kube-scheduler calls")?;
    let since = pages
        .iter()
        .flat_map(|(_, page)| page.values("evenkeel_extender_seconds_since_last_call", &[]))
        .filter(|seconds| *seconds >= 0.0)
        .min_by(f64::total_cmp);
    let refused = refused_calls(evidence);
    let Some(since) = since else {
        return Ok(vec![never(evidence, refused)]);
    };
    let ago = about(jiff::SignedDuration::from_secs_f64(since));
    if let Some(finding) = unasked(evidence, since, refused)? {
        return Ok(vec![finding]);
    }
    let waiting = evidence.seen.unbound.there().map_or(0, Vec::len);
    Ok(vec![if has_score_labels(evidence) {
        DoctorFinding::warning(
            CALLED,
            format!("kube-scheduler last called {ago} ago, although score labels are on"),
            "use one of the two: install without --with score-labels, or take the extender out of \
             kube-scheduler's file",
        )
    } else if since > SILENCE && waiting > 0 {
        DoctorFinding::warning(
            CALLED,
            format!(
                "kube-scheduler last called {ago} ago, while {} for a node",
                wait(waiting)
            ),
            configure(evidence),
        )
    } else {
        DoctorFinding::ok(CALLED, format!("kube-scheduler last called {ago} ago"))
    }])
}

/// The finding that Pods are placed without a call. A kube-scheduler that is refused, or that
/// refuses the serving certificate, still places Pods, because the extender is ignorable.
fn unasked(
    evidence: &Evidence<'_>,
    since: f64,
    refused: bool,
) -> Result<Option<DoctorFinding>, DoctorFinding> {
    let placed = &evidence.seen.placed;
    let placed = placed.look(CALLED, "whether Pods are placed without a call")?;
    let now = evidence.seen.server_time.unwrap_or(evidence.seen.now);
    let ago = placed
        .and_then(|placed| placed.get(asking_scheduler(evidence)))
        .map(|last| now.duration_since(*last));
    let hindrance = hindrance(evidence, refused);
    let margin = if hindrance.is_empty() {
        SILENCE
    } else {
        MARGIN
    };
    // A replica that tells nothing may be the one that was asked.
    let all_tell = evidence.pages.len() >= replicas(evidence.seen).len();
    let Some(ago) = ago.filter(|ago| all_tell && ago.as_secs_f64() + margin < since) else {
        return Ok(None);
    };
    let called = about(jiff::SignedDuration::from_secs_f64(since));
    let what = format!(
        "kube-scheduler placed a Pod {} ago without a call; it last called {called} ago",
        about(ago)
    );
    let fix = if hindrance.is_empty() {
        configure(evidence)
    } else {
        format!("after new keys or authorities: {}", renew(evidence))
    };
    let finding = DoctorFinding::error(CALLED, what, fix);
    Ok(Some(finding.seen_by(hindrance)))
}

/// The obstacles that have kept callers away since the replicas started, as far as they count them.
fn hindrance(evidence: &Evidence<'_>, refused: bool) -> String {
    let distrusted = distrusted(evidence).map(|times| {
        format!("{times} TLS handshakes failed because a caller refused the serving certificate")
    });
    let refused =
        refused.then(|| "calls were refused because of their client certificate".to_owned());
    let found: Vec<String> = [distrusted, refused].into_iter().flatten().collect();
    found.join("; ")
}

/// The name of the scheduler that has the extender.
fn asking_scheduler(evidence: &Evidence<'_>) -> &'static str {
    if evidence.seen.second_scheduler.there().is_some() {
        SECOND_SCHEDULER
    } else {
        DEFAULT_SCHEDULER
    }
}

/// Advice to give the scheduler what it has to trust and to show.
fn renew(evidence: &Evidence<'_>) -> String {
    if evidence.seen.second_scheduler.there().is_some() {
        return format!(
            "evenkeel certs scheduler-client | kubectl apply -f -, then {}",
            evidence.kubectl("rollout restart deployment/evenkeel-scheduler")
        );
    }
    format!("{PRINT}, replace the file of every kube-scheduler with it, and restart them")
}

/// TLS handshakes that a caller broke off since it does not trust the serving certificate, if any.
fn distrusted(evidence: &Evidence<'_>) -> Option<f64> {
    let labels = [("reason", "CertificateRefused")];
    let pages = evidence.pages.iter();
    let failures: f64 = pages
        .filter_map(|(_, page)| page.sum("evenkeel_tls_handshake_failures_total", &labels))
        .sum();
    (failures > 0.0).then_some(failures)
}

fn wait(pods: usize) -> String {
    let verb = if pods == 1 { "waits" } else { "wait" };
    format!("{} {verb}", count(pods, "Pod"))
}

/// Calls were refused because the caller showed no known certificate.
fn refused_calls(evidence: &Evidence<'_>) -> bool {
    evidence.pages.iter().any(|(_, page)| {
        [paths::FILTER, paths::PRIORITIZE].into_iter().any(|path| {
            let labels = [("path", path), ("status", "4xx")];
            page.sum("evenkeel_http_requests_total", &labels)
                .unwrap_or(0.0)
                > 0.0
        })
    })
}

/// True if score labels are on by the configuration.
fn has_score_labels(evidence: &Evidence<'_>) -> bool {
    let config = evidence.config();
    config.is_some_and(|config| config.policy.score_labels.is_some())
}

fn never(evidence: &Evidence<'_>, refused: bool) -> DoctorFinding {
    const FOLLOWS: &str =
        "kube-scheduler does not call the extender; it follows score labels instead";
    if refused {
        return DoctorFinding::error(
            CALLED,
            "kube-scheduler's calls are refused: it presents no accepted client certificate",
            format!(
                "{PRINT}, and replace kube-scheduler's file with it: it holds an accepted client \
                 certificate"
            ),
        );
    }
    let has_second = evidence.seen.second_scheduler.there().is_some();
    if has_score_labels(evidence) && !has_second {
        return match distrusted(evidence) {
            None => DoctorFinding::ok(CALLED, FOLLOWS),
            Some(failures) => DoctorFinding::warning(
                CALLED,
                FOLLOWS,
                "if kube-scheduler's file still names the extender, remove it there",
            )
            .seen_by(format!(
                "{failures} TLS handshakes failed: a caller does not trust the certificate"
            )),
        };
    }
    let failures: f64 = evidence
        .pages
        .iter()
        .filter_map(|(_, page)| page.sum("evenkeel_tls_handshake_failures_total", &[]))
        .sum();
    let detail = if failures > 0.0 {
        format!("{failures} TLS handshakes failed: a caller does not trust the certificate")
    } else {
        String::new()
    };
    DoctorFinding::error(
        CALLED,
        "kube-scheduler has not called since the replicas started: no Pod is placed by load",
        configure(evidence),
    )
    .seen_by(detail)
}

/// Advice to tell this cluster's scheduler of the extender, as far as the cluster shows its kind.
fn configure(evidence: &Evidence<'_>) -> String {
    let probe = "if that is done, place a Pod and look again";
    if evidence.seen.second_scheduler.there().is_some() {
        let logs = evidence.kubectl("logs deployment/evenkeel-scheduler");
        return format!(
            "{logs}; evenkeel certs scheduler-client | kubectl apply -f - renews its certificate; \
             {probe}"
        );
    }
    let schedulers = evidence
        .seen
        .schedulers
        .there()
        .map_or(&[][..], Vec::as_slice);
    if schedulers.is_empty() {
        return format!(
            "{PRINT}, and start kube-scheduler with --config=FILE (webhook-config/README.md); if \
             it cannot be configured (managed control planes): evenkeel install [your options] \
             --with score-labels | kubectl apply -f -; {probe}"
        );
    }
    let plain: Vec<&str> = schedulers
        .iter()
        .filter(|pod| !has_configuration(pod))
        .filter_map(|pod| pod.metadata.name.as_deref())
        .collect();
    if plain.is_empty() {
        format!(
            "kube-scheduler has a configuration file: compare its extenders with `evenkeel certs \
             scheduler-config` (urlPrefix, caData, certificate), and look at kubectl -n \
             kube-system logs -l component=kube-scheduler; {probe}"
        )
    } else {
        format!(
            "{PRINT}, copy it to every control-plane node, and add --config=FILE to the command \
             in /etc/kubernetes/manifests/kube-scheduler.yaml (missing in {}); \
             webhook-config/README.md shows each step; {probe}",
            named(&plain)
        )
    }
}

fn has_configuration(pod: &Pod) -> bool {
    let mut specs = pod.spec.iter();
    specs.any(|spec| !flag(spec, "config").is_empty())
}

pub(super) fn whole_nodes(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(WHOLE_NODES, "how kube-scheduler calls")?;
    let calls: f64 = pages
        .iter()
        .filter_map(|(_, page)| page.sum("evenkeel_extender_full_node_calls_total", &[]))
        .sum();
    Ok(vec![if calls > 0.0 {
        DoctorFinding::warning(
            WHOLE_NODES,
            format!(
                "kube-scheduler sent whole nodes {calls} times: that is slow, and its own scores suffer"
            ),
            "set nodeCacheCapable: true for the extender in kube-scheduler's file",
        )
    } else {
        DoctorFinding::ok(WHOLE_NODES, "kube-scheduler sends names of nodes only")
    }])
}

/// Pods that no scheduler with the extender will ever place.
pub(super) fn names(evidence: &Evidence<'_>) -> CheckFindings {
    let second = evidence
        .seen
        .second_scheduler
        .look(NAMES, "the second scheduler")?;
    let set = evidence
        .config()
        .and_then(|config| config.policy.scheduler_name.as_deref());
    if set == Some(SECOND_SCHEDULER) && second.is_none() {
        return Ok(vec![DoctorFinding::error(
            NAMES,
            format!(
                "{SECOND_SCHEDULER}, to which admission gives Pods, does not run: new Pods go to \
                 the default scheduler, and Pods that name it wait until it runs"
            ),
            "evenkeel install [your options] --with second-scheduler | kubectl apply -f -, or install \
             without that component",
        )]);
    }
    let unbound = evidence
        .seen
        .unbound
        .look(NAMES, "the Pods that wait for a node")?;
    let opted_in = evidence.opted_in();
    let known = [
        DEFAULT_SCHEDULER,
        SECOND_SCHEDULER,
        set.unwrap_or(DEFAULT_SCHEDULER),
    ];
    let foreign: Vec<String> = unbound
        .into_iter()
        .flatten()
        .filter(|pod| opted_in.contains(&pod.namespace()))
        .filter_map(|pod| {
            let scheduler = pod.spec.scheduler_name.as_deref()?;
            let other = !known.contains(&scheduler);
            other.then(|| format!("{}/{} ({scheduler})", pod.namespace(), pod.name()))
        })
        .collect();
    Ok(vec![if foreign.is_empty() {
        DoctorFinding::ok(
            NAMES,
            "no waiting Pod of an opted-in namespace names another scheduler",
        )
    } else {
        DoctorFinding::info(
            NAMES,
            format!(
                "{} for another scheduler: {}",
                wait(foreign.len()),
                named(&foreign)
            ),
            "each scheduler has its own extenders: add Evenkeel to that scheduler's configuration \
             too, or remove spec.schedulerName",
        )
    }])
}
