//! The question for a signal of a target, where one is asked for it alone.

use std::sync::Arc;

use evenkeel_metrics::metric_query::{MetricQuery, MetricSubject, ServedMetric};
use evenkeel_metrics::signal::{PromQl, PromQlMetric, ResourceName, Signal};
use evenkeel_objects::pod_names;

use super::settings::Queries;
use super::target_objects::TargetObjects;

/// The place of the Pods in a query.
const PODS: &str = "$pods";

/// The most Pods that a query names one by one.
const NAMED: usize = 200;

/// The longest query once namespace and Pods stand in it, in bytes: it is sent with every question, and
/// kept with the answer.
const LONGEST_FILLED: usize = 64 * 1024;

/// The way to ask for a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalQuerySource {
    /// It is measured with that of all other Pods.
    Measured,
    /// It is asked for by itself.
    Asked(MetricQuery),
}

/// The question for a signal of a target.
///
/// # Errors
/// It cannot be asked, and why.
fn question(observed: &TargetObjects, signal: &Signal) -> Result<SignalQuerySource, &'static str> {
    let subject = match signal {
        Signal::Resource(_) => return Ok(SignalQuerySource::Measured),
        Signal::PromQl(query) => MetricSubject::PromQl(filled(&query.query, observed)?),
        other => {
            let workload = observed.workload.as_ref();
            let selector = workload.and_then(|workload| workload.selector.as_deref());
            let served = ServedMetric::of(other, selector);
            MetricSubject::Served(served.ok_or(
                "the query needs the selector of the workload, which is not known: the workload is \
                 no Deployment, StatefulSet or ReplicaSet, and no resource of scaling.kinds whose \
                 Scale has a selector",
            )?)
        }
    };
    Ok(SignalQuerySource::Asked(MetricQuery {
        namespace: Arc::clone(&observed.namespace),
        subject,
    }))
}

/// The question for a signal of a target, where it may and can be asked for.
///
/// # Errors
/// The reason against it.
pub(crate) fn accepted(
    signal: &Signal,
    observed: &TargetObjects,
    queries: Queries,
) -> Result<SignalQuerySource, &'static str> {
    let own = matches!(
        signal,
        Signal::PromQl(PromQl {
            metric: PromQlMetric::Own | PromQlMetric::Traffic(_),
            ..
        })
    );
    let measured = matches!(
        signal,
        Signal::Resource(ResourceName::Cpu | ResourceName::Memory)
    );
    let by_prometheus = matches!(signal, Signal::PromQl(_) | Signal::Resource(_)) && !measured;
    if by_prometheus && queries == Queries::Measured {
        return Err("metrics.source of the configuration is not prometheus");
    }
    if own && queries != Queries::Any {
        return Err("annotations may name presets only, because scaling.queries is not any");
    }
    question(observed, signal)
}

/// True where the question of a query is the same whichever Pods there are, so that what it tells of
/// the past is of the target as it was then.
pub fn tells_of_the_past(observed: &TargetObjects, query: &PromQl) -> bool {
    !query.query.contains(PODS) || named_by_workload(observed).is_some()
}

/// A query with namespace and Pods of a target in their places.
fn filled(query: &str, observed: &TargetObjects) -> Result<Arc<str>, &'static str> {
    let mut filled = within(query, "$namespace", || literal(&observed.namespace))?;
    filled = within(&filled, PODS, || pods(observed))?;
    Ok(filled.into())
}

/// A query with `text` in all the places of `name`, unless that would be too long.
fn within(
    query: &str,
    name: &str,
    text: impl FnOnce() -> Result<String, &'static str>,
) -> Result<String, &'static str> {
    let places = query.matches(name).count();
    if places == 0 {
        return Ok(query.to_owned());
    }
    let text = text()?;
    let longer = text.len().saturating_sub(name.len());
    if query.len().saturating_add(places.saturating_mul(longer)) > LONGEST_FILLED {
        return Err("with the namespace and Pods filled in, the query is longer than 65536 bytes");
    }
    Ok(query.replace(name, &text))
}

/// A regular expression for the Pods of a target: by the name of the workload where they are named by
/// it, so that the query stays the same when they change, else name by name.
fn pods(observed: &TargetObjects) -> Result<String, &'static str> {
    if let Some(ending) = named_by_workload(observed) {
        return Ok(format!("{}{ending}", literal(observed.target.name())?));
    }
    let members = &observed.pods.members;
    if members.len() > NAMED {
        return Err(
            "more than 200 Pods, and their names do not show the workload that they belong \
            to",
        );
    }
    let mut names: Vec<&str> = members.iter().map(|pod| &*pod.name).collect();
    names.sort_unstable();
    let names: Result<Vec<_>, _> = names.into_iter().map(literal).collect();
    Ok(names?.join("|"))
}

/// The ending of the names of the Pods, where they begin with that of the workload.
fn named_by_workload(observed: &TargetObjects) -> Option<&'static str> {
    let target = &observed.target;
    pod_names::ending(target.object().kind(), target.name())
}

