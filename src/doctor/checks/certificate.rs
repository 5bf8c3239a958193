//! The serving certificate: made by a running signer, valid, for the right names, and trusted by
//! the API server.

use crate::doctor::observation::Look as _;
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::about;
use super::{external_instance, webhook};
use crate::doctor::DoctorFinding;
use crate::doctor::trust;
use evenkeel_service::cluster::registration::CONFIGURATION;

/// A leaf is replaced ten days before its end: with less than this left, something is in the way.
const LEAF_LEFT: SignedDuration = SignedDuration::from_hours(3 * 24);
/// An authority gets its successor a year before its end; with half of that left, kube-scheduler's
/// file needs the new one.
const AUTHORITY_LEFT: SignedDuration = SignedDuration::from_hours(182 * 24);

pub(super) const SIGNER: &str = "signer";
pub(super) const SERVING: &str = "certificate";
pub(super) const TRUST: &str = "webhook-trust";

/// The chain that is served, or the finding that it is broken; `None` where there is no Secret.
fn chain(evidence: &Evidence<'_>, id: &'static str) -> Result<Option<Chain>, DoctorFinding> {
    let seen = &evidence.seen.certificate;
    let Some(served) = seen.look(id, "the serving certificate")? else {
        return Ok(None);
    };
    Ok(Some(trust::certificates(served.chain.as_bytes())))
}

type Chain = Result<Vec<CertificateDer<'static>>, String>;

/// The finding that the signer runs, where it is needed.
pub(super) fn signer(evidence: &Evidence<'_>) -> CheckFindings {
    let signer = evidence.seen.signer.look(SIGNER, "the signer")?;
    if !evidence.makes_certificates() {
        return Ok(vec![unneeded(evidence, signer.is_some())]);
    }
    let Some(signer) = signer else {
        if external_instance::address(evidence).is_some() {
            let what = "there is no Deployment of the signer, and none of the service";
            let fix = "nothing to do if `evenkeel certs sign` runs next to the service";
            return Ok(vec![DoctorFinding::info(SIGNER, what, fix)]);
        }
        let what =
            "there is no signer: certificates are not renewed and the caBundle is not written";
        return Ok(vec![DoctorFinding::error(
            SIGNER,
            what,
            "evenkeel install [your options] | kubectl apply -f -",
        )]);
    };
    let status = signer.status.as_ref();
    let ready = status.and_then(|status| status.ready_replicas).unwrap_or(0);
    Ok(vec![if ready > 0 {
        DoctorFinding::ok(
            SIGNER,
            "the signer is ready: Secrets and caBundle are in place",
        )
    } else {
        let wanted = signer.spec.as_ref().and_then(|spec| spec.replicas);
        let fix = if wanted == Some(0) {
            evidence.kubectl("scale deployment/evenkeel-signer --replicas=1")
        } else {
            evidence.kubectl("logs deployment/evenkeel-signer")
        };
        let what = "the signer is not ready: certificates are not renewed for now";
        DoctorFinding::warning(SIGNER, what, fix)
    }])
}

/// The signer of an installation with certificates from files.
fn unneeded(evidence: &Evidence<'_>, is_there: bool) -> DoctorFinding {
    if !is_there {
        let what = "certificates are given in files: there is nothing to sign";
        return DoctorFinding::ok(SIGNER, what);
    }
    DoctorFinding::error(
        SIGNER,
        "a signer runs although certificates are given in files: it keeps writing its own \
         authority into the caBundle",
        format!(
            "{}; certs/README.md lists what else is left of it",
            evidence.kubectl("delete deployment/evenkeel-signer")
        ),
    )
}

pub(super) fn serving(evidence: &Evidence<'_>) -> CheckFindings {
    let renew = renewal(evidence);
    let Some(chain) = chain(evidence, SERVING)? else {
        let what = "there is no serving certificate";
        return Ok(vec![DoctorFinding::error(SERVING, what, renew)]);
    };
    let facts = chain.and_then(|chain| trust::facts(&chain[0]));
    Ok(vec![match facts {
        Err(why) => {
            let what = "the serving certificate cannot be read";
            DoctorFinding::error(SERVING, what, renew).seen_by(why)
        }
        Ok(facts) if facts.not_before > evidence.seen.now => DoctorFinding::error(
            SERVING,
            format!(
                "the serving certificate is valid only from {}",
                facts.not_before
            ),
            "correct the clocks of the machines",
        ),
        Ok(facts) => match left(facts.not_after, evidence.seen.now) {
            RemainingValidity::Ended(ago) => DoctorFinding::error(
                SERVING,
                format!("the serving certificate ended {ago} ago"),
                renew,
            ),
            RemainingValidity::For(time, left) if left < LEAF_LEFT => DoctorFinding::warning(
                SERVING,
                format!("the serving certificate ends in {time} and was not replaced"),
                renew,
            ),
            RemainingValidity::For(time, _) => DoctorFinding::ok(
                SERVING,
                format!("the serving certificate lives for {time} more"),
            ),
        },
    }])
}

