//! Whether anything is written: the leader, the kill switch, and what guards the writes.

use jiff::SignedDuration;

use super::{Finding, Found, Sight, about, outside, replicas};
use crate::config::Writes;

/// How long after its renewal a Lease is taken for abandoned, where the Lease does not say.
const LEASE: SignedDuration = SignedDuration::from_secs(10);
/// What the clocks of two machines may differ by.
const SKEW: SignedDuration = SignedDuration::from_secs(5);

const LEADER: &str = "leader";
const SWITCH: &str = "kill-switch";
const GUARD: &str = "write-guard";

pub(super) fn leader(sight: &Sight<'_>) -> Found {
    let lease = sight.seen.lease.look(LEADER, "the Lease of the leader")?;
    let spec = lease.and_then(|lease| lease.spec.as_ref());
    let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
    let holder = holder.filter(|holder| !holder.is_empty());
    let renewed = spec.and_then(|spec| spec.renew_time.as_ref());
    let (Some(holder), Some(renewed)) = (holder, renewed) else {
        return Ok(vec![leaderless(sight, "no replica leads")]);
    };
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
    let valid = seconds.map_or(LEASE, |seconds| SignedDuration::from_secs(seconds.into()));
    let age = sight.seen.now.duration_since(renewed.0);
    Ok(vec![if age > valid + SKEW {
        let what = format!("{holder} last renewed the Lease {} ago", about(age));
        leaderless(sight, &what)
    } else {
        let known = replicas(sight.seen)
            .iter()
            .any(|replica| replica.pod.metadata.name.as_deref() == Some(holder));
        let who = if known { "replica " } else { "" };
        Finding::ok(LEADER, format!("{who}{holder} leads"))
    }])
}

/// Nobody leads. With writes disabled nobody may take the Lease, which is as it should be.
fn leaderless(sight: &Sight<'_>, what: &str) -> Finding {
    if switched_off(sight) {
        let what = format!("{what}: writes are disabled");
        return Finding::info(LEADER, what, "see kill-switch");
    }
    Finding::error(
        LEADER,
        format!("{what}: no refused Pod is woken, no label mirrored, no certificate renewed"),
        format!(
            "see the findings about rights; {}",
            sight.kubectl("logs -l app.kubernetes.io/name=evenkeel --tail=200 | grep -i lease")
        ),
    )
}

fn switched_off(sight: &Sight<'_>) -> bool {
    let configured = sight.config().map(|config| config.writes);
    !obeyed(sight).unwrap_or(configured != Some(Writes::Disabled))
}

/// Whether the replicas write, as they tell themselves.
fn obeyed(sight: &Sight<'_>) -> Option<bool> {
    let mut told = sight
        .pages
        .iter()
        .filter_map(|(_, page)| page.sum("evenkeel_writes_enabled", &[]));
    let first = told.next()?;
    Some(first > 0.0 && told.all(|value| value > 0.0))
}

pub(super) fn kill_switch(sight: &Sight<'_>) -> Found {
    let edit = sight.kubectl("edit configmap evenkeel");
    let configured = sight
        .config()
        .map(|config| config.writes == Writes::Enabled);
    Ok(vec![match (obeyed(sight), configured) {
        (Some(obeyed), Some(configured)) if obeyed != configured => Finding::warning(
            SWITCH,
            format!(
                "the ConfigMap says writes: {}, the replicas still go by the old value",
                if configured { "enabled" } else { "disabled" }
            ),
            format!(
                "wait a minute for kubelet to bring the file, then {}",
                sight.kubectl("rollout restart deployment/evenkeel")
            ),
        ),
        (Some(false), _) | (None, Some(false)) => Finding::warning(
            SWITCH,
            "writes are disabled: nothing in the cluster is changed, no refused Pod is woken",
            format!("{edit}, and set writes: enabled"),
        ),
        (Some(true), _) | (None, Some(true)) => Finding::ok(SWITCH, "writes are enabled"),
        (None, None) => {
            sight.pages(SWITCH, "the kill switch")?;
            let what = "the replicas do not tell whether they write";
            Finding::info(
                SWITCH,
                what,
                sight.kubectl("get configmap evenkeel -o yaml"),
            )
        }
    }])
}

pub(super) fn guard(sight: &Sight<'_>) -> Found {
    if outside::address(sight).is_some() {
        let what = "what narrows writes narrows those of the ServiceAccount, which Evenkeel does \
                    not use here";
        return Ok(vec![Finding::info(GUARD, what, outside::OWN_RIGHTS)]);
    }
    let binding = sight
        .seen
        .write_guard
        .look(GUARD, "what narrows Evenkeel's writes")?;
    let denies = binding.is_some_and(|binding| {
        let spec = binding.spec.as_ref();
        let actions = spec.and_then(|spec| spec.validation_actions.as_ref());
        actions.is_some_and(|actions| actions.iter().any(|action| action == "Deny"))
    });
    Ok(vec![if denies {
        Finding::ok(
            GUARD,
            "Evenkeel's writes are narrowed to its own annotations, its label and the bounds of HPAs",
        )
    } else {
        Finding::warning(
            GUARD,
            "nothing narrows what Evenkeel may patch on nodes, namespaces, HPAs and workloads",
            "kubectl apply -f deploy/base/write-guard.yaml",
        )
    }])
}
