//! `GET /api/v1/calendar`: schedules, portraits and resizes, from the objects in memory. It is made
//! at most every five seconds, however many readers there are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use evenkeel_api::horizontal_portrait::hours_ahead::{HoursAhead, PointAhead};
use evenkeel_api::horizontal_portrait::status::PORTRAIT_GENERATED;
use evenkeel_clock as clock;
use evenkeel_objects::meta::Meta;
use evenkeel_quantity::Quantity;
use evenkeel_scaling::specs::cron_hpa::CheckedCronHpa;
use evenkeel_scaling::specs::horizontal_portrait::CheckedHorizontalPortrait;
use evenkeel_scaling::specs::ihpa::CheckedIhpa;
use evenkeel_scaling::specs::portrait::{Portrait, Replicas};
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_tuning::resize_record::{Resizer, written};
use jiff::Timestamp;

use super::json_answer::json_answer;
use crate::api;
use crate::api::calendar::{
    Calendar, CronEntry, CronHpaEntry, HourEntry, IhpaEntry, PortraitEntry, PortraitStep,
    ResizeEntry, TuningEntry,
};
use crate::cluster::ClusterState;
use crate::server::ApiError;

/// The time for which a calendar is good.
const FRESH: Duration = Duration::from_secs(5);

/// Makes calendars of a cluster; clones share the newest.
#[derive(Debug, Clone)]
pub(super) struct CalendarSource {
    cluster: ClusterState,
    newest: Arc<Mutex<Option<DatedCalendar>>>,
}

#[derive(Debug)]
struct DatedCalendar {
    made: Instant,
    calendar: Arc<Calendar>,
}

impl CalendarSource {
    pub(super) fn new(cluster: ClusterState) -> Self {
        Self {
            cluster,
            newest: Arc::default(),
        }
    }

    pub(super) fn routes(&self) -> Router {
        Router::new().route(api::CALENDAR, get(calendar).with_state(self.clone()))
    }

    /// The newest calendar; the same one as long as nothing in it changes.
    pub(super) fn newest(&self) -> Arc<Calendar> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::instant();
        if let Some(known) = &*newest
            && now.duration_since(known.made) < FRESH
        {
            return Arc::clone(&known.calendar);
        }
        let made = of_cluster(&self.cluster);
        let known = newest.take().map(|known| known.calendar);
        let same = known.filter(|known| **known == made);
        let calendar = same.unwrap_or_else(|| Arc::new(made));
        *newest = Some(DatedCalendar {
            made: now,
            calendar: Arc::clone(&calendar),
        });
        calendar
    }
}

async fn calendar(State(source): State<CalendarSource>) -> Result<Response, ApiError> {
    json_answer(move || source.newest()).await
}

fn of_cluster(cluster: &ClusterState) -> Calendar {
    let now = cluster.now();
    let objects = cluster.scaling().calendar_objects();
    let mut resizes: Vec<ResizeEntry> = (cluster.resizable().resized().iter())
        .filter_map(|pod| resize(pod))
        .collect();
    resizes.sort_by(|a, b| (&a.namespace, &a.pod).cmp(&(&b.namespace, &b.pod)));
    Calendar {
        cron_hpas: objects
            .crons
            .iter()
            .map(|cron| cron_hpa(cron, now))
            .collect(),
        ihpas: objects.ihpas.iter().map(|one| ihpa(one)).collect(),
        portraits: (objects.portraits.iter())
            .map(|one| portrait(one, now))
            .collect(),
        tuning: (objects.tuning())
            .map(|(workload, status)| {
                let (namespace, name) = names(&workload.metadata);
                TuningEntry {
                    namespace,
                    kind: workload.kind.as_str().to_owned(),
                    name,
                    status,
                }
            })
            .collect(),
        resizes,
    }
}

fn names(metadata: &Meta) -> (String, String) {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&metadata.namespace), text(&metadata.name))
}

fn cron_hpa(cron: &CheckedCronHpa, now: Timestamp) -> CronHpaEntry {
    let object = &cron.object;
    let (namespace, name) = names(&object.metadata);
    let rules = cron.rules();
    let mut status = object.status.clone();
    if let Some(status) = &mut status {
        // A replica that does not lead, or may not write, leaves runs that are over in the status.
        status
            .next_runs
            .retain(|run| run.end.unwrap_or(run.time) > now);
    }
    CronHpaEntry {
        namespace,
        name,
        target: object.spec.scale_target_ref.to_string(),
        suspended: rules.is_ok() && !cron.is_active(),
        problem: rules.err().map(ToString::to_string),
        crons: rules.map_or_else(
            |_| Vec::new(),
            |rules| {
                let rules = rules.rules().iter();
                rules
                    .map(|rule| CronEntry {
                        name: rule.name.clone(),
                        when: rule.when_text(),
                        replicas: rule.replicas,
                        suspended: rule.suspended,
                    })
                    .collect()
            },
        ),
        status,
    }
}

