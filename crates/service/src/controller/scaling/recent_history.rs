//! Recent past of each target: load, its forecast one horizon before, replicas, floor and the count
//! of a plain HPA of the last two hours, and the forecasts for the next ten minutes. Rings addressed
//! by time, in f32: one on the 15-second grid for the last 30 minutes, one by the minute for the
//! time before. Some 9 KB a target, and half as much for each further load that has ever been known.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_forecast::Resolution;
use evenkeel_scaling::status::dashboard::{LoadStatus, ScalingStatus, Word};
use evenkeel_scaling::tracker::UNSCALED;
use evenkeel_units::narrowed;
use evenkeel_units::panic_error::caught;
use jiff::{SignedDuration, Timestamp};

use crate::api::history::{ForecastBand, HistoryPoint};

/// The slots of a ring: `past` of them until the newest, and `ahead` of them after it.
#[derive(Debug, Clone, Copy)]
struct HistoryGrid {
    step: SignedDuration,
    past: i64,
    ahead: i64,
}

/// 30 minutes. A forecast further ahead than 10 minutes is not drawn.
const FINE: HistoryGrid = HistoryGrid {
    step: STEP,
    past: 120,
    ahead: 40,
};

/// Two hours.
const COARSE: HistoryGrid = HistoryGrid {
    step: SignedDuration::from_mins(1),
    past: 120,
    ahead: 10,
};

impl HistoryGrid {
    const fn slots(self) -> i64 {
        self.past + self.ahead
    }

    fn slot_of(self, time: Timestamp) -> i64 {
        time.as_second().div_euclid(self.step.as_secs())
    }

    fn place(self, slot: i64) -> usize {
        usize::try_from(slot.rem_euclid(self.slots()))
            .expect("a remainder is not negative and short")
    }

    fn length(self) -> usize {
        usize::try_from(self.slots()).expect("the rings are short")
    }
}

/// A target by namespace and the kind and name of its object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecentHistoryKey {
    pub namespace: Box<str>,
    pub kind: Box<str>,
    pub name: Box<str>,
}

impl RecentHistoryKey {
    fn of(shown: &ScalingStatus) -> Self {
        Self {
            namespace: (*shown.namespace).into(),
            kind: shown.object.kind.clone(),
            name: shown.object.name.clone(),
        }
    }
}

/// The traces of all targets; clones share them.
#[derive(Debug, Clone, Default)]
pub struct RecentHistory(Arc<Mutex<HashMap<RecentHistoryKey, RecentTargetHistory>>>);

impl RecentHistory {
    /// The points of one load of a target, oldest first; `None` for an unknown target or signal.
    pub fn points(&self, key: &RecentHistoryKey, signal: &str) -> Option<Vec<HistoryPoint>> {
        self.lock().get(key)?.points(signal)
    }

    /// Takes the decided targets of a tick, and forgets those that are no longer `shown`. A target whose
    /// history causes a panic begins without it.
    pub fn record(&self, shown: &[Arc<ScalingStatus>], now: Timestamp) {
        self.record_with(shown, |history, status| history.record(status, now));
    }

    fn record_with(
        &self,
        shown: &[Arc<ScalingStatus>],
        draw: impl Fn(&mut RecentTargetHistory, &ScalingStatus),
    ) {
        let mut histories = self.lock();
        for status in shown.iter().filter(|status| status.decided.is_some()) {
            let history = histories.entry(RecentHistoryKey::of(status)).or_default();
            if let Err(error) = caught(|| draw(history, status)) {
                histories.remove(&RecentHistoryKey::of(status));
                tracing::error!(
                    namespace = %status.namespace, object = %status.object.name, %error,
                    "the recent history of a target panicked, so it begins anew"
                );
            }
        }
        let shown = shown.iter();
        let shown: HashSet<_> = shown.map(|status| RecentHistoryKey::of(status)).collect();
        histories.retain(|key, _| shown.contains(key));
    }

    /// The memory that all of them take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.lock().values().map(RecentTargetHistory::bytes).sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RecentHistoryKey, RecentTargetHistory>> {
        // A point that was not written to its end is drawn as a gap.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The distance of the newest points.
pub const STEP: SignedDuration = Resolution::Fine.step();

#[derive(Debug, Clone, Copy)]
struct RecentHistorySlot {
    load: f32,
    forecast: [f32; 3],
}

const GAP: RecentHistorySlot = RecentHistorySlot {
    load: f32::NAN,
    forecast: [f32::NAN; 3],
};

/// Replicas, floor and the count of a plain HPA; no count is negative.
const NONE: [i32; 3] = [-1; 3];

/// The history of one target, with the newest part on a finer grid.
#[derive(Debug)]
pub struct RecentTargetHistory {
    fine: HistoryRings,
    coarse: HistoryRings,
}

impl Default for RecentTargetHistory {
    fn default() -> Self {
        Self {
            fine: HistoryRings::new(FINE),
            coarse: HistoryRings::new(COARSE),
        }
    }
}

impl RecentTargetHistory {
    /// Takes the result of a tick; of several in one step the last one counts.
    pub fn record(&mut self, status: &ScalingStatus, now: Timestamp) {
        self.fine.record(status, now);
        self.coarse.record(status, now);
    }

