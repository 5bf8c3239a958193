//! Interpolates a history between two measurements.

use evenkeel_units::{Amount, narrowed};
use jiff::{SignedDuration, Timestamp};

use super::{GAP, LoadRingBuffer, MeasurementGap, Resolution};

/// Longest gap that is bridged.
pub const BRIDGED: SignedDuration = SignedDuration::from_mins(15);

/// The slots between two measurements, with interpolated values.
pub(crate) fn line(from: i64, first: f32, to: i64, last: f32) -> impl Iterator<Item = (i64, f32)> {
    let distance = |slots: i64| Amount::new(slots.unsigned_abs()).as_f64();
    (from + 1..to).filter_map(move |slot| {
        let share = distance(slot - from) / distance(to - from);
        let value = f64::from(first) * (1.0 - share) + f64::from(last) * share;
        Some((slot, narrowed(value)?))
    })
}

impl LoadRingBuffer {
    /// Interpolates the 15-second slots that are gaps, if the ring holds both ends.
    pub fn bridge(&mut self, from: Timestamp, to: Timestamp, between: MeasurementGap) {
        let (first, last) = (Resolution::Fine.slot(from), Resolution::Fine.slot(to));
        let held = |slot| self.get(Resolution::Fine, slot);
        let Some((before, after)) = held(first).zip(held(last)) else {
            return;
        };
        let narrow = |value: f64| narrowed(value).unwrap_or(GAP);
        for (slot, value) in line(first, narrow(before), last, narrow(after)) {
            let held = &mut self.values[Resolution::Fine.place(slot)];
            if held.is_nan() {
                *held = match between {
                    MeasurementGap::Seen => value.abs(),
                    MeasurementGap::Uncertain => -value.abs(),
                };
            }
        }
        let minutes = Resolution::Minute.of_fine(first)..=Resolution::Minute.of_fine(last);
        for minute in minutes {
            let start = minute * Resolution::Minute.seconds() / Resolution::Fine.seconds();
            self.summarise_around(start);
        }
        self.see_minutes(first, last);
    }

    /// Bridges the gaps of all rings up to [`BRIDGED`], as uncertain load.
    pub fn bridge_gaps(&mut self) {
        let Some(newest) = self.newest else { return };
        let slots = newest - Resolution::Fine.slots() + 1..=newest;
        let held = slots.filter(|&slot| self.get(Resolution::Fine, slot).is_some());
        let held: Vec<i64> = held.collect();
        let time = |slot: i64| Timestamp::from_second(slot * Resolution::Fine.seconds()).ok();
        for (from, to) in held
            .windows(2)
            .filter_map(|pair| Some((time(pair[0])?, time(pair[1])?)))
        {
            let gap = to.duration_since(from);
            if gap > Resolution::Fine.step() && gap <= BRIDGED {
                self.bridge(from, to, MeasurementGap::Uncertain);
            }
        }
        for ring in [Resolution::Minute, Resolution::FiveMinutes] {
            if self.holds(ring) {
                self.bridge_coarse(ring);
            }
        }
    }

    /// Bridges the gaps of a coarser ring that finer values have not filled.
    fn bridge_coarse(&mut self, ring: Resolution) {
        let Some(newest) = self.newest else { return };
        let newest = ring.of_fine(newest);
        let mut before: Option<(i64, f32)> = None;
        for slot in newest - ring.slots() + 1..=newest {
            let held = self.values[ring.place(slot)];
            if held.is_nan() {
                continue;
            }
            if let Some((from, first)) = before
                && (slot - from) * ring.seconds() <= BRIDGED.as_secs()
            {
                line(from, first, slot, held).for_each(|(slot, value)| {
                    self.values[ring.place(slot)] = value;
                });
            }
            before = Some((slot, held));
        }
    }
}
