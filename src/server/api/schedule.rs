//! `POST /scheduler/filter` and `POST /scheduler/prioritize`.

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;

use super::explain::Verdict;
use super::fail_open::failed_judgement;
use super::metrics::Verb;
use super::{Api, json_body, unreadable};
use crate::server::{ApiError, Call, Load};
use evenkeel_core::placement::node_table::PodFacts;
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Amount, Resources};
use evenkeel_kubernetes::extender::{self, Request, decide, judgement, wire};
use evenkeel_kubernetes::snapshot::{OptIn, Snapshot};

pub(super) async fn filter(State(api): State<Api>, call: Call) -> Result<Response, ApiError> {
    let request = api.read(Verb::Filter, &call)?;
    if call.load == Load::Shed {
        api.shed(Verb::Filter, &call);
        return Ok(json_body(wire::filter_answer(&request, |_| true)));
    }
    // Asked about again: where it was counted until now is not where it went.
    let (uid, now) = (request.pod.uid(), api.cluster.now());
    api.cluster.release(uid, now);
    let snapshot = api.cluster.snapshot();
    let filtered = extender::decide::filter(
        &request,
        &judgement::Call {
            snapshot: &snapshot,
            policy: &api.policy,
            now,
            refused_since: api.cluster.refused_since(uid),
        },
        &api.verdicts,
    );
    if let (Some(only), Some(demand)) = (filtered.only(), filtered.demand) {
        api.reserve(&request, only, demand, now);
        api.count_unknown(&request, &snapshot, [only]);
    }
    api.metrics
        .extender(Verb::Filter, verdict(&filtered), &call);
    api.metrics.verdicts(&filtered.refused);
    api.explain_failure(Verb::Filter, filtered.exemption, &call);
    if let OptIn::In(_) = snapshot.opt_in(request.pod.namespace()) {
        let verdict = Verdict::filtered(&filtered);
        api.decisions.filtered(&request.pod, verdict, now);
    }
    Ok(json_body(wire::filter_answer(&request, |position| {
        filtered.passes(position)
    })))
}

pub(super) async fn prioritize(State(api): State<Api>, call: Call) -> Result<Response, ApiError> {
    let request = api.read(Verb::Prioritize, &call)?;
    if call.load == Load::Shed {
        api.shed(Verb::Prioritize, &call);
        return Ok(json_body(wire::prioritize_answer(&request, |_| 0)));
    }
    let (uid, now) = (request.pod.uid(), api.cluster.now());
    api.cluster.release(uid, now);
    let snapshot = api.cluster.snapshot();
    let prioritized = extender::decide::prioritize(
        &request,
        &judgement::Call {
            snapshot: &snapshot,
            policy: &api.policy,
            now,
            refused_since: None,
        },
    );
    if let (Some(best), Some(demand)) = (prioritized.best, prioritized.demand) {
        api.reserve(&request, best, demand, now);
    }
    let outcome = prioritized
        .exemption
        .map_or("scored", judgement::Exemption::as_str);
    api.metrics.extender(Verb::Prioritize, outcome, &call);
    api.explain_failure(Verb::Prioritize, prioritized.exemption, &call);
    if prioritized.exemption.is_none() {
        // A node that is not known has no score, so that few have to be looked for.
        let scores = prioritized.scores.iter().enumerate();
        let without = scores.filter(|(_, score)| **score == 0);
        api.count_unknown(&request, &snapshot, without.map(|(position, _)| position));
    }
    if let OptIn::In(_) = snapshot.opt_in(request.pod.namespace()) {
        let verdict = Verdict::prioritized(&prioritized, &request);
        api.decisions.prioritized(&request.pod, verdict, now);
    }
    Ok(json_body(wire::prioritize_answer(&request, |position| {
        prioritized.scores.get(position).copied().unwrap_or(0)
    })))
}

fn verdict(filtered: &decide::Filtered) -> &'static str {
    if let Some(why) = filtered.exemption {
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
            self.fail_open
                .unreadable(verb.path(), error.reason(), &error, call);
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
        now: Timestamp,
    ) {
        let name = PodName::new(request.pod.namespace(), request.pod.name());
        let facts = PodFacts {
            name: &name,
            node: request.names.get(position).map(AsRef::as_ref),
            demand,
            started: None,
            finished: None,
        };
        self.cluster.reserve(request.pod.uid(), &facts, now);
    }

    fn shed(&self, verb: Verb, call: &Call) {
        self.metrics.extender(verb, "shed", call);
        self.fail_open.warn(verb.path(), "shed", call);
    }

    fn explain_failure(&self, verb: Verb, exemption: Option<judgement::Exemption>, call: &Call) {
        if let Some(cause) = exemption.and_then(failed_judgement) {
            self.fail_open.warn(verb.path(), cause, call);
        }
    }

    /// Counts those of the nodes at `positions` that are not in the table.
    fn count_unknown(
        &self,
        request: &Request<'_>,
        snapshot: &Snapshot,
        positions: impl IntoIterator<Item = usize>,
    ) {
        let names = positions
            .into_iter()
            .filter_map(|position| request.names.get(position));
        let unknown = names.filter(|name| snapshot.nodes.get(name).is_none());
        self.metrics.unknown_nodes(unknown.count());
    }
}