    /// The memory it takes.
    fn bytes(&self) -> usize {
        self.fine.bytes() + self.coarse.bytes()
    }

    /// The points by the minute before the fine grid begins, and the fine ones after them.
    fn points(&self, signal: &str) -> Option<Vec<HistoryPoint>> {
        let mut points = self.coarse.points(signal)?;
        let fine = self.fine.points(signal)?;
        let begin = self.fine.begin()?;
        points.retain(|point| point.at + COARSE.step <= begin);
        points.extend(fine);
        Some(points)
    }
}

/// The rings of one target on one grid.
#[derive(Debug)]
struct HistoryRings {
    grid: HistoryGrid,
    /// The newest slot; the rings reach beyond it.
    newest: Option<i64>,
    counts: Box<[[i32; 3]]>,
    loads: Vec<RecentLoadSeries>,
}

#[derive(Debug)]
struct RecentLoadSeries {
    resource: Word,
    /// None before the first value.
    rows: Option<Box<[RecentHistorySlot]>>,
}

impl RecentLoadSeries {
    fn row(&mut self, grid: HistoryGrid, slot: i64) -> &mut RecentHistorySlot {
        let rows = self
            .rows
            .get_or_insert_with(|| vec![GAP; grid.length()].into());
        &mut rows[grid.place(slot)]
    }
}

impl HistoryRings {
    fn new(grid: HistoryGrid) -> Self {
        Self {
            grid,
            newest: None,
            counts: vec![NONE; grid.length()].into(),
            loads: Vec::new(),
        }
    }

    /// The time of the oldest slot.
    fn begin(&self) -> Option<Timestamp> {
        let slot = self.newest? + 1 - self.grid.past;
        Timestamp::from_second(slot * self.grid.step.as_secs()).ok()
    }

    fn record(&mut self, status: &ScalingStatus, now: Timestamp) {
        let grid = self.grid;
        let slot = grid.slot_of(now);
        self.move_to(slot);
        let floor = status.floor.as_ref().map(|floor| floor.replicas);
        self.counts[grid.place(slot)] =
            [status.current, floor, status.plain_hpa].map(|count| count.unwrap_or(-1));
        for (index, observed) in status.loads.iter().enumerate() {
            let mut before = status.loads[..index].iter();
            // Two loads of one name, such as one object in two versions of its group, are one series.
            if before.any(|one| one.resource == observed.resource) {
                continue;
            }
            let traced = self.load(&observed.resource);
            if let Some((of, load)) = observed.at.zip(observed.now)
                && (slot - grid.past + 1..=slot).contains(&grid.slot_of(of))
                && let Some(load) = narrowed(load)
            {
                traced.row(grid, grid.slot_of(of)).load = load;
            }
            let Some(forecast) = &observed.forecast else {
                continue;
            };
            let due = grid.slot_of(forecast.at);
            if due > slot && due <= slot + grid.ahead {
                let narrow = |value: f64| narrowed(value).unwrap_or(f32::NAN);
                traced.row(grid, due).forecast =
                    [forecast.mean, forecast.lower80, forecast.upper80].map(narrow);
            }
        }
        self.forget_but(&status.loads);
    }

    /// Forgets the loads that the target does not scale by any more, once they are more than a few.
    fn forget_but(&mut self, loads: &[LoadStatus]) {
        if self.loads.len() > loads.len() + UNSCALED {
            let kept =
                |load: &RecentLoadSeries| loads.iter().any(|one| one.resource == load.resource);
            self.loads.retain(kept);
            self.loads.shrink_to_fit();
        }
    }

    fn bytes(&self) -> usize {
        let counts = size_of_val(&*self.counts);
        let rows = |load: &RecentLoadSeries| load.rows.as_deref().map_or(0, size_of_val);
        let loads = self
            .loads
            .iter()
            .map(|load| size_of::<RecentLoadSeries>() + rows(load));
        size_of::<Self>() + counts + loads.sum::<usize>()
    }

