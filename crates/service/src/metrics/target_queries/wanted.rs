//! The questions that the scaling loop asks for single targets.

use std::collections::HashMap;

use evenkeel_scaling::tick::query_answers::QueryRequest;

use super::question::{Purpose, TargetQuery};

/// A question of one target.
pub type TargetQueryRequest<Q> = QueryRequest<Q, <Q as TargetQuery>::Purpose>;

/// The purposes of the questions that have one.
pub(super) fn purposes<Q: TargetQuery>(wanted: &[TargetQueryRequest<Q>]) -> HashMap<Q, Q::Purpose> {
    let mut known: HashMap<Q, Q::Purpose> = HashMap::new();
    for TargetQueryRequest { question, purpose } in wanted {
        let Some(purpose) = purpose else { continue };
        match known.get_mut(question) {
            Some(joined) => joined.join(purpose),
            None => drop(known.insert(question.clone(), purpose.clone())),
        }
    }
    known
}
