//! The recent past of one load of one target, in little memory. Three rings, addressed by time: a
//! slot's place is its number since the epoch modulo the length, so only values and the newest slot
//! are stored. A coarser slot is the mean of its finer ones once at least half are known, computed
//! anew with each, so that the order of samples does not matter. Highs keep the largest mean that a
//! minute had once it was over.

mod gap_interpolation;
mod highs;
mod resolution;

pub use gap_interpolation::BRIDGED;
pub(super) use gap_interpolation::line;
pub use highs::LoadHighs;
pub use resolution::Resolution;

use evenkeel_units::{Amount, count_as_f64, narrowed};
use jiff::Timestamp;

use super::historical_load::HistoricalLoad;
use super::series::RegularSeries;

const VALUES: usize = Resolution::FiveMinutes.offset() + Resolution::FiveMinutes.length();

/// A slot without a value; `None` outside of this module.
const GAP: f32 = f32::NAN;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// Its time is more than one slot ahead.
    #[error("the sample is from the future")]
    Future,
    #[error("the sample is older than the history")]
    TooOld,
    #[error("the sample is not a finite number of at least 0")]
    NotALoad,
}

/// The time between two measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasurementGap {
    /// The measurements' windows cover it.
    Seen,
    /// The load has no certain value.
    Uncertain,
}

#[derive(Debug, Clone)]
pub struct LoadRingBuffer {
    /// The rings one after the other; the finest alone where nothing learns from the past.
    values: Box<[f32]>,
    /// The newest 15-second slot written; the rings end with the slot that holds it.
    newest: Option<i64>,
    highs: LoadHighs,
}

impl Default for LoadRingBuffer {
    fn default() -> Self {
        Self {
            values: vec![GAP; VALUES].into(),
            newest: None,
            highs: LoadHighs::default(),
        }
    }
}

