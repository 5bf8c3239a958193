//! The pasts that a service trains one `swish-net` on, and the network that it trained last.
//!
//! Each load is learnt twice, under the same name: by its minutes, and by its highest minute of each ten. With the
//! second, twelve steps reach two hours ahead. The same pasts, taken in the same order, give the same network.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_forecast::{Calendar, LoadHighs, Minutes};
use jiff::{SignedDuration, Timestamp};

use crate::networks::NetworkError;
use crate::swish::{SwishSeries, SwishSettings, fit_swish};
use crate::swish_file::SwishLoads;

/// Loads that are learnt by name: 256 pasts of 8,000 minutes take 8 MB. Others are forecast as loads without a name.
const MOST_LOADS: usize = 256;
/// Rows in one pass, of all loads together: 20 passes take some ten seconds of a core.
const MOST_ROWS: usize = 32_000;
/// A network is trained anew when it is a day old.
const REFRESHED_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// A past that was not renewed for so long belongs to a load that is gone.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(72);
/// A network that knows so many loads is trained anew for so many new ones at once, not for each.
const KNOWN_FOR_EACH_NEW: usize = 8;

/// Pasts by name, and the network that learnt them.
#[derive(Debug, Default)]
pub struct SwishPasts {
    loads: BTreeMap<Arc<str>, LearntPast>,
    trained: Option<TrainedSwish>,
}

/// Minutes of one load.
#[derive(Debug, Clone)]
struct LearntPast {
    /// Begin of the first minute, in seconds since the epoch.
    start: i64,
    values: Arc<[f32]>,
    /// End of the past as it was read.
    end: Timestamp,
}

/// A network with what it was trained on.
#[derive(Debug, Clone)]
pub struct TrainedSwish {
    pub loads: SwishLoads,
    names: Vec<Arc<str>>,
    end: Timestamp,
}

/// One training, to be done beside everything else.
#[derive(Debug)]
pub struct SwishTraining {
    loads: Vec<(Arc<str>, LearntPast)>,
    calendar: Calendar,
    settings: SwishSettings,
}

impl SwishPasts {
    /// Takes the past of a load, up to `end`, in place of an older one. `learnt` of its minutes may be learnt.
    pub fn take(&mut self, name: &str, past: &Minutes, learnt: usize, end: Timestamp) {
        self.loads
            .retain(|_, past| end.duration_since(past.end) < KEPT_FOR);
        if self.loads.len() >= MOST_LOADS && !self.loads.contains_key(name) {
            return;
        }
        let values = past.values();
        let past = LearntPast {
            start: past.start(),
            values: values[..learnt.min(values.len())].into(),
            end,
        };
        self.loads.insert(name.into(), past);
    }

    /// The training that is due: the first, that of a network that is a day old, or that of one that does not know
    /// enough of the loads.
    pub fn training_due(&self, calendar: &Calendar) -> Option<SwishTraining> {
        let newest = self.loads.values().map(|past| past.end).max()?;
        if let Some(TrainedSwish { names, end, .. }) = &self.trained {
            let is_new = |name: &&Arc<str>| names.binary_search(name).is_err();
            let new = self.loads.keys().filter(is_new).count();
            let few = new == 0 || new * KNOWN_FOR_EACH_NEW < names.len();
            if few && newest.duration_since(*end) < REFRESHED_AFTER {
                return None;
            }
        }
        let loads = self.loads.iter();
        Some(SwishTraining {
            loads: loads
                .map(|(name, past)| (Arc::clone(name), past.clone()))
                .collect(),
            calendar: calendar.clone(),
            settings: SwishSettings {
                most_rows: MOST_ROWS,
                ..SwishSettings::default()
            },
        })
    }

    /// Takes what came of a training.
    pub fn trained(&mut self, trained: TrainedSwish) {
        self.trained = Some(trained);
    }

    /// The network that was trained last.
    pub fn network(&self) -> Option<&SwishLoads> {
        self.trained.as_ref().map(|trained| &trained.loads)
    }
}

/// A grid that a load is learnt on.
struct LearntGrid {
    start: Timestamp,
    step: i64,
    values: Vec<f64>,
}

impl SwishTraining {
    /// The loads that it was given.
    pub fn loads(&self) -> usize {
        self.loads.len()
    }

    /// Trains, which takes some seconds. A load whose past is too short is left out.
    ///
    /// # Errors
    /// [`NetworkError`]: no past is long enough.
    pub fn run(self) -> Result<TrainedSwish, NetworkError> {
        let mut known = Vec::new();
        let mut grids = Vec::new();
        for (name, past) in &self.loads {
            for grid in past.grids() {
                if grid.series().is_long_enough() {
                    known.push((name.to_string(), grid.step));
                    grids.push(grid);
                }
            }
        }
        let series: Vec<_> = grids.iter().map(LearntGrid::series).collect();
        let net = fit_swish(&series, &self.calendar, None, &self.settings, &mut |_| {})?;
        let ends = self.loads.iter().map(|(_, past)| past.end);
        Ok(TrainedSwish {
            loads: SwishLoads::new(net, known),
            end: ends.max().unwrap_or(Timestamp::MIN),
            names: self.loads.into_iter().map(|(name, _)| name).collect(),
        })
    }
}

