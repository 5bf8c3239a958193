//! From the spec of a CronHPA to its rules, or to what is wrong with it and where.
//!
//! The schema's own rules refuse most of it at the API server; zones, days and the fields of schedules
//! are checked here alone.

use std::sync::Arc;

use evenkeel_api::cron_hpa::spec::{
    CronHpaSpec, CronRule, MOST_CRONS, MOST_DAYS, MOST_DAYS_OF_ALL,
};
use evenkeel_cron::{
    CronSpec, CronSpecError, ExcludedDay, ExcludedDayError, ExcludedDays, Rule, RuleTiming,
    Schedule, ScheduleError, UnknownZone, Zone,
};
use jiff::SignedDuration;

/// The time within which a missed run is made up for, where the spec does not say.
const STARTING_DEADLINE: i64 = 300;

/// A spec that is not accepted, with the path of what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct CronHpaError {
    path: String,
    problem: CronHpaSpecFault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum CronHpaSpecFault {
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error(transparent)]
    Zone(#[from] UnknownZone),
    #[error(transparent)]
    Day(#[from] ExcludedDayError),
    #[error(transparent)]
    Rules(#[from] CronSpecError),
    #[error("accepted: a schedule and a target, or a start, an end and replicas")]
    Form,
    #[error("accepted: a window, which has a start, an end and replicas")]
    NoWindow,
    #[error("there are {count}; accepted: at most {most}{}", of(*of_all))]
    TooMany {
        count: usize,
        most: usize,
        /// True where all lists of the spec are counted together.
        of_all: bool,
    },
    #[error(
        "the window never closes: each time of end is also a time of start; accepted: an end at \
         another time than start"
    )]
    NeverCloses,
    #[error("start and end have two time zones, {0} and {1}; accepted: one for both")]
    ZonesOfWindow(Zone, Zone),
}

impl CronHpaError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match &self.problem {
            CronHpaSpecFault::Schedule(error) => error.reason(),
            CronHpaSpecFault::Zone(error) => error.reason(),
            CronHpaSpecFault::Day(error) => error.reason(),
            CronHpaSpecFault::Rules(error) => error.reason(),
            CronHpaSpecFault::Form | CronHpaSpecFault::NoWindow => "Form",
            CronHpaSpecFault::TooMany { .. } => "TooMany",
            CronHpaSpecFault::NeverCloses => "NeverCloses",
            CronHpaSpecFault::ZonesOfWindow(..) => "TwoTimeZones",
        }
    }
}

const fn of(of_all: bool) -> &'static str {
    if of_all {
        ", the spec and all crons together"
    } else {
        ""
    }
}

/// Adds the path to what is wrong there.
fn at<T, E: Into<CronHpaSpecFault>>(
    path: impl FnOnce() -> String,
    result: Result<T, E>,
) -> Result<T, CronHpaError> {
    result.map_err(|problem| CronHpaError {
        path: path(),
        problem: problem.into(),
    })
}

/// The rules of a spec.
///
/// # Errors
/// The first thing in it that is not accepted.
pub fn check(spec: &CronHpaSpec) -> Result<CronSpec, CronHpaError> {
    check_at("spec", spec)
}

/// The windows alone that stand in the field `crons` of the object at a path, in UTC unless they say otherwise.
///
/// # Errors
/// The first thing in them that is not accepted, and a cron that is no window.
pub(crate) fn check_windows(path: &str, crons: Vec<CronRule>) -> Result<CronSpec, CronHpaError> {
    if let Some(place) = crons.iter().position(|cron| cron.start.is_none()) {
        return at(
            || format!("{path}.crons[{place}]"),
            Err(CronHpaSpecFault::NoWindow),
        );
    }
    let spec = CronHpaSpec {
        crons,
        ..CronHpaSpec::default()
    };
    check_at(path, &spec)
}

fn check_at(path: &str, spec: &CronHpaSpec) -> Result<CronSpec, CronHpaError> {
    let CronHpaSpec {
        scale_target_ref: _,
        scale_workload_ref: _,
        time_zone,
        crons,
        exclude_dates,
        suspend,
        starting_deadline_seconds,
    } = spec;
    counts(path, spec)?;
    let zone = zone(time_zone.as_deref(), || format!("{path}.timeZone"))?;
    let everywhere = days(exclude_dates, &format!("{path}."))?;
    let defaults = Defaults {
        zone: zone.unwrap_or_else(Zone::utc),
        excluded: Arc::new(everywhere.into_iter().collect()),
    };
    let rules = crons
        .iter()
        .enumerate()
        .map(|(place, cron)| defaults.rule(&format!("{path}.crons[{place}]"), cron));
    let rules: Vec<Rule> = rules.collect::<Result<_, _>>()?;
    let deadline = starting_deadline_seconds.unwrap_or(STARTING_DEADLINE);
    let deadline = SignedDuration::from_secs(deadline);
    let spec = CronSpec::new(rules, suspend.unwrap_or(false), deadline);
    at(|| format!("{path}.crons"), spec)
}

