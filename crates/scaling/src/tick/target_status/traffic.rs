//! From what a tick says of a target's traffic to its part of the status.

use evenkeel_forecast::HeldOutDay;

use crate::recommend::traffic::NeedLimit;
use crate::recommend::traffic_fit::{AcceptedTraffic, TrafficFit};
use crate::recommend::traffic_need::{TrafficNeed, TrafficOfKind, TrafficStanding};
use crate::status::dashboard::{
    TrafficKindStatus, TrafficModelStatus, TrafficNeedStatus, TrafficStatus, Word,
};
use crate::tracker::TrafficReport;

pub(super) fn shown(report: &TrafficReport) -> TrafficStatus {
    let TrafficReport { standing, fit } = report;
    let (word, why) = match standing {
        TrafficStanding::Without { why, .. } => ("without", Some(why.clone())),
        TrafficStanding::Unknown => ("unknown", None),
        TrafficStanding::Needs(_) => ("needs", None),
    };
    TrafficStatus {
        standing: word.into(),
        why,
        need: standing.need().map(need),
        model: match fit {
            TrafficFit::Accepted(accepted) => Some(model(accepted)),
            TrafficFit::Awaited | TrafficFit::Refused(_) => None,
        },
    }
}

fn need(need: &TrafficNeed) -> TrafficNeedStatus {
    let TrafficNeed {
        replicas,
        utilisation,
        target,
        of,
        limit,
        kinds,
    } = need;
    TrafficNeedStatus {
        replicas: *replicas,
        utilisation: *utilisation,
        target: *target,
        resource: of.label().into(),
        limited_by: limit.map(NeedLimit::as_str).map(Word::from),
        kinds: kinds.iter().map(kind).collect(),
    }
}

fn kind(kind: &TrafficOfKind) -> TrafficKindStatus {
    let TrafficOfKind {
        signal,
        now,
        expected,
    } = kind;
    TrafficKindStatus {
        resource: signal.label().into(),
        now: *now,
        expected: expected.load,
        basis: expected.basis.as_str().into(),
    }
}

fn model(accepted: &AcceptedTraffic) -> TrafficModelStatus {
    let (learnt_from, learnt_to) = accepted.model.learnt;
    let HeldOutDay {
        samples: _,
        error,
        linear_error,
        explained,
        explained_without,
    } = accepted.model.held_out;
    TrafficModelStatus {
        explained,
        explained_without,
        error,
        linear_error,
        learnt_from,
        learnt_to,
    }
}
