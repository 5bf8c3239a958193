//! The explanation of a target for people: sentences first, then tables of its loads and conditions.

use std::io;
use std::io::Write;
use std::sync::Arc;

use comfy_table::Cell;
use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_scaling::status::HorizonParts;
use evenkeel_scaling::status::dashboard::{LoadStatus, ScalingStatus};
use evenkeel_terminal::output::{Report, Style, fit_to_width, right};
use serde::Serialize;

use crate::commands::explain::printable::printable;

#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct TargetReport(pub(super) Vec<Arc<ScalingStatus>>);

impl Report for TargetReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for (position, target) in self.0.iter().enumerate() {
            if position > 0 {
                writeln!(to)?;
            }
            print_target(target, to, style)?;
        }
        Ok(())
    }
}

fn print_target(target: &ScalingStatus, to: &mut dyn Write, style: Style) -> io::Result<()> {
    let ScalingStatus {
        namespace, object, ..
    } = target;
    let title = format!("{} {namespace}/{}", object.kind, object.name);
    writeln!(to, "{}", style.emphasis(&title))?;
    for sentence in sentences(target) {
        writeln!(to, "{}", printable(&sentence))?;
    }
    loads(&target.loads, to, style)?;
    conditions(target, to, style)
}

/// The decision with its reason, and the figures that hold or move it.
fn sentences(target: &ScalingStatus) -> Vec<String> {
    let ScalingStatus {
        workload,
        mode,
        decided,
        current,
        reason,
        grounds,
        ..
    } = target;
    let count = |replicas: &Option<i32>| match replicas {
        Some(1) => "1 replica".to_owned(),
        Some(replicas) => format!("{replicas} replicas"),
        None => "an unknown number of replicas".to_owned(),
    };
    let (kind, name) = (&workload.kind, &workload.name);
    let mut told = vec![format!("{kind} {name} has {}.", count(current))];
    let decision = match (&**mode, decided) {
        (_, None) => format!("Nothing is decided: {reason}."),
        ("direct", Some(_)) => format!("Evenkeel sets {}: {reason}.", count(decided)),
        ("floor", Some(_)) => format!("Evenkeel wants at least {}: {reason}.", count(decided)),
        ("recommend", Some(_)) => {
            format!(
                "Evenkeel recommends {}, and sets none: {reason}.",
                count(decided)
            )
        }
        _ => format!(
            "Evenkeel would set {}, in mode {mode}: {reason}.",
            count(decided)
        ),
    };
    told.push(decision);
    told.push(format!("Basis of the decision: {grounds}."));
    if let Some(floor) = &target.floor {
        let (floor, until) = (floor.replicas, floor.until);
        told.push(format!(
            "minReplicas is raised to {floor} until {until:.0}, unless it is renewed."
        ));
    }
    let bound =
        |bound: Option<i32>| bound.map_or_else(|| "?".to_owned(), |bound| bound.to_string());
    let (min, max) = (bound(target.min), bound(target.max));
    told.push(format!("The bounds are {min} to {max}."));
    told.extend(
        target
            .loads
            .iter()
            .filter_map(|load| next_step(load, *decided)),
    );
    told.extend(horizon(target));
    told
}

/// The load above which the decided replicas carry more than their target.
fn next_step(load: &LoadStatus, decided: Option<i32>) -> Option<String> {
    let each = load.request * load.target;
    let decided = decided.filter(|_| each > 0.0)?;
    let carried = f64::from(decided) * each;
    let unit = unit(load).readable(carried);
    let carried_text = unit.amount(carried);
    let resource = &load.resource;
    let capacity =
        format!("At their target of {resource}, {decided} replicas carry {carried_text}.");
    Some(match load.now {
        None => format!("{capacity} There is no fresh measurement of the load."),
        Some(now) if now <= carried => {
            let (now, room) = (unit.amount(now), unit.amount(carried - now));
            format!("{capacity} The load is now {now}, {room} below that.")
        }
        Some(now) => {
            let (now, excess) = (unit.amount(now), unit.amount(now - carried));
            format!("{capacity} The load is now {now}, {excess} above that.")
        }
    })
}

fn horizon(target: &ScalingStatus) -> Option<String> {
    let seconds = target.horizon_seconds?;
    let Some(HorizonParts {
        age,
        half_window,
        sync,
        tick,
        start_up,
        node_start_up,
    }) = target.horizon_parts
    else {
        return Some(format!("It looks {seconds} s beyond the measured load."));
    };
    let parts = [
        ("age of measurements", age),
        ("half of the rate window", half_window),
        ("interval of the HPA", sync),
        ("interval of decisions", tick),
        ("start of a Pod", start_up),
        ("start of a node", node_start_up),
    ];
    let parts = parts.into_iter().filter(|(_, seconds)| *seconds > 0);
    let parts: Vec<String> = parts
        .map(|(part, seconds)| format!("{part} {seconds} s"))
        .collect();
    Some(format!(
        "It looks {seconds} s beyond the measured load: {}.",
        parts.join(", ")
    ))
}

fn unit(load: &LoadStatus) -> LoadUnit {
    LoadUnit::named(&load.unit).unwrap_or(LoadUnit::One)
}