    fn load(&mut self, resource: &Word) -> &mut RecentLoadSeries {
        let known = self
            .loads
            .iter()
            .position(|load| load.resource == *resource);
        let index = known.unwrap_or_else(|| {
            self.loads.push(RecentLoadSeries {
                resource: resource.clone(),
                rows: None,
            });
            self.loads.len() - 1
        });
        &mut self.loads[index]
    }

    /// Empties the slots that the rings newly reach. A clock that went back clears what it left.
    fn move_to(&mut self, slot: i64) {
        let HistoryGrid { ahead, .. } = self.grid;
        let slots = self.grid.slots();
        let cleared = match self.newest {
            Some(newest) if slot < newest => slot + 1..=(newest + ahead).min(slot + slots),
            Some(newest) => (newest + 1).max(slot + 1 - slots) + ahead..=slot + ahead,
            None => slot..=slot,
        };
        for slot in cleared {
            let place = self.grid.place(slot);
            self.counts[place] = NONE;
            for rows in self.loads.iter_mut().filter_map(|load| load.rows.as_mut()) {
                rows[place] = GAP;
            }
        }
        self.newest = Some(slot);
    }

    fn points(&self, signal: &str) -> Option<Vec<HistoryPoint>> {
        let load = self.loads.iter().find(|load| load.resource == signal)?;
        let newest = self.newest?;
        let value = |value: f32| (!value.is_nan()).then(|| f64::from(value));
        let count = |count: i32| (count >= 0).then_some(count);
        let grid = self.grid;
        let points = (newest + 1 - grid.past..=newest + grid.ahead).filter_map(|slot| {
            let place = grid.place(slot);
            let row = load.rows.as_ref().map_or(GAP, |rows| rows[place]);
            let [replicas, floor, plain_hpa] = self.counts[place];
            let [mean, lower, upper] = row.forecast.map(value);
            let point = HistoryPoint {
                at: Timestamp::from_second(slot * grid.step.as_secs()).ok()?,
                load: value(row.load),
                forecast: mean
                    .zip(lower)
                    .zip(upper)
                    .map(|((mean, lower80), upper80)| ForecastBand {
                        mean,
                        lower80,
                        upper80,
                    }),
                replicas: count(replicas),
                floor: count(floor),
                plain_hpa: count(plain_hpa),
            };
            let empty = point.load.is_none() && point.forecast.is_none() && replicas < 0;
            (!empty).then_some(point)
        });
        Some(points.collect())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_scaling::status::dashboard::{Floor, LoadForecast};

    use super::*;
    use crate::api::scaling::sample;

    fn at(slot: i64) -> Timestamp {
        Timestamp::from_second(slot * 15 + 7).unwrap()
    }

    /// The status of a target with these replicas and loads, without a floor.
    fn status(replicas: i32, loads: &[LoadStatus]) -> ScalingStatus {
        ScalingStatus {
            current: Some(replicas),
            floor: None,
            loads: loads.to_vec(),
            ..sample::status()
        }
    }

    fn with_floor(replicas: i32, status: ScalingStatus) -> ScalingStatus {
        let until = Timestamp::MAX;
        ScalingStatus {
            floor: Some(Floor { replicas, until }),
            ..status
        }
    }

    fn load(resource: &str, known: Option<(Timestamp, f64)>) -> LoadStatus {
        LoadStatus {
            resource: resource.to_owned().into(),
            now: known.map(|(_, load)| load),
            at: known.map(|(at, _)| at),
            forecast: None,
            ..sample::cpu()
        }
    }

    fn cpu(known: Option<(Timestamp, f64)>, due: i64, mean: f64) -> LoadStatus {
        let forecast = LoadForecast {
            at: at(due),
            mean,
            lower80: mean - 1.0,
            upper80: mean + 1.0,
            ..sample::cpu().forecast.unwrap()
        };
        LoadStatus {
            forecast: Some(forecast),
            ..load("cpu", known)
        }
    }

    /// The harm: the service ended with the history of one target.
    #[test]
    fn a_history_that_panics_takes_no_other_along() {
        let named = |name: &str| {
            let mut one = status(2, &[]);
            one.decided = Some(2);
            one.object.name = name.into();
            Arc::new(one)
        };
        let histories = RecentHistory::default();
        let shown = ["a", "b", "c"].map(named);
        histories.record(&shown, at(100));
        assert_eq!(histories.lock().len(), 3);
        histories.record_with(&shown, |history, status| {
            assert_ne!(&*status.object.name, "b", "it is to break");
            history.record(status, at(101));
        });
        let mut left: Vec<_> = histories
            .lock()
            .keys()
            .map(|key| key.name.clone())
            .collect();
        left.sort_unstable();
        assert_eq!(left, ["a".into(), "c".into()]);
        histories.record(&shown, at(102));
        assert_eq!(histories.lock().len(), 3);
    }

    #[test]
    fn a_forecast_stands_where_it_is_due() {
        let mut trace = RecentTargetHistory::default();
        trace.record(&status(2, &[cpu(Some((at(100), 5.0)), 104, 9.0)]), at(100));
        trace.record(&with_floor(3, status(3, &[cpu(None, 106, 11.0)])), at(102));
        let points = trace.points("cpu").unwrap();
        let told: Vec<_> = points
            .iter()
            .map(|point| {
                let mean = point.forecast.map(|band| band.mean);
                (
                    point.at.as_second() / 15,
                    point.load,
                    mean,
                    point.replicas,
                    point.floor,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (100, Some(5.0), None, Some(2), None),
                (102, None, None, Some(3), Some(3)),
                (104, None, Some(9.0), None, None),
                (106, None, Some(11.0), None, None),
            ]
        );
        assert_eq!(trace.points("memory"), None);
    }

    #[test]
    fn the_rings_hold_two_hours_and_forget_what_is_older() {
        let mut trace = RecentTargetHistory::default();
        for slot in 0..1000 {
            trace.record(
                &status(1, &[cpu(Some((at(slot), 1.0)), slot + 4, 2.0)]),
                at(slot),
            );
        }
        let points = trace.points("cpu").unwrap();
        // The newest of 1,000 slots is 999, in minute 249. The fine grid begins at slot 880, which
        // is minute 220, and the coarse one at minute 130.
        assert_eq!(points.len(), 90 + 124);
        assert_eq!(points[0].at.as_second(), 130 * 60);
        assert_eq!(points[89].at.as_second(), 219 * 60);
        assert_eq!(points[90].at.as_second(), 880 * 15);
        let known = |point: &HistoryPoint| {
            point.load.is_some() && point.forecast.is_some() && point.plain_hpa == Some(6)
        };
        assert!(points[..210].iter().all(known));
        // After a long silence nothing of the old ring is left.
        trace.record(&status(1, &[]), at(5000));
        assert_eq!(trace.points("cpu").unwrap().len(), 1);
        // A clock that was set back begins anew from there.
        trace.record(&status(2, &[]), at(4990));
        let points = trace.points("cpu").unwrap();
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].replicas, Some(2));
        // Also by more than the rings hold, and by more than could be cleared one by one.
        trace.record(&status(1, &[]), at(i64::from(i32::MAX)));
        trace.record(&status(3, &[]), at(4991));
        let points = trace.points("cpu").unwrap();
        let replicas: Vec<_> = points.iter().map(|point| point.replicas).collect();
        assert_eq!(replicas, [Some(3)]);
        assert!(trace.bytes() < 10_000, "{}", trace.bytes());
    }

