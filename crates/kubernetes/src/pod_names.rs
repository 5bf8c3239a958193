//! The names that workloads give their Pods, by which the past of Pods that are gone is found.

use crate::kinds::Kind;

/// The ending of a Deployment's Pods: the hash of the template, a number of 32 bits written in the
/// alphabet that Kubernetes makes such endings of, and five random characters. Below six digits there
/// is no such number in ten thousand, and a DaemonSet's or Job's name ends like that more often.
pub const DEPLOYMENT: &str =
    "-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}";

/// The ending of a StatefulSet's Pods.
pub const STATEFUL_SET: &str = "-[0-9]+";

/// The longest name of a workload whose Pods' names are not cut short.
const LONGEST_NAME: usize = 46;

/// A regular expression for what the Pods of a workload have behind its name; `None` where their names
/// do not tell which workload they belong to.
#[must_use]
pub fn ending(kind: Option<Kind>, workload: &str) -> Option<&'static str> {
    let ending = match kind? {
        Kind::Deployment => DEPLOYMENT,
        Kind::StatefulSet => STATEFUL_SET,
        _ => return None,
    };
    (workload.len() <= LONGEST_NAME).then_some(ending)
}
