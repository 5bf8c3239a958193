//! `POST /scheduler/{filter,prioritize,preempt,bind}`.

use axum::extract::State;
use axum::response::Response;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::extender::bind_notice::BindNotice;
use evenkeel_placement::extender::{
    ExtenderRequest, WireError, bind_notice, decide, placement_rules, preempt, wire,
};
use evenkeel_placement::node_table::NearTies;
use evenkeel_placement::snapshot::{OptIn, Snapshot};
use jiff::Timestamp;

use super::Handlers;
use super::answer::{json_body, unreadable};
use super::fail_open::failed_judgement;
use super::metrics::Verb;
use super::spans;
use crate::api::explain as api;
use crate::server::{ApiError, BufferedRequest, LoadShedDecision};
use crate::telemetry::spans::text;

pub(super) async fn filter(
    State(handlers): State<Handlers>,
    call: BufferedRequest,
) -> Result<Response, ApiError> {
    let request = handlers.read(Verb::Filter, &call)?;
    if call.load == LoadShedDecision::Shed {
        handlers.shed(Verb::Filter, &call);
        return Ok(json_body(wire::filter_answer(&request, |_| true)));
    }
    // Asked about again: where it was counted until now is not where it went.
    let (uid, now) = (request.pod.uid(), handlers.cluster.now());
    handlers.cluster.ask_first(&request.pod, now);
    let refused_since = handlers.cluster.refused_since(uid);
    let judge = || {
        let snapshot = handlers.cluster.snapshot();
        let judged = handlers.judged(&snapshot, now, refused_since);
        let filtered = decide::filter(&request, &judged, &handlers.verdicts);
        (snapshot, filtered)
    };
    let pending = handlers.choices.pending();
    let (mut snapshot, mut filtered) = judge();
    if let Some(pending) = pending.filter(|_| filtered.doubted) {
        let told = pending.wait(&handlers.choices).await;
        handlers.metrics.waited(told);
        (snapshot, filtered) = judge();
    }
    let judged = handlers.judged(&snapshot, now, refused_since);
    if let (Some(only), Some(_)) = (filtered.only(), filtered.demand) {
        handlers.place(&request, only, NearTies::default(), now);
        handlers.count_unknown(&request, &snapshot, [only]);
    }
    call.span.set(|| [spans::passed(filtered.passed())]);
    handlers.count(Verb::Filter, verdict(&filtered), filtered.exemption, &call);
    handlers.metrics.verdicts(&filtered.refused);
    if let OptIn::In(_) = snapshot.opt_in(request.pod.namespace()) {
        let decisions = &handlers.decisions;
        decisions.filtered(&request, &filtered, &judged, &snapshot);
    }
    Ok(json_body(wire::filter_answer(&request, |position| {
        filtered.passes(position)
    })))
}

pub(super) async fn prioritize(
    State(handlers): State<Handlers>,
    call: BufferedRequest,
) -> Result<Response, ApiError> {
    let request = handlers.read(Verb::Prioritize, &call)?;
    if call.load == LoadShedDecision::Shed {
        handlers.shed(Verb::Prioritize, &call);
        return Ok(json_body(wire::prioritize_answer(&request, |_| 0)));
    }
    let now = handlers.cluster.now();
    handlers.cluster.ask(&request.pod, now);
    let snapshot = handlers.cluster.snapshot();
    let judged = handlers.judged(&snapshot, now, None);
    let prioritized = decide::prioritize(&request, &judged);
    if let (Some(best), Some(_)) = (prioritized.best, prioritized.demand) {
        handlers.place(&request, best, prioritized.near.clone(), now);
        if request.pod.provisions() {
            handlers.choices.none_is_near();
        } else {
            handlers.choices.left(request.pod.uid());
        }
    }
    let outcome = prioritized
        .exemption
        .map_or("scored", placement_rules::Exemption::as_str);
    handlers.count(Verb::Prioritize, outcome, prioritized.exemption, &call);
    if prioritized.exemption.is_none() {
        // A node that is not known has no score, so that few have to be looked for.
        let scores = prioritized.scores.iter().enumerate();
        let without = scores.filter(|(_, score)| **score == 0);
        handlers.count_unknown(&request, &snapshot, without.map(|(position, _)| position));
    }
    if let OptIn::In(_) = snapshot.opt_in(request.pod.namespace()) {
        let decisions = &handlers.decisions;
        decisions.prioritized(&request, &prioritized, &judged, &snapshot);
    }
    Ok(json_body(wire::prioritize_answer(&request, |position| {
        prioritized.scores.get(position).copied().unwrap_or(0)
    })))
}

pub(super) async fn preempt(
    State(handlers): State<Handlers>,
    call: BufferedRequest,
) -> Result<Response, ApiError> {
    let mut request = preempt::PreemptionRequest::parse(&call.body)
        .map_err(|error| handlers.malformed(Verb::Preempt, &error, &call))?;
    handlers.cluster.add_history(&mut request.pod);
    call.span.set(|| {
        let offered = spans::offered(request.nodes.len());
        spans::pod(&request.pod).into_iter().chain([offered])
    });
    if call.load == LoadShedDecision::Shed {
        handlers.shed(Verb::Preempt, &call);
        let all: Vec<bool> = request
            .nodes
            .values()
            .map(|victims| !victims.uids.is_empty())
            .collect();
        return Ok(json_body(preempt::answer(&request, &all)));
    }
    let snapshot = handlers.cluster.snapshot();
    let refused_since = handlers.cluster.refused_since(request.pod.uid());
    let judged = handlers.judged(&snapshot, handlers.cluster.now(), refused_since);
    let preempted = preempt::preempt(&request, &judged, |node, victims| {
        handlers.cluster.relief(node, victims)
    });
    let outcome = match preempted.exemption {
        Some(why) => why.as_str(),
        None if preempted.kept.contains(&true) => "judged",
        None => "refused_everywhere",
    };
    call.span.set(|| {
        [spans::passed(
            preempted.kept.iter().filter(|kept| **kept).count(),
        )]
    });
    handlers.count(Verb::Preempt, outcome, preempted.exemption, &call);
    Ok(json_body(preempt::answer(&request, &preempted.kept)))
}

