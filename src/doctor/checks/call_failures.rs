//! Answers to calls: refusals, failures, and calls that were shed.

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::named;
use crate::doctor::DoctorFinding;
use evenkeel_service::server::paths;

/// Share of calls that may go wrong without a finding.
const TOLERATED: f64 = 0.01;

pub(super) const ANSWERS: &str = "answers";

/// The outcomes of a review that leave a Pod unchanged, in words.
const UNCHANGED: [(&str, &str); 3] = [
    ("patch_failed", "the patch did not fit the Pod"),
    ("unreadable", "the review could not be read"),
    ("namespace_unknown", "the namespace was not known yet"),
];

/// The paths that API server and kube-scheduler call.
const CALLED: [&str; 5] = [
    paths::MUTATE,
    paths::FILTER,
    paths::PRIORITIZE,
    paths::PREEMPT,
    paths::BIND,
];

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(ANSWERS, "how calls are answered")?;
    let sum = |name: &str, labels: &[(&str, &str)]| -> f64 {
        let sums = pages.iter().filter_map(|(_, page)| page.sum(name, labels));
        sums.sum()
    };
    let mut found = Vec::new();
    for path in CALLED {
        let answered = |status| {
            sum(
                "evenkeel_http_requests_total",
                &[("path", path), ("status", status)],
            )
        };
        let wrong = answered("4xx") + answered("5xx");
        let all = wrong + answered("2xx");
        if wrong > all * TOLERATED {
            found.push(DoctorFinding::warning(
                ANSWERS,
                format!("{wrong} of {all} calls of {path} failed"),
                evidence
                    .kubectl("logs -l app.kubernetes.io/name=evenkeel --tail=500 | grep -i warn"),
            ));
        }
    }
    let shed = sum("evenkeel_http_requests_shed_total", &[]);
    if shed > 0.0 {
        found.push(DoctorFinding::warning(
            ANSWERS,
            format!(
                "{shed} calls were answered without a decision, because too many arrived at once"
            ),
            "raise server.concurrency, or give the Deployment more cpu",
        ));
    }
    let broken: Vec<&str> = UNCHANGED
        .into_iter()
        .filter(|(outcome, _)| {
            sum("evenkeel_admission_reviews_total", &[("outcome", outcome)]) > 0.0
        })
        .map(|(_, words)| words)
        .collect();
    if !broken.is_empty() {
        found.push(DoctorFinding::info(
            ANSWERS,
            format!("admission left Pods unchanged: {}", named(&broken)),
            "just after a namespace was created this is normal; otherwise look at the log",
        ));
    }
    if found.is_empty() {
        found.push(DoctorFinding::ok(ANSWERS, "calls are answered"));
    }
    Ok(found)
}