/// A name that stands for itself in a string and in a regular expression. A class takes the dot's
/// meaning away without a character that a string would need escaped.
fn literal(name: &str) -> Result<String, &'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err("a name with characters that names of namespaces and Pods cannot have");
    }
    Ok(name.replace('.', "[.]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::reference::TargetRef;
    use crate::targets::target_objects::TargetPodFacts;

    fn observed(kind: &str, name: &str, pods: &[&str]) -> TargetObjects {
        let member = |name: &&str| {
            let pod = serde_json::json!({"metadata": {"name": name}, "spec": {"containers": []}});
            let pod: evenkeel_objects::pod::Pod = serde_json::from_value(pod).unwrap();
            Arc::new((&pod).into())
        };
        TargetObjects {
            namespace: "shop".into(),
            namespace_policy: Arc::default(),
            autoscaler: None,
            ihpa: None,
            portraits: Vec::new(),
            profiles: crate::targets::observed_profiles::ObservedProfiles::default(),
            scaled_object: None,
            workload: None,
            target: TargetRef::new("apps/v1", kind, "shop", name),
            pods: TargetPodFacts {
                members: pods.iter().map(member).collect(),
                ..TargetPodFacts::default()
            },
        }
    }

    #[test]
    fn namespace_and_pods_are_filled_in() {
        let query = "sum(x{namespace=\"$namespace\",pod=~\"$pods\"})";
        for (observed, text) in [
            (
                observed("Deployment", "web.v1", &[]),
                "sum(x{namespace=\"shop\",pod=~\"web[.]v1-[bcdfghjklmnpqrstvwxz2456789]{6,10}\
                 -[bcdfghjklmnpqrstvwxz2456789]{5}\"})",
            ),
            (
                observed("StatefulSet", "db", &["db-0"]),
                "sum(x{namespace=\"shop\",pod=~\"db-[0-9]+\"})",
            ),
            (
                observed("Rollout", "web", &["web-b", "web-a"]),
                "sum(x{namespace=\"shop\",pod=~\"web-a|web-b\"})",
            ),
        ] {
            assert_eq!(filled(query, &observed).as_deref(), Ok(text));
        }
        let plain = observed("Rollout", "web", &[]);
        assert_eq!(filled("sum(up)", &plain).as_deref(), Ok("sum(up)"));
    }

    #[test]
    fn the_names_of_todays_pods_tell_nothing_of_the_past() {
        let of_pods = PromQl::own("sum(x{pod=~\"$pods\"})");
        let of_all = PromQl::own("sum(x{namespace=\"$namespace\"})");
        let (web, rollout) = (
            observed("Deployment", "web", &["web-a"]),
            observed("Rollout", "web", &["web-a"]),
        );
        for (observed, query, tells) in [
            (&web, &of_pods, true),
            (&web, &of_all, true),
            (&rollout, &of_pods, false),
            (&rollout, &of_all, true),
        ] {
            assert_eq!(tells_of_the_past(observed, query), tells, "{query:?}");
        }
    }

    #[test]
    fn a_name_that_would_end_the_string_is_refused() {
        for name in ["a\"} or up{x=\"", "a|.*", "a\\", "", "A"] {
            assert!(literal(name).is_err(), "{name}");
            let observed = observed("Rollout", "web", &[name]);
            assert!(filled("x{pod=~\"$pods\"}", &observed).is_err(), "{name}");
        }
    }

    /// The harm: some hundred places with two hundred names each are 20 MB, made anew three times a tick.
    #[test]
    fn a_query_that_its_pods_make_too_long_is_refused() {
        let long = |number: usize| format!("{number:03}{}", "a".repeat(250));
        let names: Vec<String> = (0..NAMED).map(long).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let observed = observed("Rollout", "web", &names);
        let places = |count: usize| format!("x{{pod=~\"$pods\"}} {}", "$pods".repeat(count - 1));
        assert!(filled(&places(1), &observed).unwrap().len() < LONGEST_FILLED);
        let own = Signal::PromQl(PromQl::own(&places(400)));
        let refused = accepted(&own, &observed, Queries::Any).unwrap_err();
        assert!(refused.contains("longer than 65536 bytes"), "{refused}");
    }

    #[test]
    fn the_configuration_says_whose_queries_are_asked() {
        let observed = observed("Deployment", "web", &[]);
        let own = Signal::PromQl(PromQl::own("sum(up)"));
        let gpu = Signal::PromQl(PromQl {
            metric: PromQlMetric::Gpu,
            query: "sum(up)".into(),
        });
        let network = Signal::Resource("networkIo".into());
        for (signal, from) in [
            (&Signal::CPU, Queries::Measured),
            (&network, Queries::Presets),
            (&gpu, Queries::Presets),
            (&own, Queries::Any),
        ] {
            for queries in [Queries::Measured, Queries::Presets, Queries::Any] {
                let accepted = accepted(signal, &observed, queries).is_ok();
                assert_eq!(accepted, queries >= from, "{signal} {queries:?}");
            }
        }
    }
}
