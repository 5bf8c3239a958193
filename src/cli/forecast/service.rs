//! A target of a running service: what its replica remembers of load, forecasts and replicas.
//!
//! The service knows what was; what a plain HPA would have had is simulated from the same load. The
//! API is asked for nothing that changes anything, past any proxy of the environment.

mod answer;

use std::error::Error as _;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use serde::de::DeserializeOwned;

use self::answer::{History, Targets, Told, ToldLoad, ToldPoint, ToldTrust};
use super::report::{Accuracy, Costs, Plot, Point};
use crate::cli::output::Failure;
use evenkeel_core::forecast::Series;
use evenkeel_core::scaling::Bounds;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::units::{Ratio, Resource, count_as_f64};
use evenkeel_sandbox::scrape::Timing;
use evenkeel_sandbox::target::{self, GRID, Target};

/// How long the service may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A load that was measured lags already; the HPA sees it at the next tick.
const MEASURED: Timing = Timing {
    interval: GRID,
    window: GRID,
};

/// Which target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Which<'a> {
    pub url: &'a Url,
    pub namespace: &'a str,
    pub name: &'a str,
    pub kind: Option<&'a str>,
    pub resource: Option<Resource>,
    pub start_up: Option<SignedDuration>,
}

/// The plot of a target.
pub(super) fn plot(which: &Which<'_>) -> Result<Plot, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (told, resource, history) = runtime.block_on(ask(which))?;
    if history.step != GRID.as_secs() {
        return Err(Failure::work(format_args!(
            "{}: steps of {} s are not understood by this version; accepted: {} s",
            which.url,
            history.step,
            GRID.as_secs()
        )));
    }
    let composed = compose(which, &told, resource, history);
    composed.map_err(|error| Failure::work(format_args!("{}: {error}", which.url)))
}

async fn ask(which: &Which<'_>) -> Result<(Told, Resource, History), Failure> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        .build();
    let client = client.map_err(Failure::work)?;
    let targets: Targets = get(&client, which.url, "api/v1/scaling", &[]).await?;
    let told = choose(which, targets.targets)?;
    let resource = resource(which, &told)?;
    let query = [
        ("namespace", told.namespace.as_str()),
        ("kind", told.object.kind.as_str()),
        ("name", told.object.name.as_str()),
        ("resource", resource.as_str()),
    ];
    let history = get(&client, which.url, "api/v1/scaling/history", &query).await?;
    Ok((told, resource, history))
}

async fn get<T: DeserializeOwned>(
    client: &reqwest::Client,
    base: &Url,
    path: &str,
    query: &[(&str, &str)],
) -> Result<T, Failure> {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    let answer = client.get(url.clone()).query(query).send().await;
    let answer = answer.map_err(|error| unreachable(base, &error))?;
    let status = answer.status();
    let body = answer
        .bytes()
        .await
        .map_err(|error| unreachable(base, &error))?;
    if !status.is_success() {
        let text = String::from_utf8_lossy(&body);
        let text: String = text.trim().chars().take(300).collect();
        return Err(Failure::work(format_args!(
            "{url} answers {status}: {text}"
        )));
    }
    serde_json::from_slice(&body).map_err(|error| {
        Failure::work(format_args!(
            "{url} answers what is not understood: {error}"
        ))
    })
}

fn unreachable(base: &Url, error: &reqwest::Error) -> Failure {
    let mut why = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        why = inner.to_string();
        source = inner.source();
    }
    Failure::work(format_args!(
        "{base} does not answer: {why}\n  the service listens on the loopback address of its Pods only: \
         kubectl -n evenkeel-system port-forward deploy/evenkeel 8081"
    ))
}

/// The one target that is meant.
fn choose(which: &Which<'_>, targets: Vec<Told>) -> Result<Told, Failure> {
    let all = list(&targets);
    let meant = |told: &Told| {
        told.namespace == which.namespace
            && told.object.name == which.name
            && which.kind.is_none_or(|kind| told.object.kind == kind)
    };
    let mut found: Vec<Told> = targets.into_iter().filter(meant).collect();
    let name = format!("{}/{}", which.namespace, which.name);
    match (found.pop(), found.is_empty()) {
        (Some(told), true) => Ok(told),
        (Some(_), false) => Err(Failure::call(format_args!(
            "{name} is of several kinds: say which with --kind"
        ))),
        (None, _) => Err(Failure::call(format_args!(
            "{name} is no target of {}; its targets: {all}",
            which.url
        ))),
    }
}

/// The targets, as they are asked for.
fn list(targets: &[Told]) -> String {
    const SHOWN: usize = 10;
    let names = targets.iter().take(SHOWN);
    let mut names: Vec<String> = names
        .map(|told| {
            format!(
                "{}/{} ({})",
                told.namespace, told.object.name, told.object.kind
            )
        })
        .collect();
    match targets.len() {
        0 => "none".to_owned(),
        count if count > SHOWN => {
            names.push(format!("and {} more", count - SHOWN));
            names.join(", ")
        }
        _ => names.join(", "),
    }
}

fn resource(which: &Which<'_>, told: &Told) -> Result<Resource, Failure> {
    if let Some(resource) = which.resource {
        return Ok(resource);
    }
    let first = told.loads.first().map(|load| load.resource.as_str());
    let first = first.unwrap_or(Resource::Cpu.as_str());
    first.parse().map_err(|_| {
        Failure::work(format_args!(
            "the service names a resource {first:?} that this version does not know"
        ))
    })
}

