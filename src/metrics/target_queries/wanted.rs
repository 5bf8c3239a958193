//! The questions that the scaling loop asks for single targets.

use std::collections::HashMap;

use super::question::{Purpose, TargetQuery};

/// A question of one target.
#[derive(Debug, Clone)]
pub struct TargetQueryRequest<Q: TargetQuery> {
    pub question: Q,
    pub purpose: Option<Q::Purpose>,
}

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
