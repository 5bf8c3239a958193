//! The pasts that a service trains `swish-net` on, and the networks that it trained last.
//!
//! There are two: one for steps of a minute, and one for the highest minute of each ten, whose twelve steps reach two
//! hours ahead. What they have learnt depends on which loads came first, so two replicas may differ.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_forecast::{Calendar, LoadHighs, Minutes};
use jiff::{SignedDuration, Timestamp};

use crate::swish::{SwishSeries, SwishSettings, fit_swish};
use crate::swish_file::SwishLoads;

/// Loads that are learnt by name: 256 pasts of 8,000 minutes take 8 MB. Others are forecast as loads without a name.
const MOST_LOADS: usize = 256;
/// Rows of each network: they take 2 MB, and 20 passes some five seconds of a core.
const MOST_ROWS: usize = 16_000;
/// Networks are trained anew when they are a day old.
const REFRESHED_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// A past that was not renewed for so long belongs to a load that is gone, or no longer by `swish-net`.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(72);
/// New loads cause a training once there is at least one for so many that are known.
const KNOWN_FOR_EACH_NEW: usize = 8;
const MINUTE: i64 = 60;

/// A load by its namespace and its name there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwishName {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

/// Pasts by name, and the networks that learnt them.
#[derive(Debug, Default)]
pub struct SwishPasts {
    loads: BTreeMap<SwishName, LearntPast>,
    /// The loads of the last training, whatever came of it, and the end of their pasts.
    tried: Option<(BTreeSet<SwishName>, Timestamp)>,
    /// By minutes, and by tens of them.
    networks: [Option<SwishLoads>; 2],
}

/// Minutes of one load.
#[derive(Debug)]
struct LearntPast {
    minutes: Minutes,
    /// End of the past as it was read.
    end: Timestamp,
}

/// A past on the grid of a network.
struct LearntGrid {
    start: Timestamp,
    step: SignedDuration,
    values: Vec<f64>,
}

impl SwishPasts {
    /// Takes the past of a load, up to `end`, in place of an older one; of its minutes the newest `judged` are not
    /// learnt. A past that is too short to be learnt is left out.
    pub fn take(&mut self, name: SwishName, past: &Minutes, judged: usize, end: Timestamp) {
        self.loads
            .retain(|_, past| end.duration_since(past.end) < KEPT_FOR);
        let values = past.values();
        let learnt = values[..values.len().saturating_sub(judged)].to_vec();
        let minutes = Minutes::new(past.start(), learnt);
        let past = LearntPast { minutes, end };
        let is_long_enough = past
            .grid(MINUTE)
            .is_some_and(|grid| grid.series().is_long_enough());
        if is_long_enough && (self.loads.contains_key(&name) || self.has_room(&name)) {
            self.loads.insert(name, past);
        }
    }