pub(super) async fn bind(
    State(handlers): State<Handlers>,
    call: BufferedRequest,
) -> Result<Response, ApiError> {
    let notice = BindNotice::parse(&call.body)
        .map_err(|error| handlers.malformed(Verb::Bind, &error, &call))?;
    let now = handlers.cluster.now();
    let known = handlers.cluster.notice(&notice.uid, &notice.node, now);
    handlers.choices.told(&notice.uid);
    let told = api::BindNotification {
        at: now,
        node: notice.node.to_string(),
    };
    let pod = PodName::new(&notice.namespace, &notice.name);
    handlers.decisions.noticed(&pod, &notice.uid, told);
    let outcome = if known { "noted" } else { "unknown" };
    call.span.set(|| {
        let pod = spans::named_pod(&notice.namespace, &notice.name, &notice.uid);
        pod.into_iter().chain([text("k8s.node.name", &notice.node)])
    });
    handlers.count(Verb::Bind, outcome, None, &call);
    Ok(json_body(bind_notice::NOTED.to_vec()))
}

fn verdict(filtered: &decide::FilterResult) -> &'static str {
    if let Some(why) = filtered.exemption {
        why.as_str()
    } else if filtered.relaxed {
        "relaxed"
    } else if filtered.nominated {
        "nominated"
    } else if filtered.passed() == 0 {
        "refused_everywhere"
    } else if filtered.at_start && filtered.passed() < filtered.refused.len() {
        "first_minutes"
    } else {
        "judged"
    }
}

impl Handlers {
    fn read<'a>(
        &self,
        verb: Verb,
        call: &'a BufferedRequest,
    ) -> Result<ExtenderRequest<'a>, ApiError> {
        let mut request = ExtenderRequest::parse(&call.body)
            .map_err(|error| self.malformed(verb, &error, call))?;
        self.cluster.add_history(&mut request.pod);
        call.span.set(|| {
            let offered = spans::offered(request.names.len());
            spans::pod(&request.pod).into_iter().chain([offered])
        });
        if request.objects.is_some() {
            self.metrics.full_nodes();
        }
        Ok(request)
    }

    fn malformed(&self, verb: Verb, error: &WireError, call: &BufferedRequest) -> ApiError {
        self.metrics.extender(verb, error.reason(), call);
        let refusal = unreadable(error.reason(), error);
        self.fail_open.unreadable(verb.path(), &refusal, call);
        refusal
    }

    fn judged<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        now: Timestamp,
        refused_since: Option<Timestamp>,
    ) -> placement_rules::PlacementContext<'a> {
        placement_rules::PlacementContext {
            snapshot,
            policy: &self.policy,
            now,
            refused_since,
        }
    }

    fn place(
        &self,
        request: &ExtenderRequest<'_>,
        position: usize,
        near: NearTies,
        now: Timestamp,
    ) {
        if let Some(node) = request.names.get(position) {
            self.cluster.place(request.pod.uid(), node, near, now);
        }
    }

    fn shed(&self, verb: Verb, call: &BufferedRequest) {
        call.span.set(|| spans::outcome("shed", true));
        self.metrics.extender(verb, "shed", call);
        self.fail_open.warn(verb.path(), "shed", call);
    }

    /// Counts an answer, and logs it if it lacks a decision because of a failure.
    fn count(
        &self,
        verb: Verb,
        outcome: &'static str,
        exemption: Option<placement_rules::Exemption>,
        call: &BufferedRequest,
    ) {
        self.metrics.extender(verb, outcome, call);
        let failure = exemption.and_then(failed_judgement);
        call.span.set(|| spans::outcome(outcome, failure.is_some()));
        if let Some(cause) = failure {
            self.fail_open.warn(verb.path(), cause, call);
        }
    }

    /// Counts those of the nodes at `positions` that are not in the table.
    fn count_unknown(
        &self,
        request: &ExtenderRequest<'_>,
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

#[cfg(test)]
mod tests {
    use decide::FilterResult;
    use evenkeel_units::{Resource, ResourceSet};

    use super::*;

    #[test]
    fn an_answer_counts_under_the_rule_that_decided_it() {
        let without_cpu = ResourceSet::NONE.with(Resource::Cpu, true);
        let one_of_two = FilterResult {
            refused: vec![ResourceSet::NONE, without_cpu],
            ..FilterResult::default()
        };
        let first_minutes = FilterResult {
            at_start: true,
            ..one_of_two.clone()
        };
        let relaxed = FilterResult {
            relaxed: true,
            ..one_of_two.clone()
        };
        let nowhere = FilterResult {
            refused: vec![without_cpu],
            ..FilterResult::default()
        };
        let everywhere = FilterResult {
            refused: vec![ResourceSet::NONE],
            at_start: true,
            ..FilterResult::default()
        };
        let counted = [one_of_two, first_minutes, relaxed, nowhere, everywhere];
        let counted = counted.map(|filtered| verdict(&filtered));
        let expected = [
            "judged",
            "first_minutes",
            "relaxed",
            "refused_everywhere",
            "judged",
        ];
        assert_eq!(counted, expected);
    }
}
