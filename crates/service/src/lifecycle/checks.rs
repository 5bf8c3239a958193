//! The asking of external checks, where the configuration has them asked.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::components::{Components, Tasks, lasting};
use crate::external_checks::{CheckQuestions, CheckSource, TIMEOUT};

/// Starts the asking; `None` where checks are not asked.
pub(super) fn start(
    parts: &Components,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> Option<CheckQuestions> {
    let settings = parts.config.external_checks.clone()?;
    let source = CheckSource::new(settings, parts.client.clone(), &parts.replica.namespace);
    let (clock, metrics) = (parts.cluster.clock(), parts.instruments.measuring.clone());
    let (checks, asker) = CheckQuestions::new(Arc::new(source), TIMEOUT, clock, metrics);
    lasting(
        tasks,
        "asking of external checks",
        cancel,
        asker.run(cancel.clone()),
    );
    Some(checks)
}
