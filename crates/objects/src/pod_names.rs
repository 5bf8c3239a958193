//! The names that workloads give their Pods, by which the past of Pods that are gone is found.

use crate::kinds::Kind;

/// A workload as its Pods' names tell it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkloadName {
    pub namespace: Box<str>,
    /// Kind and name, as in `Deployment/web`.
    pub workload: Box<str>,
}

impl WorkloadName {
    /// The name without its kind; `None` for one that is no name of an object.
    pub fn name(&self) -> Option<&str> {
        let (_, name) = self.workload.split_once('/')?;
        let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        let are_names = name.bytes().chain(self.namespace.bytes()).all(is_of_names);
        are_names.then_some(name)
    }
}

/// The ending of a Deployment's Pods: the hash of the template, a number of 32 bits written in the
/// alphabet that Kubernetes makes such endings of, and five random characters. Below six digits there
/// is no such number in ten thousand, and a DaemonSet's or Job's name ends like that more often.
pub const DEPLOYMENT: &str =
    "-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}";

pub const STATEFUL_SET: &str = "-[0-9]+";

/// The longest name of a workload that its Pods' names contain in full, in characters.
const LONGEST_NAME: usize = 46;

/// The characters of such endings.
const SAFE: &str = "bcdfghjklmnpqrstvwxz2456789";

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
