//! `POST /scheduler/filter` and `POST /scheduler/prioritize`.

use axum::extract::State;
use axum::response::Response;

use super::explain::{DecisionRecord, Verdict};
use super::metrics::Verb;
use super::{Api, json_body, unreadable};
use crate::extender::{self, Request, decide, wire};
use crate::placement::node_table::PodFacts;
use crate::placement::usage::PodName;
use crate::server::{ApiError, Call, Load};
use crate::units::{Amount, Resources};

pub(super) async fn filter(State(api): State<Api>, call: Call) -> Result<Response, ApiError> {
    let request = api.read(Verb::Filter, &call)?;
    if call.load == Load::Shed {
        api.metrics.extender(Verb::Filter, "shed", &call);
        return Ok(json_body(wire::filter_answer(&request, |_| true)));
    }
    // Asked about again: where it was counted until now is not where it went.
    let uid = request.pod.uid();
    api.cluster.release(uid, call.received);
    let snapshot = api.cluster.snapshot();
    let filtered = extender::decide::filter(
        &request,
        &decide::Call {
            snapshot: &snapshot,
            policy: &api.policy,
            now: call.received,
            refused_since: api.cluster.refused_since(uid),
        },
        &api.verdicts,
    );
    if let (Some(only), Some(demand)) = (filtered.only(), filtered.demand) {
        api.reserve(&request, only, demand, &call);
    }
    api.metrics
        .extender(Verb::Filter, verdict(&filtered), &call);
    api.metrics.verdicts(&filtered.refused);
    api.remember(&request, Verdict::filtered(&filtered), &call);
    Ok(json_body(wire::filter_answer(&request, |position| {
        filtered.passes(position)
    })))
}

pub(super) async fn prioritize(State(api): State<Api>, call: Call) -> Result<Response, ApiError> {
    let request = api.read(Verb::Prioritize, &call)?;
    if call.load == Load::Shed {
        api.metrics.extender(Verb::Prioritize, "shed", &call);
        return Ok(json_body(wire::prioritize_answer(&request, |_| 0)));
    }
    let uid = request.pod.uid();
    api.cluster.release(uid, call.received);
    let snapshot = api.cluster.snapshot();
    let prioritized = extender::decide::prioritize(
        &request,
        &decide::Call {
            snapshot: &snapshot,
            policy: &api.policy,
            now: call.received,
            refused_since: None,
        },
    );
    if let (Some(best), Some(demand)) = (prioritized.best, prioritized.demand) {
        api.reserve(&request, best, demand, &call);
    }
    let outcome = prioritized.unjudged.map_or("scored", decide::Pass::as_str);
    api.metrics.extender(Verb::Prioritize, outcome, &call);
    api.remember(
        &request,
        Verdict::prioritized(&prioritized, &request),
        &call,
    );
    Ok(json_body(wire::prioritize_answer(&request, |position| {
        prioritized.scores.get(position).copied().unwrap_or(0)
    })))
}

fn verdict(filtered: &decide::Filtered) -> &'static str {
    if let Some(why) = filtered.unjudged {
        why.as_str()
    } else if filtered.relaxed {
        "relaxed"
    } else if (0..filtered.refused.len()).any(|position| filtered.passes(position)) {
        "judged"
    } else {
        "refused_everywhere"
    }
}

impl Api {
    fn read<'a>(&self, verb: Verb, call: &'a Call) -> Result<Request<'a>, ApiError> {
        let request = Request::parse(&call.body).map_err(|error| {
            self.metrics.extender(verb, error.reason(), call);
            unreadable(error.reason(), &error)
        })?;
        if request.objects.is_some() {
            self.metrics.full_nodes();
        }
        Ok(request)
    }

    fn reserve(
        &self,
        request: &Request<'_>,
        position: usize,
        demand: Resources<Amount>,
        call: &Call,
    ) {
        let name = PodName::new(request.pod.namespace(), request.pod.name());
        let facts = PodFacts {
            name: &name,
            node: request.names.get(position).map(AsRef::as_ref),
            demand,
            started: None,
            finished: None,
        };
        self.cluster
            .reserve(request.pod.uid(), &facts, call.received);
    }

    fn remember(&self, request: &Request<'_>, verdict: Verdict, call: &Call) {
        let uid: Box<str> = request.pod.uid().into();
        let mut record = self
            .decisions
            .get(&uid)
            .unwrap_or_else(|| DecisionRecord::new(&request.pod));
        record.take(verdict, call.received);
        self.decisions.insert(uid, record);
    }
}