/// Advice that makes a new certificate come.
fn renewal(evidence: &Evidence<'_>) -> String {
    if evidence.makes_certificates() {
        format!(
            "see signer and rights; then {}",
            evidence.kubectl("logs deployment/evenkeel-signer")
        )
    } else {
        format!(
            "{}, or the tool that maintains the Secret",
            evidence.kubectl("describe certificate evenkeel")
        )
    }
}

pub(super) fn trusted(evidence: &Evidence<'_>) -> CheckFindings {
    let Some(webhook) = webhook::registered(evidence, TRUST)? else {
        let what = "the webhook is not registered: there is no caBundle to check";
        return Ok(vec![DoctorFinding::error(
            TRUST,
            what,
            "evenkeel install [your options] | kubectl apply -f -",
        )]);
    };
    let bundle = webhook.client_config.ca_bundle.as_ref();
    let Some(bundle) = bundle.filter(|bundle| !bundle.0.is_empty()) else {
        let what = "the webhook has no caBundle: the API server does not trust Evenkeel";
        return Ok(vec![DoctorFinding::error(TRUST, what, mend(evidence))]);
    };
    let authorities = match trust::certificates(&bundle.0) {
        Ok(authorities) => authorities,
        Err(why) => {
            let what = "the webhook's caBundle cannot be read";
            return Ok(vec![
                DoctorFinding::error(TRUST, what, mend(evidence)).seen_by(why),
            ]);
        }
    };
    let mut found: Vec<DoctorFinding> = ending(evidence, &authorities).into_iter().collect();
    let name = format!("{}.{}.svc", CONFIGURATION, evidence.seen.namespace);
    // Without the chain there is nothing to verify, and the check above has said so.
    if let Some(Ok(chain)) = chain(evidence, TRUST)? {
        found.push(
            match trust::verify(&authorities, &chain, &name, evidence.seen.now) {
                Ok(()) => DoctorFinding::ok(
                    TRUST,
                    format!("the API server trusts the certificate of {name}"),
                ),
                Err(why) => DoctorFinding::error(
                    TRUST,
                    format!("the API server does not trust the certificate of {name}"),
                    mend(evidence),
                )
                .seen_by(why),
            },
        );
    }
    Ok(found)
}

/// Advice that brings the caBundle in step with the certificate.
fn mend(evidence: &Evidence<'_>) -> String {
    if evidence.makes_certificates() {
        format!(
            "the signer writes the caBundle: see signer and rights; then {}",
            evidence.kubectl("logs deployment/evenkeel-signer")
        )
    } else {
        "the webhook's annotation cert-manager.io/inject-ca-from names the Certificate: \
         kubectl describe mutatingwebhookconfiguration evenkeel, or put your CA into caBundle"
            .to_owned()
    }
}

fn ending(evidence: &Evidence<'_>, authorities: &[CertificateDer<'_>]) -> Option<DoctorFinding> {
    let ends = authorities
        .iter()
        .filter_map(|authority| Some(trust::facts(authority).ok()?.not_after));
    let what = "the authority of the serving certificate";
    match left(ends.max()?, evidence.seen.now) {
        RemainingValidity::Ended(ago) => {
            let what = format!("{what} ended {ago} ago");
            Some(DoctorFinding::error(TRUST, what, mend(evidence)))
        }
        RemainingValidity::For(time, left) if left < AUTHORITY_LEFT => {
            Some(DoctorFinding::warning(
                TRUST,
                format!("{what} ends in {time}, and kube-scheduler's file names it"),
                "(umask 077; evenkeel certs scheduler-config > evenkeel-scheduler.yaml), and replace the file on \
             every control-plane node once a new authority is there",
            ))
        }
        RemainingValidity::For(..) => None,
    }
}

enum RemainingValidity {
    Ended(String),
    For(String, SignedDuration),
}

fn left(end: Timestamp, now: Timestamp) -> RemainingValidity {
    let left = end.duration_since(now);
    if left.is_negative() {
        RemainingValidity::Ended(about(-left))
    } else {
        RemainingValidity::For(about(left), left)
    }
}

/// The serving certificate covers `address`; `None` where that is not known.
pub(super) fn covers(evidence: &Evidence<'_>, address: std::net::IpAddr) -> Option<bool> {
    let chain = trust::certificates(evidence.seen.certificate.there()?.chain.as_bytes()).ok()?;
    Some(trust::facts(&chain[0]).ok()?.addresses.contains(&address))
}
