//! Schedules in numbers, and what comes of rules over days.

mod clock_changes;
mod expressions;
mod schedules;
mod ticks;
mod work;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::*;

/// A moment written with its offset.
fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn schedule(text: &str) -> Schedule {
    Schedule::parse(text, None, &Zone::utc()).unwrap()
}

fn run(name: &str, text: &str, replicas: i32) -> Rule {
    Rule {
        name: name.to_owned(),
        when: RuleTiming::Run(schedule(text)),
        replicas,
        run_once: false,
        suspended: false,
        excluded: Arc::default(),
    }
}

fn window(name: &str, (start, end): (&str, &str), replicas: i32) -> Rule {
    Rule {
        when: RuleTiming::Window {
            start: schedule(start),
            end: schedule(end),
        },
        ..run(name, start, replicas)
    }
}

fn excluding(rule: Rule, days: &[&str]) -> Rule {
    let days = days.iter().map(|day| ExcludedDay::parse(day).unwrap());
    Rule {
        excluded: Arc::new(days.collect()),
        ..rule
    }
}

fn once(rule: Rule) -> Rule {
    Rule {
        run_once: true,
        ..rule
    }
}

fn spec(rules: Vec<Rule>) -> CronSpec {
    CronSpec::new(rules, false, SignedDuration::from_mins(5)).unwrap()
}