impl LearntPast {
    /// The minutes, and the highest minute of each ten.
    fn grids(&self) -> impl Iterator<Item = LearntGrid> {
        let minutes = Minutes::new(self.start, self.values.to_vec());
        let of = |start: i64, step: i64, values: &[f32]| {
            Some(LearntGrid {
                start: Timestamp::from_second(start).ok()?,
                step,
                values: values.iter().copied().map(f64::from).collect(),
            })
        };
        let highs = self.start.div_euclid(LoadHighs::STEP) * LoadHighs::STEP;
        let grids = [
            of(minutes.start(), 60, minutes.values()),
            of(highs, LoadHighs::STEP, minutes.ten_minute_highs()),
        ];
        grids.into_iter().flatten()
    }
}

impl LearntGrid {
    fn series(&self) -> SwishSeries<'_> {
        SwishSeries {
            start: self.start,
            step: SignedDuration::from_secs(self.step),
            values: &self.values,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use evenkeel_forecast::{SwishNet, SwishShape};
    use evenkeel_units::count_as_f64;

    use super::*;
    use crate::swish_file::OtherStep;

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

    fn take(pasts: &mut SwishPasts, name: &str, minutes: u32, hours: i64) {
        pasts.take(name, &past(minutes, end(hours)), usize::MAX, end(hours));
    }

    fn due(pasts: &SwishPasts) -> Option<SwishTraining> {
        pasts.training_due(&Calendar::default())
    }

    /// As if the training that is due had been done; false if none is.
    fn passed(pasts: &mut SwishPasts) -> bool {
        let Some(SwishTraining { loads, .. }) = due(pasts) else {
            return false;
        };
        let shape = SwishShape { categories: 0 };
        let parameters = vec![0.0; shape.counts().iter().sum()];
        let net = SwishNet::new(shape, &parameters).unwrap();
        pasts.trained(TrainedSwish {
            loads: SwishLoads::new(net, Vec::new()),
            end: loads.iter().map(|(_, past)| past.end).max().unwrap(),
            names: loads.into_iter().map(|(name, _)| name).collect(),
        });
        true
    }

    #[test]
    fn a_load_is_learnt_by_minutes_and_by_tens_of_them_where_it_is_long_enough() {
        let mut pasts = SwishPasts::default();
        assert!(due(&pasts).is_none(), "there is nothing to learn");
        take(&mut pasts, "long", 2000, 0);
        take(&mut pasts, "short", 300, 0);
        pasts.trained(due(&pasts).unwrap().run().unwrap());
        let known = |name: &str, step: i64| {
            let network = pasts.network().unwrap();
            network.of(&[name], step).map(|load| load.category)
        };
        assert_eq!(known("long", 60), Ok(Some(0)));
        assert_eq!(known("long", 600), Ok(Some(1)));
        assert_eq!(known("short", 60), Ok(Some(2)));
        let other = OtherStep {
            known: 60,
            wanted: 600,
        };
        assert_eq!(known("short", 600), Err(other));
        assert_eq!(known("new", 600), Ok(None), "a load without a name");
    }

    #[test]
    fn a_past_that_is_too_short_is_refused() {
        let mut pasts = SwishPasts::default();
        take(&mut pasts, "new", 40, 0);
        let training = due(&pasts).unwrap();
        assert_eq!(training.loads(), 1);
        let refused = training.run().unwrap_err();
        assert!(matches!(refused, NetworkError::TooFew { .. }), "{refused}");
    }

    #[test]
    fn minutes_that_are_judged_are_not_learnt() {
        let mut pasts = SwishPasts::default();
        let mut damaged = past(600, end(0)).values().to_vec();
        damaged[400..].fill(f32::NAN);
        let start = end(0).as_second() - 600 * 60;
        let minutes = Minutes::new(start, damaged);
        pasts.take("web", &minutes, 400, end(0));
        let mut whole = SwishPasts::default();
        whole.take("web", &past(600, end(0)), 400, end(0));
        let nets = [pasts, whole].map(|pasts| {
            let trained = due(&pasts).unwrap().run();
            let load = trained.unwrap().loads.of(&["web"], 60).unwrap();
            (*load.net).clone()
        });
        assert_eq!(nets[0], nets[1]);
    }

    #[test]
    fn a_network_is_trained_anew_for_new_loads_and_each_day() {
        let mut pasts = SwishPasts::default();
        let names: Vec<String> = (0..20).map(|load| format!("load-{load:02}")).collect();
        let mut trainings = 0;
        for name in &names {
            take(&mut pasts, name, 10, 0);
            trainings += usize::from(passed(&mut pasts));
        }
        // One for each of the first nine, then for two, and for two again.
        assert_eq!(trainings, 9 + 5, "{:?}", pasts.network());
        take(&mut pasts, "load-00", 10, 23);
        assert!(!passed(&mut pasts), "the same load, within a day");
        take(&mut pasts, "load-00", 10, 24);
        assert!(passed(&mut pasts));
        take(&mut pasts, "load-00", 10, 72);
        assert_eq!(pasts.loads.len(), 1, "the other loads are gone");
    }

    #[test]
    fn more_loads_than_fit_are_without_a_name() {
        let mut pasts = SwishPasts::default();
        for load in 0..=MOST_LOADS {
            take(&mut pasts, &format!("load {load}"), 10, 0);
        }
        assert_eq!(pasts.loads.len(), MOST_LOADS);
        let known = |load: usize| pasts.loads.contains_key(&*format!("load {load}"));
        assert!(known(0) && !known(MOST_LOADS));
        let bytes = count_as_f64(MOST_LOADS * 8_000 * size_of::<f32>());
        assert!(bytes < 8.2e6, "{bytes}");
    }
}