impl LoadRingBuffer {
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.values) + self.highs.bytes()
    }

    /// Keeps all rings, or the finest alone, which suffices for the current load. New rings are
    /// filled from the finest. Returns whether rings are new.
    pub fn keep_past(&mut self, keeps: bool) -> bool {
        let length = if keeps {
            VALUES
        } else {
            Resolution::Fine.length()
        };
        if self.values.len() == length {
            return false;
        }
        let mut values = std::mem::take(&mut self.values).into_vec();
        values.resize(length, GAP);
        self.values = values.into();
        if let Some(newest) = self.newest.filter(|_| keeps) {
            let oldest = newest - Resolution::Fine.slots() + 1;
            for fine in oldest..=newest {
                self.summarise_around(fine);
            }
            self.see_minutes(oldest, newest);
        }
        if !keeps {
            self.highs.forget_means();
        }
        keeps
    }

    const fn holds(&self, resolution: Resolution) -> bool {
        resolution.offset() < self.values.len()
    }

    /// The last of several samples in one slot counts. Constant time: after an outage the rings are
    /// cleared once at most.
    ///
    /// # Errors
    /// Samples more than one slot ahead of `now`, older than the finest ring, or not a load.
    pub fn insert(&mut self, at: Timestamp, value: f64, now: Timestamp) -> Result<(), SampleError> {
        let value = load(value)?;
        let slot = Resolution::Fine.slot(at);
        let before = self.newest.map_or(slot, |newest| newest.min(slot));
        self.make_room(slot, Resolution::Fine, now)?;
        self.values[Resolution::Fine.place(slot)] = value;
        self.highs.see(at.as_second(), value);
        self.summarise_around(slot);
        self.see_minutes(before, slot);
        Ok(())
    }

    /// Adds a past value from elsewhere, such as a database; measured values stay. Returns whether
    /// it filled a gap.
    ///
    /// # Errors
    /// As [`Self::insert`], by the ring of `resolution`.
    pub fn refill(
        &mut self,
        resolution: Resolution,
        at: Timestamp,
        value: f64,
        now: Timestamp,
    ) -> Result<bool, SampleError> {
        let value = load(value)?;
        let slot = resolution.slot(at);
        self.make_room(slot, resolution, now)?;
        if !self.holds(resolution) {
            return Ok(false);
        }
        let held = &mut self.values[resolution.place(slot)];
        let gap = held.is_nan();
        if gap {
            *held = value;
            self.highs.see(at.as_second(), value);
            if resolution != Resolution::Fine {
                self.highs.see_mean(at.as_second(), value);
            }
        }
        Ok(gap)
    }

    /// Up to the newest finished step of `resolution`; `None` before the first sample.
    pub fn series(&self, resolution: Resolution) -> Option<RegularSeries> {
        let end = self
            .newest?
            .checked_add(1)?
            .checked_mul(Resolution::Fine.seconds())?;
        let after = end.div_euclid(resolution.seconds());
        // The unfinished step occupies the ring's oldest slot.
        let over = i64::from(end.rem_euclid(resolution.seconds()) != 0);
        let slots = after - resolution.slots() + over..after;
        let start = Timestamp::from_second(slots.start.checked_mul(resolution.seconds())?).ok()?;
        let values = slots.map(|slot| self.get(resolution, slot)).collect();
        RegularSeries::new(start, resolution.step(), values).ok()
    }

    /// The newest 15-second step written; `None` before the first sample.
    pub fn newest(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.newest_second()?).ok()
    }

    /// Value of the 15-second step that holds `time`.
    pub fn value(&self, time: Timestamp) -> Option<f64> {
        self.get(Resolution::Fine, Resolution::Fine.slot(time))
    }

    pub fn step(&self, resolution: Resolution, time: Timestamp) -> Option<f64> {
        self.step_at(resolution, time.as_second())
    }

    /// `second` is counted from the epoch.
    pub(crate) fn step_at(&self, resolution: Resolution, second: i64) -> Option<f64> {
        self.get(resolution, resolution.slot_at(second))
    }

    /// Begin of the newest 15-second step written, in seconds since the epoch.
    pub(crate) fn newest_second(&self) -> Option<i64> {
        self.newest?.checked_mul(Resolution::Fine.seconds())
    }

    /// Known steps of a grid.
    pub fn known(&self, resolution: Resolution) -> usize {
        let ring = self.values.iter().skip(resolution.offset());
        ring.take(resolution.length())
            .filter(|value| !value.is_nan())
            .count()
    }

    /// The highest mean of a minute within the ten minutes that hold a second of the last eight days;
    /// of five minutes if only these are known.
    pub(crate) fn high_at(&self, second: i64) -> Option<f64> {
        self.highs.at(second)
    }

    /// [`Self::high_at`] of the ten minutes of the last eight days that are over at `now`, from the first known;
    /// `None` if none is known.
    pub fn ten_minute_highs(&self, now: Timestamp) -> Option<RegularSeries> {
        self.highs.series(now)
    }

    /// Highest load seen in two weeks.
    pub(crate) fn highest(&self) -> Option<f64> {
        self.highs.highest()
    }

    /// Adds highs known from elsewhere.
    pub fn take_highs(&mut self, highs: &LoadHighs) {
        self.highs.take(highs);
    }

    /// `None` for a gap, and for a slot outside of the ring, whose place another slot has.
    fn get(&self, resolution: Resolution, slot: i64) -> Option<f64> {
        let newest = resolution.of_fine(self.newest?);
        let value = *self.values.get(resolution.place(slot))?;
        let held = slot <= newest && slot > newest - resolution.slots();
        (held && !value.is_nan()).then(|| f64::from(value.abs()))
    }

    /// Moves the rings on to hold `slot`.
    fn make_room(
        &mut self,
        slot: i64,
        resolution: Resolution,
        now: Timestamp,
    ) -> Result<(), SampleError> {
        if slot > resolution.slot(now) + 1 {
            return Err(SampleError::Future);
        }
        let fine = slot * (resolution.seconds() / Resolution::Fine.seconds());
        let newest = *self.newest.get_or_insert(fine);
        if fine > newest {
            for ring in Resolution::ALL {
                if self.holds(ring) {
                    self.clear_between(ring, newest, fine);
                }
            }
            self.newest = Some(fine);
        }
        if slot <= resolution.of_fine(newest) - resolution.slots() {
            return Err(SampleError::TooOld);
        }
        Ok(())
    }

    /// Empties one ring's slots after that of `old` up to that of `new`, both in fine slots.
    fn clear_between(&mut self, ring: Resolution, old: i64, new: i64) {
        let (old, new) = (ring.of_fine(old), ring.of_fine(new));
        for slot in (old + 1).max(new - ring.slots() + 1)..=new {
            self.values[ring.place(slot)] = GAP;
        }
    }

    /// Computes the coarse slots that hold `fine`, where they are kept.
    fn summarise_around(&mut self, fine: i64) {
        if self.holds(Resolution::FiveMinutes) {
            let minute = Resolution::Minute.of_fine(fine);
            self.summarise(fine, Resolution::Fine, Resolution::Minute);
            self.summarise(minute, Resolution::Minute, Resolution::FiveMinutes);
        }
    }

    /// Takes the means of the minutes that hold the fine slots from one to another and are over, so
    /// that noise raises no high.
    fn see_minutes(&mut self, from: i64, to: i64) {
        let Some(newest) = self.newest else { return };
        let from = from.max(newest - Resolution::Fine.slots() + 1);
        let over = Resolution::Minute.of_fine(newest + 1) - 1;
        for minute in Resolution::Minute.of_fine(from)..=Resolution::Minute.of_fine(to).min(over) {
            let mean = self.get(Resolution::Minute, minute).and_then(narrowed);
            if let Some(mean) = mean {
                self.highs
                    .see_mean(minute * Resolution::Minute.seconds(), mean);
            }
        }
    }

    /// Computes the coarse slot that holds `inner` of the finer ring.
    fn summarise(&mut self, inner: i64, fine: Resolution, coarse: Resolution) {
        let per = coarse.seconds() / fine.seconds();
        let outer = inner.div_euclid(per);
        let (mut sum, mut count) = (0.0, 0_usize);
        for value in (outer * per..(outer + 1) * per).filter_map(|slot| self.get(fine, slot)) {
            sum += value;
            count += 1;
        }
        let enough = i64::try_from(2 * count).is_ok_and(|twice| twice >= per);
        let mean = narrowed(sum / count_as_f64(count.max(1))).filter(|_| enough);
        if let Some(mean) = mean {
            self.values[coarse.place(outer)] = mean;
        }
    }
}