fn compose(
    which: &Which<'_>,
    told: &Told,
    resource: Resource,
    history: History,
) -> Result<Plot, String> {
    let mut loads = told.loads.iter();
    let load = loads.find(|load| load.resource == resource.as_str());
    let load = load.ok_or_else(|| format!("the target does not scale by {resource}"))?;
    let horizon = told.horizon_seconds.ok_or("nothing was decided yet")?;
    let horizon = SignedDuration::from_secs(horizon);
    let (capacity, bounds) = terms(told, load)?;
    let simulated = Target {
        resource,
        capacity,
        bounds,
        start_up: which.start_up.unwrap_or(horizon.saturating_sub(GRID)),
        metrics: MEASURED,
        initial: history.points.iter().find_map(|point| point.current),
    };
    let (series, on_grid) = align(history.points)?;
    let (points, costs) = both(&simulated, &series, &on_grid);
    Ok(Plot {
        source: format!("{}/{}", which.namespace, which.name),
        resource,
        unit: super::report::base_unit(resource).to_owned(),
        step_seconds: GRID.as_secs(),
        request: load.request,
        target: load.target,
        min: simulated.bounds.min(),
        max: simulated.bounds.max(),
        start_up_seconds: simulated.start_up.as_secs(),
        horizon_seconds: horizon.as_secs(),
        model: load.forecast.as_ref().and_then(|told| told.model.clone()),
        from: series.start(),
        to: series.end(),
        costs,
        forecast: accuracy(&points, horizon, load.trust.as_ref()),
        notes: Vec::new(),
        points,
    })
}

/// What a plain HPA would hold to.
fn terms(told: &Told, load: &ToldLoad) -> Result<(PodCapacity, Bounds), String> {
    let share = Ratio::new(load.target).map_err(|error| error.to_string())?;
    let capacity = PodCapacity::new(load.request, share).map_err(|error| error.to_string())?;
    let max = told.max.ok_or("the target has no bounds")?;
    let bounds = Bounds::new(told.min.unwrap_or(1), max).map_err(|error| error.to_string())?;
    Ok((capacity, bounds))
}

/// What was, beside what a plain HPA would have had, and what both came to.
fn both(target: &Target, load: &Series, on_grid: &[Option<ToldPoint>]) -> (Vec<Point>, Costs) {
    let (plain, plain_cost) = target::plain(target, load);
    let current = on_grid.iter().map(|point| point.as_ref()?.current);
    let observed = target::observed(target, load, &current.collect::<Vec<_>>());
    let mut at = load.start();
    let points = on_grid.iter().zip(plain).map(|(point, plain_hpa)| {
        let now = at;
        at = now.checked_add(GRID).unwrap_or(Timestamp::MAX);
        combined(now, point.as_ref(), plain_hpa)
    });
    let costs = Costs {
        evenkeel: observed.into(),
        plain_hpa: plain_cost.into(),
    };
    (points.collect(), costs)
}

/// The points on the grid from the first to the last, with holes where there is none, and the load
/// as a series.
fn align(points: Vec<ToldPoint>) -> Result<(Series, Vec<Option<ToldPoint>>), String> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Err("the target has no history yet".to_owned());
    };
    let (from, to) = (first.at, last.at);
    let place = |at: Timestamp| at.duration_since(from).as_secs() / GRID.as_secs();
    let count =
        usize::try_from(place(to) + 1).map_err(|_| "its points go back in time".to_owned())?;
    if count > 1_000_000 {
        return Err("its points are years apart".to_owned());
    }
    let mut on_grid: Vec<Option<ToldPoint>> = Vec::new();
    on_grid.resize_with(count, || None);
    for point in points {
        let place = usize::try_from(place(point.at)).ok();
        let slot = place.and_then(|place| on_grid.get_mut(place));
        *slot.ok_or("its points go back in time")? = Some(point);
    }
    let loads = on_grid.iter().map(|point| point.as_ref()?.load).collect();
    let load = Series::new(from, GRID, loads).map_err(|error| error.to_string())?;
    Ok((load, on_grid))
}

fn combined(at: Timestamp, point: Option<&ToldPoint>, plain_hpa: i32) -> Point {
    Point {
        at,
        load: point.and_then(|point| point.load),
        forecast: point.and_then(|point| point.forecast),
        lower80: point.and_then(|point| point.lower80),
        upper80: point.and_then(|point| point.upper80),
        current: point.and_then(|point| point.current),
        floor: point.and_then(|point| point.floor),
        plain_hpa,
    }
}

/// The forecasts held against the load when they were due, beside the load one horizon before.
fn accuracy(points: &[Point], horizon: SignedDuration, trust: Option<&ToldTrust>) -> Accuracy {
    let ahead = (horizon.as_secs() + GRID.as_secs() - 1) / GRID.as_secs();
    let ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
    let due = points.iter().skip(ahead).zip(points);
    let scored: Vec<(f64, f64, bool)> = due
        .filter_map(|(point, before)| {
            let (actual, forecast, naive) = (point.load?, point.forecast?, before.load?);
            let inside = point.lower80? <= actual && actual <= point.upper80?;
            Some(((actual - forecast).abs(), (actual - naive).abs(), inside))
        })
        .collect();
    let count = count_as_f64(scored.len());
    let mean = |sum: f64| (count > 0.0).then(|| sum / count);
    let inside = scored.iter().filter(|(_, _, inside)| *inside).count();
    Accuracy {
        scored: u32::try_from(scored.len()).unwrap_or(u32::MAX),
        mae: mean(scored.iter().map(|(error, _, _)| error).sum()),
        naive_mae: mean(scored.iter().map(|(_, naive, _)| naive).sum()),
        coverage80: mean(count_as_f64(inside)),
        trusted_share: None,
        trust: trust.map_or_else(|| "no forecast".to_owned(), ToldTrust::text),
    }
}