/// Holds the lists of a spec to their lengths: its schema does the same, where it is of this version.
fn counts(of: &str, spec: &CronHpaSpec) -> Result<(), CronHpaError> {
    let within = |path: String, count, most, of_all| {
        let too_many = CronHpaSpecFault::TooMany {
            count,
            most,
            of_all,
        };
        at(|| path, if count <= most { Ok(()) } else { Err(too_many) })
    };
    let CronHpaSpec {
        crons,
        exclude_dates,
        ..
    } = spec;
    within(format!("{of}.crons"), crons.len(), MOST_CRONS, false)?;
    let path = |of: &str| format!("{of}.excludeDates");
    within(path(of), exclude_dates.len(), MOST_DAYS, false)?;
    for (place, cron) in crons.iter().enumerate() {
        let path = path(&format!("{of}.crons[{place}]"));
        within(path, cron.exclude_dates.len(), MOST_DAYS, false)?;
    }
    let own: usize = crons.iter().map(|cron| cron.exclude_dates.len()).sum();
    within(path(of), exclude_dates.len() + own, MOST_DAYS_OF_ALL, true)
}

/// The values for every rule that does not set its own.
struct Defaults {
    zone: Zone,
    excluded: Arc<ExcludedDays>,
}

impl Defaults {
    fn rule(&self, path: &str, cron: &CronRule) -> Result<Rule, CronHpaError> {
        let CronRule {
            name,
            schedule,
            target,
            start,
            end,
            replicas,
            time_zone,
            exclude_dates,
            run_once,
            suspend,
        } = cron;
        let own = zone(time_zone.as_deref(), || format!("{path}.timeZone"))?;
        let excluded = self.excluding(days(exclude_dates, &format!("{path}."))?);
        let parse = |field: &str, text: &str| {
            let parsed = Schedule::parse(text, own.as_ref(), &self.zone);
            at(|| format!("{path}.{field}"), parsed)
        };
        let (when, replicas, text) = match (schedule, target, start, end, replicas) {
            (Some(schedule), Some(target), None, None, None) => {
                let when = RuleTiming::Run(parse("schedule", schedule)?);
                (when, *target, schedule.clone())
            }
            (None, None, Some(start), Some(end), Some(replicas)) => {
                let text = format!("{start} to {end}");
                let (start, end) = (parse("start", start)?, parse("end", end)?);
                if start.zone() != end.zone() {
                    let zones = (start.zone().clone(), end.zone().clone());
                    let differ = Err(CronHpaSpecFault::ZonesOfWindow(zones.0, zones.1));
                    return at(|| path.to_owned(), differ);
                }
                if start.includes(&end, &excluded) {
                    return at(|| format!("{path}.end"), Err(CronHpaSpecFault::NeverCloses));
                }
                (RuleTiming::Window { start, end }, *replicas, text)
            }
            _ => return at(|| path.to_owned(), Err(CronHpaSpecFault::Form)),
        };
        Ok(Rule {
            name: name.clone().unwrap_or(text),
            when,
            replicas,
            run_once: run_once.unwrap_or(false),
            suspended: suspend.unwrap_or(false),
            excluded,
        })
    }

    /// The days of every rule, and those of one beside them.
    fn excluding(&self, own: Vec<ExcludedDay>) -> Arc<ExcludedDays> {
        let mut excluded = Arc::clone(&self.excluded);
        if !own.is_empty() {
            Arc::make_mut(&mut excluded).extend(own);
        }
        excluded
    }
}

fn zone(name: Option<&str>, path: impl FnOnce() -> String) -> Result<Option<Zone>, CronHpaError> {
    at(path, name.map(Zone::parse).transpose())
}