impl HistoricalLoad for LoadRingBuffer {
    /// From the 5-minute ring. A step's mean is the value at its middle; in between, and over fewer
    /// than 3 missing steps, it is interpolated.
    fn at(&self, time: Timestamp) -> Option<f64> {
        const RING: Resolution = Resolution::FiveMinutes;
        let from_middle = time.as_second() - RING.seconds() / 2;
        let slot = from_middle.div_euclid(RING.seconds());
        let held = |slot| Some((slot, self.get(RING, slot)?));
        let (left, before) = (0..3).map(|back| slot - back).find_map(held)?;
        let ahead = from_middle - left * RING.seconds();
        if ahead == 0 {
            return Some(before);
        }
        let (right, after) = (slot + 1..left + 4).find_map(held)?;
        let seconds = |seconds: i64| Amount::new(seconds.unsigned_abs()).as_f64();
        let share = seconds(ahead) / seconds((right - left) * RING.seconds());
        Some(before * (1.0 - share) + after * share)
    }

    fn known_from(&self, time: Timestamp) -> Option<Timestamp> {
        const RING: Resolution = Resolution::FiveMinutes;
        if self.at(time).is_some() {
            return Some(time);
        }
        let newest = RING.of_fine(self.newest?);
        let from = (newest - RING.slots() + 1).max(RING.slot(time));
        let middle = |slot: i64| slot * RING.seconds() + RING.seconds() / 2;
        let known =
            |slot: &i64| middle(*slot) >= time.as_second() && self.get(RING, *slot).is_some();
        let first = (from..=newest).find(known)?;
        Timestamp::from_second(middle(first)).ok()
    }

    fn is_uncertain(&self, time: Timestamp) -> bool {
        let slot = Resolution::Fine.slot(time);
        let is_held = self.get(Resolution::Fine, slot).is_some();
        is_held && self.values[Resolution::Fine.place(slot)].is_sign_negative()
    }
}

