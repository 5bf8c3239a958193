//! The checks, in the order in which a reader wants their answers: is it there, does it run, is it
//! called, does it know what it needs, and what does it hold back.

mod calls;
mod certificate;
mod install;
mod leftovers;
mod measuring;
mod namespaces;
mod network;
mod outside;
mod rights;
mod scheduler;
mod waiting;
mod webhook;
mod writing;

use super::observation::{Observation, Replica, Seen, Unseen};
use super::{Finding, Page};
use crate::certificates::Serving;
use crate::config::{Config, ConfigError};
use evenkeel_kubernetes::namespace_policy::NamespacePolicy;

/// What a check found; the finding that its subject could not be looked at is the error.
type Found = Result<Vec<Finding>, Finding>;

const CHECKS: &[fn(&Sight<'_>) -> Found] = &[
    install::server_version,
    install::program_version,
    install::configuration,
    install::deployment,
    install::spread,
    writing::leader,
    writing::kill_switch,
    writing::guard,
    rights::check,
    webhook::registration,
    certificate::serving,
    certificate::trusted,
    webhook::endpoints,
    webhook::trial,
    network::check,
    scheduler::address,
    scheduler::called,
    scheduler::whole_nodes,
    scheduler::names,
    calls::check,
    measuring::fresh,
    measuring::names,
    measuring::capacity,
    namespaces::opted_in,
    namespaces::annotations,
    namespaces::mirror,
    waiting::check,
    leftovers::check,
];

/// What is right and what is not, and how to mend it; at least one finding for each check.
#[must_use]
pub fn check(observation: &Observation) -> Vec<Finding> {
    let sight = Sight::new(observation);
    let run = |check: &fn(&Sight<'_>) -> Found| check(&sight).unwrap_or_else(|blind| vec![blind]);
    CHECKS.iter().flat_map(run).collect()
}

/// An observation with what several checks derive from it.
struct Sight<'a> {
    seen: &'a Observation,
    /// The configuration in force; `None` where there is none to be read.
    configured: Option<Result<Config, ConfigError>>,
    /// What each replica exports, as far as it was seen.
    pages: Vec<(&'a str, Page)>,
}

impl<'a> Sight<'a> {
    fn new(seen: &'a Observation) -> Self {
        Self {
            seen,
            configured: seen.configured(),
            pages: pages(seen),
        }
    }

    /// The configuration that the replicas run with, where it is known.
    fn config(&self) -> Option<&Config> {
        self.configured.as_ref()?.as_ref().ok()
    }

    /// The configuration of the certificates that Evenkeel makes for itself, which is the default.
    fn makes_certificates(&self) -> bool {
        self.config()
            .is_none_or(|config| matches!(config.certificates.serving, Serving::SelfManaged(_)))
    }

    /// What each replica exports: at least one page.
    fn pages(&self, id: &'static str, subject: &str) -> Result<&[(&'a str, Page)], Finding> {
        if !self.pages.is_empty() {
            return Ok(&self.pages);
        }
        self.seen.outside.look(id, subject)?;
        let replicas = self.seen.replicas.look(id, subject)?;
        for replica in replicas.into_iter().flatten() {
            replica.metrics.look(id, subject)?;
        }
        let nobody = Unseen::Without("no replica tells its metrics".to_owned());
        let unseen: Seen<()> = Seen::Unseen(nobody);
        unseen.look(id, subject).map(|_| &self.pages[..])
    }

    /// A command about Evenkeel's own namespace.
    fn kubectl(&self, arguments: &str) -> String {
        format!("kubectl -n {} {arguments}", self.seen.namespace)
    }

    /// The namespaces that have opted in, by name.
    fn opted_in(&self) -> Vec<&'a str> {
        let namespaces = self.seen.namespaces.there().into_iter().flatten();
        namespaces
            .filter(|namespace| {
                NamespacePolicy::parse(&namespace.metadata.annotations)
                    .0
                    .enabled
            })
            .filter_map(|namespace| namespace.metadata.name.as_deref())
            .collect()
    }
}

fn replicas(seen: &Observation) -> &[Replica] {
    seen.replicas.there().map_or(&[], Vec::as_slice)
}

/// What was exported, by the names of the Pods, or by that of the program where it is in none.
fn pages(seen: &Observation) -> Vec<(&str, Page)> {
    let outside = seen.outside.there();
    let outside = outside.map(|text| (outside::NAME, Page::parse(text)));
    replicas(seen)
        .iter()
        .filter_map(page)
        .chain(outside)
        .collect()
}

fn page(replica: &Replica) -> Option<(&str, Page)> {
    let name = replica.pod.metadata.name.as_deref()?;
    Some((name, Page::parse(replica.metrics.there()?)))
}

/// How many findings name before they count the rest.
const NAMED: usize = 5;

/// The first of `names`, and how many more there are.
fn named<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A count with the right form of what is counted.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A duration as people say it.
fn about(duration: jiff::SignedDuration) -> String {
    let seconds = duration.as_secs();
    match seconds.unsigned_abs() {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_times_are_rounded() {
        assert_eq!(named(&["a", "b"]), "a, b");
        assert_eq!(named(&["a"; 7]), "a, a, a, a, a and 2 more");
        for (seconds, text) in [
            (119, "119 s"),
            (-30, "-30 s"),
            (120, "2 min"),
            (7_200, "2 h"),
            (864_000, "10 days"),
        ] {
            assert_eq!(about(jiff::SignedDuration::from_secs(seconds)), text);
        }
    }
}
