//! The names that workloads give their Pods, by which the past of Pods that are gone is found.

use crate::kinds::Kind;

/// The ending of a Deployment's Pods: the template's 32-bit hash in Kubernetes' alphabet for such
/// endings, and five random characters. Fewer than six digits occur less than once in ten thousand,
/// and names of DaemonSets and Jobs end like that more often.
pub const DEPLOYMENT: &str =
    "-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}";

pub const STATEFUL_SET: &str = "-[0-9]+";

/// The longest name of a workload that its Pods' names contain in full, in characters.
const LONGEST_NAME: usize = 46;

/// The characters of such endings.
const SAFE: &str = "bcdfghjklmnpqrstvwxz2456789";

#[must_use]
pub fn is_of(kind: Kind, workload: &str, pod: &str) -> bool {
    let rest = pod.strip_prefix(workload);
    let Some(rest) = rest.and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let is_safe = |text: &str| text.chars().all(|one| SAFE.contains(one));
    match kind {
        Kind::StatefulSet => !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()),
        Kind::Deployment => rest.split_once('-').is_some_and(|(hash, suffix)| {
            (6..=10).contains(&hash.len()) && suffix.len() == 5 && is_safe(hash) && is_safe(suffix)
        }),
        _ => false,
    }
}

/// A regular expression for the part of Pod names after the workload's name; `None` if Pod names do
/// not identify the workload.
#[must_use]
pub fn ending(kind: Option<Kind>, workload: &str) -> Option<&'static str> {
    let ending = match kind? {
        Kind::Deployment => DEPLOYMENT,
        Kind::StatefulSet => STATEFUL_SET,
        _ => return None,
    };
    (workload.len() <= LONGEST_NAME).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_of_the_workload_that_named_it() {
        assert!(DEPLOYMENT.contains(SAFE));
        for (kind, workload, pod, is) in [
            (Kind::Deployment, "web", "web-7d4b9c6f5d-x2x4z", true),
            (Kind::Deployment, "web", "web-api-7d4b9c6f5d-x2x4z", false),
            (
                Kind::Deployment,
                "web-api",
                "web-api-7d4b9c6f5d-x2x4z",
                true,
            ),
            (Kind::Deployment, "web", "web-7d4b9c6f5d-a2x4z", false),
            (Kind::Deployment, "web", "web-7d4b9c6f5d", false),
            (Kind::StatefulSet, "db", "db-12", true),
            (Kind::StatefulSet, "db", "db-", false),
            (Kind::StatefulSet, "db", "db-1a", false),
            (Kind::DaemonSet, "log", "log-x2x4z", false),
        ] {
            assert_eq!(is_of(kind, workload, pod), is, "{workload} {pod}");
        }
    }
}