fn load(value: f64) -> Result<f32, SampleError> {
    let load = narrowed(value).filter(|value| *value >= 0.0);
    // A zero may have a sign.
    load.map(f32::abs).ok_or(SampleError::NotALoad)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::series::GapFreeSeries;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn filled(seconds: impl IntoIterator<Item = i64>) -> LoadRingBuffer {
        let mut history = LoadRingBuffer::default();
        for second in seconds {
            let value = f64::from(i32::try_from(second / 15).unwrap());
            history.insert(at(second), value, at(second)).unwrap();
        }
        history
    }

    fn known(history: &LoadRingBuffer, resolution: Resolution) -> Vec<(i64, f64)> {
        let series = history.series(resolution).unwrap();
        let times =
            (series.start().as_second()..).step_by(resolution.seconds().try_into().unwrap());
        let values = times.zip(series.values());
        values
            .filter_map(|(time, value)| value.map(|value| (time, value)))
            .collect()
    }

    #[test]
    fn highs_are_of_minutes_so_that_noise_raises_none() {
        let mut history = LoadRingBuffer::default();
        for second in (0..1200).step_by(15) {
            let value = if second % 60 == 0 { 20.0 } else { 4.0 };
            history.insert(at(second), value, at(second)).unwrap();
        }
        assert_eq!(
            [0, 600, 1200].map(|second| history.high_at(second)),
            [Some(8.0), Some(8.0), None]
        );
        // The last minute of each ten may be late, once or for good.
        for (every, phase) in [(30, 0), (30, 15), (60, 0), (60, 15), (60, 45)] {
            let mut slow = LoadRingBuffer::default();
            let mut last: Option<i64> = None;
            for second in (phase..1260).step_by(every) {
                slow.insert(at(second), 7.0, at(second)).unwrap();
                if let Some(last) = last {
                    slow.bridge(at(last), at(second), MeasurementGap::Seen);
                }
                last = Some(second);
            }
            let found = [0, 600].map(|second| slow.high_at(second));
            assert_eq!(found, [Some(7.0); 2], "every {every} s from {phase} s");
        }
        let past = history.refill(Resolution::FiveMinutes, at(-600), 9.0, at(1200));
        assert_eq!((past, history.high_at(-1)), (Ok(true), Some(9.0)));
    }

    #[test]
    fn where_nothing_learns_only_the_load_of_now_is_kept() {
        let seconds = || (0..7200).step_by(15);
        let whole = filled(seconds());
        let mut short = LoadRingBuffer::default();
        assert!(!short.keep_past(false) && short.bytes() * 5 < whole.bytes());
        for second in seconds() {
            let value = f64::from(i32::try_from(second / 15).unwrap());
            short.insert(at(second), value, at(second)).unwrap();
        }
        let fine = Resolution::Fine;
        assert_eq!(known(&short, fine), known(&whole, fine));
        for coarse in [Resolution::Minute, Resolution::FiveMinutes] {
            assert_eq!(short.refill(coarse, at(6000), 1.0, at(7200)), Ok(false));
            assert_eq!((known(&short, coarse), short.known(coarse)), (vec![], 0));
        }
        short.bridge_gaps();
        assert_eq!(short.high_at(6600), None);
        // The finest ring's values are there at once; the others can be refilled.
        assert!(short.keep_past(true) && !short.keep_past(true));
        assert_eq!(short.high_at(6600), whole.high_at(6600));
        let minutes = known(&whole, Resolution::Minute);
        let last = minutes.len() - 30..;
        assert_eq!(known(&short, Resolution::Minute), minutes[last]);
        assert_eq!(
            short.refill(Resolution::FiveMinutes, at(300), 1.0, at(7200)),
            Ok(true)
        );
    }

    #[test]
    fn ten_thousand_targets_of_two_series_fit_their_budget() {
        let mut history = LoadRingBuffer::default();
        let empty = 20_000 * history.bytes() / 1_000_000;
        assert!(empty <= 72, "{empty} MB");
        for second in (0..300).step_by(15) {
            history.insert(at(second), 1.0, at(second)).unwrap();
        }
        let megabytes = 20_000 * history.bytes() / 1_000_000;
        assert!(megabytes <= 120, "{megabytes} MB");
    }

    #[test]
    fn each_ring_holds_its_span_and_ends_with_what_is_over() {
        let history = filled((0..86_400 * 3).step_by(15));
        for (resolution, seconds) in Resolution::ALL.into_iter().zip([1_800, 10_800, 172_800]) {
            let series = history.series(resolution).unwrap();
            assert_eq!(series.values().len(), resolution.length());
            assert_eq!(series.start().as_second(), 86_400 * 3 - seconds);
            assert!(
                series.values().iter().all(Option::is_some),
                "{resolution:?}"
            );
        }
        let history = filled((0..86_400 * 3 + 30).step_by(15));
        let fine = history.series(Resolution::Fine).unwrap();
        assert_eq!(fine.end().as_second(), 86_400 * 3 + 15);
        for resolution in [Resolution::Minute, Resolution::FiveMinutes] {
            let series = history.series(resolution).unwrap();
            assert_eq!(series.values().len(), resolution.length() - 1);
            assert!(
                series.values().iter().all(Option::is_some),
                "{resolution:?}"
            );
        }
    }

    #[test]
    fn a_coarse_step_is_the_mean_of_the_finer_once_half_of_them_are_there() {
        let history = filled([0, 15, 60, 120, 135, 150, 165, 300]);
        assert_eq!(known(&history, Resolution::Minute), [(0, 0.5), (120, 9.5)]);
        assert_eq!(known(&history, Resolution::FiveMinutes), []);
        let history = filled([0, 15, 60, 75, 120, 135, 300]);
        assert_eq!(known(&history, Resolution::FiveMinutes), [(0, 4.5)]);
    }

    #[test]
    fn an_outage_is_a_gap_and_what_is_older_than_the_ring_is_gone() {
        let mut history = filled((0..600).step_by(15));
        history.insert(at(900), 1.0, at(900)).unwrap();
        let series = history.series(Resolution::Fine).unwrap();
        assert_eq!(
            series.usable(),
            GapFreeSeries {
                values: vec![1.0],
                missing: 0
            }
        );
        history.insert(at(100_000), 2.0, at(100_000)).unwrap();
        assert_eq!(known(&history, Resolution::Fine), [(99_990, 2.0)]);
        assert_eq!(
            known(&history, Resolution::FiveMinutes),
            [(0, 9.5), (300, 29.5)]
        );
    }

    #[test]
    fn what_is_no_load_of_this_time_is_refused_and_changes_nothing() {
        let mut history = filled([3600]);
        for (second, value, error) in [
            (3600 + 31, 1.0, SampleError::Future),
            (1_800, 1.0, SampleError::TooOld),
            (3600, -1.0, SampleError::NotALoad),
            (3600, f64::NAN, SampleError::NotALoad),
            (3600, 1e300, SampleError::NotALoad),
        ] {
            assert_eq!(history.insert(at(second), value, at(3600)), Err(error));
        }
        assert_eq!(known(&history, Resolution::Fine), [(3600, 240.0)]);
    }

    #[test]
    fn a_refill_fills_gaps_only() {
        let mut history = filled([3600, 3615]);
        let now = at(3615);
        for (second, value, fills) in [(3600, 7.0, false), (3000, 7.0, true), (3000, 8.0, false)] {
            let refilled = history.refill(Resolution::Fine, at(second), value, now);
            assert_eq!(refilled, Ok(fills));
        }
        let old = at(3600 - 86_400);
        let refilled = history.refill(Resolution::FiveMinutes, old, 9.0, now);
        assert_eq!(refilled, Ok(true));
        assert_eq!(
            known(&history, Resolution::FiveMinutes),
            [(3600 - 86_400, 9.0)]
        );
        assert_eq!(
            known(&history, Resolution::Fine),
            [(3000, 7.0), (3600, 240.0), (3615, 241.0)]
        );
    }

    #[test]
    fn a_bridge_lies_on_the_line_and_gives_way_to_what_is_measured() {
        let mut history = filled([3600, 3660, 3750]);
        history.bridge(at(3600), at(3660), MeasurementGap::Seen);
        history.bridge(at(3660), at(3750), MeasurementGap::Uncertain);
        let series = history.series(Resolution::Fine).unwrap();
        let values: Vec<_> = (240..=250).map(f64::from).collect();
        assert_eq!(series.usable().values, values);
        let uncertain = |history: &LoadRingBuffer| {
            let slots = (0..=10).filter(|slot| history.is_uncertain(at(3600 + slot * 15)));
            slots.collect::<Vec<_>>()
        };
        assert_eq!(uncertain(&history), [5, 6, 7, 8, 9]);
        assert_eq!(
            known(&history, Resolution::Minute),
            [(3600, 241.5), (3660, 245.5)]
        );
        history.insert(at(3630), 0.0, at(3750)).unwrap();
        assert_eq!(history.value(at(3630)), Some(0.0));
        history.insert(at(3690), 246.0, at(3750)).unwrap();
        assert_eq!(uncertain(&history), [5, 7, 8, 9]);
        let refilled = history.refill(Resolution::Fine, at(3615), 9.0, at(3750));
        assert_eq!(refilled, Ok(false));
        let mut gaps = filled([3600, 3630, 3630 + 15 * 60 + 15]);
        gaps.bridge_gaps();
        assert_eq!(uncertain(&gaps), [1], "further apart there is no line");
        let mut gaps = filled([3600, 3630, 3900]);
        gaps.bridge_gaps();
        assert_eq!(gaps.value(at(3765)), Some(251.0));
        // No line starts at a value outside of the ring.
        let mut other = filled([3600]);
        other.bridge(at(3000), at(3600), MeasurementGap::Seen);
        assert_eq!(known(&other, Resolution::Fine), [(3600, 240.0)]);
    }

    /// A database leaves out the minutes in which Pods started, and with them each rise.
    #[test]
    fn gaps_of_what_was_refilled_are_led_across_up_to_a_quarter_of_an_hour() {
        let mut history = LoadRingBuffer::default();
        let now = at(40_000);
        for (resolution, second, value) in [
            (Resolution::Minute, 36_000, 10.0),
            (Resolution::Minute, 36_240, 18.0),
            (Resolution::Minute, 37_200, 18.0),
            (Resolution::FiveMinutes, 3_000, 1.0),
            (Resolution::FiveMinutes, 3_900, 4.0),
            (Resolution::FiveMinutes, 5_100, 4.0),
        ] {
            let filled = history.refill(resolution, at(second), value, now);
            assert_eq!(filled, Ok(true));
        }
        history.bridge_gaps();
        let value = |resolution, second| history.step(resolution, at(second));
        assert_eq!(value(Resolution::Minute, 36_060), Some(12.0));
        assert_eq!(value(Resolution::Minute, 36_180), Some(16.0));
        assert_eq!(value(Resolution::Minute, 36_300), None);
        assert_eq!(value(Resolution::FiveMinutes, 3_300), Some(2.0));
        assert_eq!(value(Resolution::FiveMinutes, 3_600), Some(3.0));
        assert_eq!(value(Resolution::FiveMinutes, 4_200), None);
    }

    #[test]
    fn a_day_back_lies_on_the_line_between_the_middles() {
        let mut history = LoadRingBuffer::default();
        let now = at(9000);
        for slot in [0_i32, 1, 4, 8] {
            let (start, value) = (at(i64::from(slot) * 300), f64::from(slot) * 300.0 + 150.0);
            let refilled = history.refill(Resolution::FiveMinutes, start, value, now);
            refilled.unwrap();
        }
        for (second, value) in [
            (149, None),
            (150, Some(150.0)),
            (300, Some(300.0)),
            (1000, Some(1000.0)),
            (1350, Some(1350.0)),
            (1351, None),
            (2550, Some(2550.0)),
            (2551, None),
        ] {
            let found = history.at(at(second));
            assert_eq!(found.map(f64::round), value, "{second}");
        }
        for (second, known) in [
            (0, Some(150)),
            (200, Some(200)),
            (1400, Some(2550)),
            (2600, None),
        ] {
            assert_eq!(history.known_from(at(second)), known.map(at), "{second}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_samples_does_not_matter(
            mut seconds in prop::collection::vec(0_i64..1700, 1..80), swaps in any::<u64>()
        ) {
            let (now, mut forward, mut shuffled) =
                (at(1700), LoadRingBuffer::default(), LoadRingBuffer::default());
            seconds.sort_unstable();
            let insert = |history: &mut LoadRingBuffer, second: i64| {
                let value = f64::from(i32::try_from(second / 15).unwrap());
                history.insert(at(second), value, now).unwrap();
            };
            for &second in &seconds {
                insert(&mut forward, second);
            }
            seconds.sort_by_key(|&second| (second.unsigned_abs() + 1).wrapping_mul(swaps | 1));
            for &second in &seconds {
                insert(&mut shuffled, second);
            }
            for resolution in Resolution::ALL {
                prop_assert_eq!(forward.series(resolution), shuffled.series(resolution));
            }
        }
    }
}