fn loads(loads: &[LoadStatus], to: &mut dyn Write, style: Style) -> io::Result<()> {
    if loads.is_empty() {
        return Ok(());
    }
    let header = [
        "LOAD",
        "NOW",
        "EXPECTED",
        "80 %",
        "MODEL",
        "PER REPLICA",
        "NEEDS NOW",
        "NEEDS THEN",
    ];
    let mut table = style.table(header.map(Cell::new));
    for load in loads {
        let forecast = load.forecast.as_ref();
        let size = load.now.or(forecast.map(|forecast| forecast.mean));
        let unit = unit(load).readable(size.unwrap_or_default());
        let each = load.request * load.target;
        let needs = |load: f64| {
            let replicas = (load / each).ceil();
            if replicas.is_finite() {
                format!("{replicas:.0}")
            } else {
                "?".to_owned()
            }
        };
        let text = |value: Option<String>| right(value.unwrap_or_else(|| "?".to_owned()));
        let interval = forecast.map(|forecast| {
            let (least, most) = (forecast.lower80, forecast.upper80);
            format!("{} to {}", unit.number(least), unit.number(most))
        });
        table.add_row([
            Cell::new(&load.resource),
            text(load.now.map(|now| unit.amount(now))),
            text(forecast.map(|forecast| unit.amount(forecast.mean))),
            text(interval),
            Cell::new(model(load)),
            right(unit.amount(each)),
            text(load.now.map(needs)),
            text(forecast.map(|forecast| needs(forecast.mean))),
        ]);
    }
    writeln!(to, "\n{}", fit_to_width(&table))
}

/// The model of the forecast, and whether it may be acted on.
fn model(load: &LoadStatus) -> String {
    let Some(forecast) = &load.forecast else {
        return load
            .waits_for
            .clone()
            .unwrap_or_else(|| "no forecast".to_owned());
    };
    match &load.trust {
        Some(trust) if trust.trusted => forecast.model.to_string(),
        Some(trust) => format!("{}, not trusted: {}", forecast.model, trust.reason),
        None => format!("{}, not trusted", forecast.model),
    }
}

fn conditions(target: &ScalingStatus, to: &mut dyn Write, style: Style) -> io::Result<()> {
    if target.conditions.is_empty() {
        return Ok(());
    }
    let mut table = style.table(["CONDITION", "STATUS", "REASON", "MESSAGE"].map(Cell::new));
    for condition in &target.conditions {
        table.add_row([
            Cell::new(&condition.kind),
            Cell::new(condition.status.as_str()),
            Cell::new(&condition.reason),
            Cell::new(printable(&condition.message)),
        ]);
    }
    writeln!(to, "\nConditions:\n{}", fit_to_width(&table))
}

#[cfg(test)]
mod tests {
    use evenkeel_service::api::scaling::sample;

    use super::*;

    fn printed(target: ScalingStatus) -> String {
        let mut text = Vec::new();
        let report = TargetReport(vec![Arc::new(target)]);
        report.print(&mut text, Style::Plain).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_target_tells_its_count_its_loads_and_what_moves_it() {
        let text = printed(sample::status());
        for part in [
            "HorizontalPodAutoscaler shop/web\n",
            "Deployment web has 4 replicas.\n",
            "Evenkeel wants at least 6 replicas: forecast 7.2 cores.\n",
            "minReplicas is raised to 5 until 1970-01-01T00:00:00Z, unless it is renewed.\n",
            "The bounds are 2 to 20.\n",
            "It looks 75 s beyond the measured load: half of the rate window 10 s, interval of the HPA 15 s",
            "ForecastTrusted",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn each_mode_says_what_becomes_of_the_decision() {
        for (mode, decided, expected) in [
            ("direct", Some(1), "Evenkeel sets 1 replica: r."),
            (
                "recommend",
                Some(6),
                "Evenkeel recommends 6 replicas, and sets none: r.",
            ),
            (
                "off",
                Some(6),
                "Evenkeel would set 6 replicas, in mode off: r.",
            ),
            ("direct", None, "Nothing is decided: r."),
        ] {
            let target = ScalingStatus {
                mode: mode.into(),
                decided,
                reason: "r".to_owned(),
                ..sample::status()
            };
            assert_eq!(sentences(&target)[1], expected);
        }
    }

    #[test]
    fn the_load_that_the_count_carries_stands_beside_the_load_now() {
        let mut load = sample::status().loads.swap_remove(0);
        load.request = 1000.0;
        load.target = 0.5;
        for (now, decided, expected) in [
            (
                Some(2100.0),
                Some(5),
                Some(
                    "At their target of cpu, 5 replicas carry 2.5 cores. The load is now 2.1 cores, 0.40 cores below that.",
                ),
            ),
            (
                Some(3000.0),
                Some(5),
                Some(
                    "At their target of cpu, 5 replicas carry 2.5 cores. The load is now 3.0 cores, 0.50 cores above that.",
                ),
            ),
            (
                None,
                Some(5),
                Some(
                    "At their target of cpu, 5 replicas carry 2.5 cores. There is no fresh measurement of the load.",
                ),
            ),
            (Some(1.0), None, None),
        ] {
            load.now = now;
            assert_eq!(next_step(&load, decided).as_deref(), expected);
        }
        load.request = 0.0;
        assert_eq!(next_step(&load, Some(5)), None);
    }

    #[test]
    fn names_move_no_cursor() {
        let mut target = sample::status();
        target.reason = "a\u{1b}[2Jb".to_owned();
        assert!(!printed(target).contains('\u{1b}'));
    }
}
