//! A target of a running service: what its replica remembers of load, forecasts and replicas.
//!
//! The service knows what was; what a plain HPA would have had is simulated from the same load. The
//! API is asked for nothing that changes anything, past any proxy of the environment.

use std::error::Error as _;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::report::{Accuracy, Costs, Plot, Point};
use crate::cli::output::Failure;
use crate::forecast::Series;
use crate::scaling::Bounds;
use crate::scaling::hpa_aware::PodCapacity;
use crate::simulate::scrape::Timing;
use crate::simulate::target::{self, GRID, Target};
use crate::units::{Ratio, Resource, count_as_f64};

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

#[derive(Debug, Deserialize)]
struct Targets {
    targets: Vec<Told>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    namespace: String,
    object: Object,
    min: Option<i32>,
    max: i32,
    horizon_seconds: i64,
    #[serde(default)]
    loads: Vec<ToldLoad>,
}

#[derive(Debug, Deserialize)]
struct Object {
    kind: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct ToldLoad {
    resource: String,
    forecast: Option<ToldForecast>,
    trust: Option<ToldTrust>,
}

#[derive(Debug, Deserialize)]
struct ToldForecast {
    model: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ToldTrust {
    trusted: bool,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    unit: String,
    step_seconds: i64,
    request: f64,
    target: f64,
    points: Vec<ToldPoint>,
}

#[derive(Debug, Deserialize)]
struct ToldPoint {
    at: Timestamp,
    load: Option<f64>,
    forecast: Option<f64>,
    lower80: Option<f64>,
    upper80: Option<f64>,
    current: Option<i32>,
    floor: Option<i32>,
}

/// The plot of a target.
pub(super) fn plot(which: &Which<'_>) -> Result<Plot, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (told, resource, history) = runtime.block_on(ask(which))?;
    if history.step_seconds != GRID.as_secs() {
        return Err(Failure::work(format_args!(
            "{}: steps of {} s are not understood by this version; accepted: {} s",
            which.url,
            history.step_seconds,
            GRID.as_secs()
        )));
    }
    compose(which, &told, resource, history)
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
) -> Result<Plot, Failure> {
    let said =
        |error: &dyn std::fmt::Display| Failure::work(format_args!("{}: {error}", which.url));
    let History {
        unit,
        request,
        target: share,
        points,
        ..
    } = history;
    let (Some(from), Some(to)) = (points.first(), points.last()) else {
        return Err(said(&"the target has no history yet"));
    };
    let (from, to) = (from.at, to.at);
    let ratio = Ratio::new(share).map_err(|error| said(&error))?;
    let horizon = SignedDuration::from_secs(told.horizon_seconds);
    let start_up = which
        .start_up
        .unwrap_or_else(|| horizon.saturating_sub(GRID));
    let initial = points.iter().find_map(|point| point.current);
    let simulated = Target {
        resource,
        capacity: PodCapacity::new(request, ratio).map_err(|error| said(&error))?,
        bounds: Bounds::new(told.min.unwrap_or(1), told.max).map_err(|error| said(&error))?,
        start_up,
        metrics: MEASURED,
        initial,
    };
    let (load, on_grid) = align(from, to, points).map_err(|error| said(&error))?;
    let (plain, plain_cost) = target::plain(&simulated, &load);
    let current: Vec<_> = on_grid
        .iter()
        .map(|point| point.as_ref()?.current)
        .collect();
    let observed = target::observed(&simulated, &load, &current);
    let points: Vec<Point> = on_grid
        .iter()
        .zip(plain)
        .zip(0_i32..)
        .map(|((point, plain_hpa), index)| {
            combined(load.start() + GRID * index, point.as_ref(), plain_hpa)
        })
        .collect();
    let of_resource = told
        .loads
        .iter()
        .find(|load| load.resource == resource.as_str());
    Ok(Plot {
        source: format!("{}/{}", which.namespace, which.name),
        resource,
        unit,
        step_seconds: GRID.as_secs(),
        request,
        target: share,
        min: simulated.bounds.min(),
        max: simulated.bounds.max(),
        start_up_seconds: start_up.as_secs(),
        horizon_seconds: told.horizon_seconds,
        model: of_resource.and_then(|load| load.forecast.as_ref()?.model.clone()),
        from: load.start(),
        to: load.end(),
        costs: Costs {
            evenkeel: observed.into(),
            plain_hpa: plain_cost.into(),
        },
        forecast: accuracy(
            &points,
            horizon,
            of_resource.and_then(|load| load.trust.as_ref()),
        ),
        notes: Vec::new(),
        points,
    })
}

/// The points on the grid from the first to the last, with holes where there is none, and the load
/// as a series.
fn align(
    from: Timestamp,
    to: Timestamp,
    points: Vec<ToldPoint>,
) -> Result<(Series, Vec<Option<ToldPoint>>), String> {
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

impl ToldTrust {
    fn text(&self) -> String {
        let word = if self.trusted {
            "trusted"
        } else {
            "not trusted"
        };
        match &self.reason {
            Some(reason) if !reason.starts_with(word) => format!("{word} ({reason})"),
            Some(reason) => reason.clone(),
            None => word.to_owned(),
        }
    }
}