fn ihpa(ihpa: &CheckedIhpa) -> IhpaEntry {
    let object = &ihpa.object;
    let (namespace, name) = names(&object.metadata);
    IhpaEntry {
        namespace,
        name,
        target: object.spec.scale_target_ref.to_string(),
        problem: ihpa.rules().err().map(ToString::to_string),
        status: object.status.clone(),
    }
}

fn portrait(portrait: &CheckedHorizontalPortrait, now: Timestamp) -> PortraitEntry {
    let object = &portrait.object;
    let (namespace, name) = names(&object.metadata);
    let data = portrait.portrait();
    let known = data.and_then(|data| data.as_ref().ok());
    let status = object.status.as_ref();
    let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
    let ahead = status.and_then(|status| status.hours_ahead.as_ref());
    PortraitEntry {
        namespace,
        name,
        target: object.spec.scale_target_ref.to_string(),
        problem: (data.and_then(|data| data.as_ref().err())).map(ToString::to_string),
        expires: known.and_then(|portrait| portrait.expires),
        generated: conditions
            .find(|one| one.kind == PORTRAIT_GENERATED)
            .cloned(),
        computed: ahead.map(|ahead| ahead.time),
        hours: ahead.map_or_else(Vec::new, |ahead| hours(ahead, now)),
        steps: known.map_or_else(Vec::new, |portrait| steps(portrait, now)),
    }
}

/// The highest point of each hour that is not over.
fn hours(ahead: &HoursAhead, now: Timestamp) -> Vec<HourEntry> {
    let per_hour = usize::try_from(3600 / ahead.step_seconds.max(1)).unwrap_or(1);
    let load = |point: &PointAhead| point.value.parse::<Quantity>().ok();
    let hours = ahead.metrics.iter().flat_map(|metric| {
        let coming = metric.points.iter();
        let is_over = |point: &&PointAhead| {
            let end = point
                .timestamp
                .saturating_add(i64::from(ahead.step_seconds));
            end <= now.as_second()
        };
        let coming: Vec<_> = coming.skip_while(is_over).collect();
        let hours = coming.chunks(per_hour.max(1)).filter_map(|points| {
            let highest = points.iter().max_by_key(|point| load(point))?;
            Some(HourEntry {
                metric: metric.name.clone(),
                from: Timestamp::from_second(points.first()?.timestamp).ok()?,
                value: highest.value.clone(),
                lower: highest.lower.clone(),
                upper: highest.upper.clone(),
                replicas: highest.replicas,
                upper_replicas: highest.upper_replicas,
            })
        });
        hours.collect::<Vec<_>>()
    });
    hours.collect()
}

fn steps(portrait: &Portrait, now: Timestamp) -> Vec<PortraitStep> {
    match &portrait.replicas {
        Replicas::Static(replicas) => vec![PortraitStep {
            at: None,
            replicas: *replicas,
        }],
        Replicas::TimeSeries(series) => {
            let points = series.points();
            let coming = points.partition_point(|point| point.at <= now);
            let shown = points.iter().skip(coming.saturating_sub(1));
            let steps = shown
                .take(PortraitEntry::MOST_STEPS)
                .map(|point| PortraitStep {
                    at: Some(point.at),
                    replicas: point.replicas,
                });
            steps.collect()
        }
        Replicas::Cron(spec) => {
            let runs = spec.rules().iter().filter_map(|rule| {
                Some(PortraitStep {
                    at: Some(rule.next_after(now)?.timestamp()),
                    replicas: rule.replicas,
                })
            });
            let mut steps: Vec<PortraitStep> = runs.take(PortraitEntry::MOST_STEPS).collect();
            steps.sort_by_key(|step| step.at);
            steps
        }
    }
}

fn resize(pod: &ResizablePod) -> Option<ResizeEntry> {
    let record = pod.record.as_ref()?.as_ref().ok()?;
    let by = match record.by {
        Resizer::Tuning => "tuning",
        Resizer::Standby => "standby",
    };
    let under_way = pod.resize.as_ref();
    Some(ResizeEntry {
        namespace: pod.namespace.to_string(),
        pod: pod.name.to_string(),
        node: pod.node.as_deref().map(str::to_owned),
        by: by.to_owned(),
        at: record.at,
        phase: under_way.map(|resize| resize.phase.to_string()),
        message: under_way.map(|resize| resize.message.to_string()),
        from: written(&record.from),
        to: written(&record.to),
    })
}
