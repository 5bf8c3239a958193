//! Queries in the parameters of a path:
//! `.../series/workload-resource?group=apps&kind=Deployment&...`. With `start`, `end` and `step`
//! for the past, otherwise for the newest values.

use evenkeel_objects::truncate::{OF_VALUE, excerpt};
use jiff::{SignedDuration, Timestamp};

use super::{QueryKind, RangeLimits, SeriesQuery, SeriesRange, SeriesRefusal, WrittenQuery};

pub(super) const ACCEPTED: &str = "name, selector, group, kind, resource, container, readyPodsOnly, \
                                   metric, metricSelector, start, end, step";

/// A question with the times that it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesRequest {
    pub query: SeriesQuery,
    /// `None` for what is newest.
    pub range: Option<SeriesRange>,
}

/// Reads a question of `namespace`: the name of its kind, and the parameters in their order.
///
/// # Errors
/// A kind that does not exist, and parameters that are none or make no question.
pub fn parse(
    namespace: &str,
    kind: &str,
    parameters: &[(String, String)],
    limits: RangeLimits,
) -> Result<SeriesRequest, SeriesRefusal> {
    let kind = QueryKind::named(kind).ok_or(SeriesRefusal::NoSuchPath)?;
    let mut written = WrittenQuery {
        namespace: namespace.to_owned(),
        ..WrittenQuery::default()
    };
    let [mut start, mut end, mut step] = [const { String::new() }; 3];
    let mut given: Vec<&str> = Vec::new();
    for (name, value) in parameters {
        if given.contains(&&**name) {
            return Err(SeriesRefusal::Parameter(format!(
                "{} is given twice",
                excerpt(name, OF_VALUE)
            )));
        }
        given.push(name);
        let place = match name.as_str() {
            "name" => &mut written.name,
            "selector" => &mut written.selector,
            "group" => &mut written.group,
            "kind" => &mut written.kind,
            "resource" => &mut written.resource,
            "container" => &mut written.container,
            "metric" => &mut written.metric,
            "metricSelector" => &mut written.metric_selector,
            "start" => &mut start,
            "end" => &mut end,
            "step" => &mut step,
            "readyPodsOnly" => {
                written.ready_pods_only = flag(value)?;
                continue;
            }
            other => {
                let other = excerpt(other, OF_VALUE);
                return Err(SeriesRefusal::Parameter(format!(
                    "there is no parameter {other:?}; accepted: {ACCEPTED}"
                )));
            }
        };
        place.clone_from(value);
    }
    let query = written.check(kind)?;
    let range = match [&*start, &*end, &*step] {
        ["", "", ""] => None,
        [start, end, step] => {
            let times = (time("start", start)?, time("end", end)?);
            Some(SeriesRange::check(times, duration(step)?, limits)?)
        }
    };
    Ok(SeriesRequest { query, range })
}

fn flag(value: &str) -> Result<bool, SeriesRefusal> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        other => Err(wrong("readyPodsOnly", other, "true or false")),
    }
}

/// A time in RFC 3339, or in seconds since 1970.
fn time(field: &str, text: &str) -> Result<Timestamp, SeriesRefusal> {
    let seconds = || Timestamp::from_second(text.parse().ok()?).ok();
    let time = text.parse().ok().or_else(seconds);
    time.ok_or_else(|| {
        let accepted = "a time such as 2026-03-02T09:00:00Z, or seconds since 1970; start, end and step \
                        belong together";
        wrong(field, text, accepted)
    })
}

/// A duration, or a number of seconds.
fn duration(text: &str) -> Result<SignedDuration, SeriesRefusal> {
    let seconds = || Some(SignedDuration::from_secs(text.parse().ok()?));
    let duration = text.parse().ok().or_else(seconds);
    duration.ok_or_else(|| {
        let accepted = "a duration such as 60s; start, end and step belong together";
        wrong("step", text, accepted)
    })
}

fn wrong(field: &str, given: &str, accepted: &str) -> SeriesRefusal {
    let given = excerpt(given, OF_VALUE);
    SeriesRefusal::Parameter(format!(
        "{field}: {given:?} is not accepted; accepted: {accepted}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series_query::SeriesSubject;

    const LIMITS: RangeLimits = RangeLimits {
        longest: SignedDuration::from_hours(24),
        points: 1_000,
    };

    fn parsed(kind: &str, text: &str) -> Result<SeriesRequest, SeriesRefusal> {
        let pairs: Vec<_> = text
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        parse("shop", kind, &pairs, LIMITS)
    }

    #[test]
    fn a_question_of_now_and_one_of_the_past() {
        let web = "group=apps&kind=Deployment&name=web&resource=cpu&readyPodsOnly=true";
        let now = parsed("workload-resource", web).unwrap();
        assert_eq!(now.range, None);
        let SeriesSubject::Workload { ready_only, .. } = now.query.subject else {
            panic!("a workload is asked about");
        };
        assert!(ready_only);
        for times in [
            "start=1000&end=1600&step=60",
            "start=1970-01-01T00:16:40Z&end=1600&step=1m",
        ] {
            let past = parsed("workload-resource", &format!("{web}&{times}")).unwrap();
            let range = past.range.unwrap();
            assert_eq!((range.first.as_second(), range.points), (1000, 11));
        }
    }

    #[test]
    fn what_is_no_question_is_refused_with_what_is_accepted() {
        let pod = "name=a&resource=cpu";
        for (kind, text, says, code) in [
            ("pods", pod.to_owned(), "series", 404),
            (
                "pod-resource",
                format!("{pod}&query=up"),
                "metricSelector, start",
                400,
            ),
            ("pod-resource", format!("{pod}&name=b"), "twice", 400),
            (
                "pod-resource",
                format!("{pod}&start=0"),
                "belong together",
                400,
            ),
            (
                "pod-resource",
                format!("{pod}&start=0&end=60&step=often"),
                "60s",
                400,
            ),
            (
                "pod-resource",
                format!("{pod}&start=0&end=90000&step=60"),
                "at most",
                400,
            ),
            ("pod-resource", "name=a&resource=gpu".to_owned(), "cpu", 400),
            (
                "workload-resource",
                "readyPodsOnly=yes".to_owned(),
                "true or false",
                400,
            ),
        ] {
            let refused = parsed(kind, &text).unwrap_err();
            assert_eq!(refused.answer().0, code, "{text}");
            assert!(refused.to_string().contains(says), "{text}: {refused}");
        }
    }
}