    /// The harm: a metric without answers took as much memory as a drawn one, and a renamed one
    /// stayed until its target went.
    #[test]
    fn loads_that_were_never_known_take_no_rows_and_renamed_ones_are_forgotten() {
        let queue = |number: i64, known| load(&format!("queue-{number}"), known);
        let mut trace = RecentTargetHistory::default();
        let empty = trace.bytes();
        let unanswered: Vec<_> = (0..16).map(|number| queue(number, None)).collect();
        trace.record(&status(1, &unanswered), at(1));
        let rows = size_of_val(&*vec![GAP; FINE.length()]);
        assert!(trace.bytes() - empty < rows, "{}", trace.bytes());
        assert_eq!(trace.points("queue-0").map(|points| points.len()), Some(1));
        for slot in 100..1000 {
            trace.record(&status(1, &[queue(slot, Some((at(slot), 1.0)))]), at(slot));
        }
        assert!(trace.fine.loads.len() <= 1 + UNSCALED);
        assert_eq!(trace.points("queue-0"), None);
        assert_eq!(
            trace.points("queue-999").unwrap().last().unwrap().load,
            Some(1.0)
        );
    }

    #[test]
    fn what_is_further_ahead_than_the_rings_is_left_out() {
        let mut trace = RecentTargetHistory::default();
        trace.record(&status(2, &[cpu(Some((at(100), 5.0)), 141, 9.0)]), at(100));
        trace.record(&status(2, &[cpu(Some((at(101), 5.0)), 141, 9.0)]), at(101));
        let points = trace.points("cpu").unwrap();
        assert_eq!(points.last().unwrap().at.as_second(), 141 * 15);
        assert_eq!(points.len(), 3);
    }
}