fn days(texts: &[String], path: &str) -> Result<Vec<ExcludedDay>, CronHpaError> {
    let days = texts.iter().enumerate().map(|(place, text)| {
        at(
            || format!("{path}excludeDates[{place}]"),
            ExcludedDay::parse(text),
        )
    });
    days.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(spec: Value) -> Result<CronSpec, CronHpaError> {
        check(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn the_manifest_of_the_article_is_accepted() {
        let spec = checked(json!({
            "crons": [{"schedule": "CRON_TZ=Asia/Shanghai 1 1 * * *", "target": 1}],
            "scaleTargetRef": {"kind": "HorizontalPodAutoscaler", "name": "nginx-hpa"},
            "scaleWorkloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"},
        }))
        .unwrap();
        let rule = &spec.rules()[0];
        assert_eq!(rule.name, "CRON_TZ=Asia/Shanghai 1 1 * * *");
        assert_eq!(
            (rule.replicas, rule.zone().to_string()),
            (1, "Asia/Shanghai".to_owned())
        );
        assert_eq!(spec.starting_deadline().as_secs(), 300);
    }

    /// The harm: a window was refused as one that never closes, although each year it closes on days on which it does not
    /// open. Dates that come once keep it from being refused for no longer than they last.
    #[test]
    fn a_window_closes_at_its_start_on_a_day_that_is_excluded() {
        let window = |end: &str, excluded: &[&str]| {
            checked(
                json!({"crons": [{"start": "0 8 * * *", "end": end, "replicas": 2,
                "excludeDates": excluded}]}),
            )
        };
        for (end, excluded, closes) in [
            ("0 8 * * *", &[][..], false),
            ("0 8 * * *", &["2020-12-25"], false),
            ("0 8 * * *", &["* * * * SUN"], true),
            ("0 8 * * MON", &["* * * * SUN"], false),
            ("0 8 24 12 *", &["* * 24 12 *"], true),
            ("0 8 * * MON", &["1900-01-01/9999-12-31"], false),
        ] {
            let refused = window(end, excluded).err();
            assert_eq!(refused.is_none(), closes, "{end} {excluded:?} {refused:?}");
        }
    }

    #[test]
    fn rules_take_what_they_do_not_say_from_the_spec() {
        let spec = checked(json!({
            "timeZone": "Europe/Berlin", "suspend": true, "startingDeadlineSeconds": 60,
            "excludeDates": ["2026-12-25"],
            "crons": [
                {"name": "a", "start": "0 8 * * *", "end": "0 9 * * *", "replicas": 3,
                    "excludeDates": ["* * * * SUN"], "runOnce": true},
                {"name": "b", "schedule": "0 8 * * *", "target": 3, "timeZone": "UTC",
                    "suspend": true},
            ],
        }))
        .unwrap();
        let [a, b] = spec.rules() else {
            panic!("{spec:?}")
        };
        assert_eq!(
            (a.zone().to_string(), a.run_once),
            ("Europe/Berlin".to_owned(), true)
        );
        assert_eq!(
            (b.zone().to_string(), b.suspended),
            ("UTC".to_owned(), true)
        );
        let excluded = |rule: &Rule, day: &str| rule.excluded.contain(day.parse().unwrap());
        for (day, by_a, by_b) in [
            ("2026-12-25", true, true),
            ("2026-12-27", true, false),
            ("2026-12-28", false, false),
        ] {
            assert_eq!((excluded(a, day), excluded(b, day)), (by_a, by_b), "{day}");
        }
        assert!(spec.is_suspended());
    }

    /// The largest object held 226 MiB ten times over: each rule had a copy of all days, and each day
    /// five thousand years.
    #[test]
    fn the_largest_spec_that_is_accepted_holds_little() {
        let field = |most: u32| {
            let numbers = (0..60).map(|one| (one % most).to_string());
            numbers.collect::<Vec<_>>().join(",")
        };
        let text = |minutes: u32| {
            format!(
                "TZ=America/Argentina/ComodRivadavia {} {} * * *",
                field(minutes),
                field(24)
            )
        };
        let (start, end) = (text(59), text(60));
        let days = |from: usize, count: usize| -> Vec<String> {
            let day =
                |place: usize| format!("* * {},{} 1-12 +MON-FRI", place % 28 + 1, place / 28 + 1);
            (from..from + count).map(day).collect()
        };
        let own = (MOST_DAYS_OF_ALL - MOST_DAYS) / MOST_CRONS;
        let crons = (0..MOST_CRONS).map(|place| {
            json!({"name": format!("{place:0>128}"), "start": start, "end": end, "replicas": 1,
                "excludeDates": days(place * own, own)})
        });
        let spec = json!({
            "crons": crons.collect::<Vec<_>>(), "excludeDates": days(0, MOST_DAYS),
        });
        let bytes = checked(spec.clone()).unwrap().bytes();
        let text = spec.to_string().len();
        assert!((10_000..100_000).contains(&bytes), "{bytes} of {text}");
        assert!(bytes < 4 * text, "{bytes} of {text}");
        // Dates are held as they are, and no longer than that.
        let dates: Vec<_> = (0..MOST_DAYS)
            .map(|place| format!("{}-01-01", 2026 + 2 * place))
            .collect();
        let mut with_dates = spec;
        with_dates["excludeDates"] = json!(dates);
        assert!(checked(with_dates).unwrap().bytes() < 120_000);
    }

    #[test]
    fn lists_that_are_too_long_are_refused_before_they_are_read() {
        let day = |_: usize| "2026-12-25".to_owned();
        let days = |count: usize| (0..count).map(day).collect::<Vec<_>>();
        let cron = |place: usize, own: usize| {
            json!({"name": place.to_string(), "schedule": "0 8 * * *", "target": 1,
                "excludeDates": days(own)})
        };
        let crons =
            |count: usize, own: usize| (0..count).map(|place| cron(place, own)).collect::<Vec<_>>();
        for (spec, told) in [
            (
                json!({"crons": crons(33, 0)}),
                "spec.crons: there are 33; accepted: at most 32",
            ),
            (
                json!({"crons": crons(1, 0), "excludeDates": days(65)}),
                "spec.excludeDates: there are 65; accepted: at most 64",
            ),
            (
                json!({"crons": crons(1, 65)}),
                "spec.crons[0].excludeDates: there are 65; accepted: at most 64",
            ),
            (
                json!({"crons": crons(13, 5), "excludeDates": days(64)}),
                "spec.excludeDates: there are 129; accepted: at most 128, the spec and all crons \
                 together",
            ),
        ] {
            let error = checked(spec).unwrap_err();
            assert_eq!(
                (error.reason(), error.to_string().as_str()),
                ("TooMany", told)
            );
        }
        checked(json!({"crons": crons(32, 2), "excludeDates": days(64)})).unwrap();
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (spec, reason, told) in [
            (json!({}), "NoRule", "spec.crons: there is no rule"),
            (
                json!({"timeZone": "Berlin"}),
                "TimeZone",
                "spec.timeZone: \"Berlin\"",
            ),
            (
                json!({"excludeDates": ["2026-12-25", "xmas"]}),
                "ExcludedDay",
                "spec.excludeDates[1]: \"xmas\"",
            ),
            (
                json!({"crons": [{"schedule": "61 * * * *", "target": 1}]}),
                "Schedule",
                "spec.crons[0].schedule: \"61 * * * *\"",
            ),
            (
                json!({"crons": [{"schedule": "1 * * * *"}]}),
                "Form",
                "spec.crons[0]: accepted: a schedule and a target",
            ),
            (
                json!({"crons": [{"start": "0 8 * * *", "end": "x", "replicas": 2}]}),
                "Schedule",
                "spec.crons[0].end: \"x\"",
            ),
            (
                json!({"crons": [{"start": "TZ=UTC 0 8 * * *", "end": "TZ=Asia/Tokyo 0 9 * * *",
                    "replicas": 2}]}),
                "TwoTimeZones",
                "spec.crons[0]: start and end have two time zones, UTC and Asia/Tokyo",
            ),
            (
                json!({"crons": [{"start": "0 8 * * *", "end": "0 8 * * *", "replicas": 2}]}),
                "NeverCloses",
                "spec.crons[0].end: the window never closes",
            ),
            (
                json!({"timeZone": "Europe/Berlin",
                    "crons": [{"start": "*/30 * * * *", "end": "00 08 * * MON", "replicas": 2}]}),
                "NeverCloses",
                "spec.crons[0].end: the window never closes",
            ),
            (
                json!({"crons": [{"schedule": "1 * * * *", "target": 1},
                    {"schedule": "1 * * * *", "target": 2}]}),
                "SameName",
                "spec.crons: two rules have the name \"1 * * * *\"",
            ),
            (
                json!({"crons": [{"schedule": "1 * * * *", "target": -1}]}),
                "Replicas",
                "accepted: 0 or more",
            ),
        ] {
            let error = checked(spec.clone()).unwrap_err();
            assert_eq!(error.reason(), reason, "{spec}");
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}