    /// Makes room for a new load, if need be by the oldest past of the namespace with the most; false if that is its
    /// own.
    fn has_room(&mut self, name: &SwishName) -> bool {
        if self.loads.len() < MOST_LOADS {
            return true;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for known in self.loads.keys() {
            *counts.entry(&known.namespace).or_default() += 1;
        }
        let own = counts.get(&*name.namespace).copied().unwrap_or(0);
        let largest = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((namespace, _)) = largest.filter(|(_, count)| *count > own + 1) else {
            return false;
        };
        let of_it = self.loads.iter();
        let of_it = of_it.filter(|(known, _)| &*known.namespace == namespace);
        let oldest = of_it.min_by_key(|(_, past)| past.end);
        let oldest = oldest.map(|(known, _)| known.clone());
        oldest.is_some_and(|oldest| self.loads.remove(&oldest).is_some())
    }

    /// Trains the networks if they are due: there is none, they are a day old, or enough loads are new. Tells of how
    /// many loads; `None` if nothing was due. It takes some seconds.
    pub fn train_if_due(&mut self, calendar: &Calendar) -> Option<usize> {
        self.next_due().then(|| {
            self.networks = [MINUTE, LoadHighs::STEP].map(|step| self.trained(step, calendar));
            self.loads.len()
        })
    }

    /// True if a training is due, which then counts as tried.
    fn next_due(&mut self) -> bool {
        let Some(newest) = self.loads.values().map(|past| past.end).max() else {
            return false;
        };
        if let Some((names, end)) = &self.tried {
            let new = self.loads.keys().filter(|name| !names.contains(name));
            let new = new.count();
            let are_few = new == 0 || new * KNOWN_FOR_EACH_NEW < names.len();
            if are_few && newest.duration_since(*end) < REFRESHED_AFTER {
                return false;
            }
        }
        self.tried = Some((self.loads.keys().cloned().collect(), newest));
        true
    }

    /// A network for all loads that are long enough on its grid; `None` if none is.
    fn trained(&self, step: i64, calendar: &Calendar) -> Option<SwishLoads> {
        let grids = self.loads.iter().filter_map(|(name, past)| {
            let grid = past.grid(step)?;
            grid.series().is_long_enough().then_some((name, grid))
        });
        let grids: Vec<_> = grids.collect();
        let series: Vec<_> = grids.iter().map(|(_, grid)| grid.series()).collect();
        let settings = SwishSettings {
            most_rows: MOST_ROWS,
            ..SwishSettings::default()
        };
        let net = fit_swish(&series, calendar, None, &settings, &mut |_| {}).ok()?;
        let known = grids.iter().map(|(name, _)| (name.to_string(), step));
        Some(SwishLoads::new(net, known.collect()))
    }

    /// The network for values at this distance, in seconds.
    pub fn network(&self, step: i64) -> Option<&SwishLoads> {
        let [minutes, tens] = &self.networks;
        match step {
            MINUTE => minutes.as_ref(),
            LoadHighs::STEP => tens.as_ref(),
            _ => None,
        }
    }
}

impl std::fmt::Display for SwishName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl LearntPast {
    fn grid(&self, step: i64) -> Option<LearntGrid> {
        let minutes = &self.minutes;
        let values = match step {
            MINUTE => minutes.values(),
            _ => minutes.ten_minute_highs(),
        };
        let start = minutes.start().div_euclid(step) * step;
        Some(LearntGrid {
            start: Timestamp::from_second(start).ok()?,
            step: SignedDuration::from_secs(step),
            values: values.iter().copied().map(f64::from).collect(),
        })
    }
}

impl LearntGrid {
    fn series(&self) -> SwishSeries<'_> {
        SwishSeries {
            start: self.start,
            step: self.step,
            values: &self.values,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    fn end(hours: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
    }

    /// A load with a wave of three hours, known for so many minutes before `end`.
    fn past(minutes: u32, end: Timestamp) -> Minutes {
        let start = end.as_second() - i64::from(minutes) * 60;
        let value = |minute: u32| 100.0 + 40.0 * (TAU * f64::from(minute) / 180.0).sin();
        #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
        let values = (0..minutes).map(|minute| value(minute) as f32);
        Minutes::new(start, values.collect())
    }

    fn name(namespace: &str, name: &str) -> SwishName {
        SwishName {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    fn take(pasts: &mut SwishPasts, load: &str, minutes: u32, hours: i64) {
        let past = past(minutes, end(hours));
        pasts.take(name("shop", load), &past, 0, end(hours));
    }

    #[test]
    fn a_load_is_learnt_by_minutes_and_by_tens_of_them_where_it_is_long_enough() {
        let mut pasts = SwishPasts::default();
        let utc = Calendar::default();
        assert_eq!(pasts.train_if_due(&utc), None, "there is nothing to learn");
        take(&mut pasts, "long", 1000, 0);
        take(&mut pasts, "short", 200, 0);
        take(&mut pasts, "new", 60, 0);
        assert_eq!(pasts.train_if_due(&utc), Some(2));
        assert_eq!(pasts.train_if_due(&utc), None);
        let known = |load: &str, step: i64| {
            let network = pasts.network(step).unwrap();
            network
                .of(&[&format!("shop/{load}")], step)
                .unwrap()
                .category
        };
        let categories = |step| ["long", "short", "new"].map(|load| known(load, step));
        assert_eq!(categories(60), [Some(0), Some(1), None]);
        assert_eq!(categories(600), [Some(0), None, None]);
    }

    #[test]
    fn minutes_that_are_judged_are_not_learnt() {
        let whole = past(400, end(0));
        let mut damaged = whole.values().to_vec();
        damaged[200..].fill(9.0);
        let damaged = Minutes::new(whole.start(), damaged);
        let nets = [whole, damaged].map(|past| {
            let mut pasts = SwishPasts::default();
            pasts.take(name("shop", "web"), &past, 200, end(0));
            pasts.train_if_due(&Calendar::default());
            let network = pasts.network(60).unwrap();
            let load = network.of(&["shop/web"], 60).unwrap();
            (*load.net).clone()
        });
        assert_eq!(nets[0], nets[1]);
    }

    #[test]
    fn networks_are_trained_anew_for_new_loads_and_each_day() {
        let mut pasts = SwishPasts::default();
        let mut trainings = 0;
        for load in 0..20 {
            take(&mut pasts, &format!("load-{load:02}"), 100, 0);
            trainings += usize::from(pasts.next_due());
        }
        // One for each of the first nine loads, four for two loads each, and one for the last three.
        assert_eq!(trainings, 9 + 5);
        take(&mut pasts, "load-00", 100, 23);
        assert!(!pasts.next_due(), "the same load, within a day");
        take(&mut pasts, "load-00", 100, 24);
        assert!(pasts.next_due());
        take(&mut pasts, "load-00", 100, 72);
        assert_eq!(pasts.loads.len(), 1, "the other loads are gone");
    }

    #[test]
    fn a_namespace_with_many_loads_makes_room_for_others_but_not_for_its_own() {
        let mut pasts = SwishPasts::default();
        for load in 0..=MOST_LOADS {
            take(&mut pasts, &format!("load-{load:03}"), 100, 0);
        }
        let known = |pasts: &SwishPasts, name: &SwishName| pasts.loads.contains_key(name);
        assert_eq!(pasts.loads.len(), MOST_LOADS);
        assert!(!known(&pasts, &name("shop", "load-256")));
        let other = name("billing", "mail");
        pasts.take(other.clone(), &past(100, end(1)), 0, end(1));
        assert_eq!(pasts.loads.len(), MOST_LOADS);
        assert!(known(&pasts, &other) && !known(&pasts, &name("shop", "load-000")));
    }
}
