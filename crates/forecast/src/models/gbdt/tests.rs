//! `gbdt` with trees of which all answers are known.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::context::ModelAssets;
use crate::load_ring_buffer::LoadRingBuffer;
use crate::network::{GruNetwork, WindowRows};
use crate::trainer::TrainingError;
use crate::trees::TreeNode;

const HORIZON: NonZeroUsize = NonZeroUsize::new(12).unwrap();
const STEP: SignedDuration = SignedDuration::from_mins(5);

/// Answers trees of one leaf and records requests.
#[derive(Debug)]
struct Leaf {
    answer: f32,
    asked: Mutex<Vec<(usize, f32)>>,
}

impl Trainer for Leaf {
    fn medians(&self, rows: &[TreeRow]) -> Result<Trees, TrainingError> {
        let largest = rows.iter().map(|row| row.label).fold(f32::MIN, f32::max);
        self.asked.lock().unwrap().push((rows.len(), largest));
        Ok(Trees::new(0.0, &[vec![TreeNode::Leaf(self.answer)]]).unwrap())
    }

    fn networks(&self, _: &WindowRows, _: &[GruNetwork]) -> Result<Vec<GruNetwork>, TrainingError> {
        unreachable!("trees need none")
    }
}

struct Followed {
    model: Gbdt,
    trainer: Arc<Leaf>,
    shared: ModelAssets,
    history: LoadRingBuffer,
    next: i64,
}

impl Followed {
    fn new(answer: f32) -> Self {
        let asked = Mutex::default();
        let trainer = Arc::new(Leaf { answer, asked });
        Self {
            model: Gbdt::towards(HORIZON),
            shared: ModelAssets {
                trainer: Some(trainer.clone()),
                ..ModelAssets::default()
            },
            trainer,
            history: LoadRingBuffer::default(),
            next: 0,
        }
    }

    fn fitted(answer: f32, values: &[Option<f64>]) -> Self {
        let mut followed = Self::new(answer);
        for &value in values {
            followed.observe(value);
        }
        followed.fit(values).unwrap();
        followed
    }

    fn fit(&mut self, values: &[Option<f64>]) -> Result<(), NotEnoughHistory> {
        self.next = i64::try_from(values.len()).unwrap();
        let start = Timestamp::UNIX_EPOCH;
        let past = RegularSeries::new(start, STEP, values.to_vec()).unwrap();
        let context = context(self.next - 1, &self.history, &self.shared);
        self.model.fit(&past, &context)
    }

    fn observe(&mut self, value: Option<f64>) {
        let context = context(self.next, &self.history, &self.shared);
        self.model.observe(value, &context);
        self.next += 1;
    }

    fn forecast(&self, horizon: usize) -> Result<Forecast, NotEnoughHistory> {
        let context = context(self.next - 1, &self.history, &self.shared);
        self.model.forecast(horizon, &context)
    }

    fn means(&self, horizon: usize) -> Vec<f64> {
        let forecast = self.forecast(horizon).unwrap();
        forecast.steps.iter().map(|step| step.mean).collect()
    }
}

fn context<'a>(
    index: i64,
    history: &'a LoadRingBuffer,
    shared: &'a ModelAssets,
) -> ForecastContext<'a> {
    ForecastContext {
        history,
        origin: Timestamp::from_second(300 * index).unwrap(),
        step: STEP,
        shared,
    }
}

fn close(found: &[f64], expected: &[f64]) {
    let pairs = found.iter().zip(expected);
    let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 0.01;
    assert!(
        found.len() == expected.len() && pairs.into_iter().all(near),
        "{found:?}, not {expected:?}"
    );
}

#[test]
fn an_answer_is_a_rise_in_parts_of_the_load_of_the_last_hours() {
    let mut followed = Followed::fitted(0.5, &[Some(100.0); 300]);
    // Trees at 1, 4 and 12 steps, interpolation between; the last stays.
    let mut expected = vec![150.0; 14];
    close(&followed.means(14), &expected);
    // 47 of the last 48 values are 100.
    followed.observe(Some(148.0));
    expected.fill(148.0 + 0.5 * 101.0);
    close(&followed.means(14), &expected);
}

#[test]
fn horizons_without_trees_lie_on_the_line() {
    let mut model = Gbdt::towards(HORIZON);
    let leaf = |value| Trees::new(0.0, &[vec![TreeNode::Leaf(value)]]).unwrap();
    assert_eq!(*model.horizons, [1, 4, 12]);
    model.fitted = Some(GbdtFit {
        trees: [0.1, 0.4, 0.0].map(leaf).into(),
        level: 100.0,
        rows: 0,
    });
    let (history, shared) = (LoadRingBuffer::default(), ModelAssets::default());
    (0..2).for_each(|index| model.observe(Some(100.0), &context(index, &history, &shared)));
    close(
        &model.means,
        &[
            110.0, 120.0, 130.0, 140.0, 135.0, 130.0, 125.0, 120.0, 115.0, 110.0, 105.0, 100.0,
        ],
    );
}

#[test]
fn trees_learn_from_what_came_and_are_first_tried_on_what_they_have_not_seen() {
    let line: Vec<_> = (0..300_u16)
        .map(|index| Some(1000.0 + f64::from(index)))
        .collect();
    let followed = Followed::fitted(0.0, &line);
    let asked = followed.trainer.asked.lock().unwrap().clone();
    // The older 240 values first, then all; each horizon ends that many steps earlier.
    let rows: Vec<usize> = asked.iter().map(|(rows, _)| *rows).collect();
    assert_eq!(rows, [239, 236, 228, 299, 296, 288]);
    // The rise of twelve steps on the mean that there was at the first value.
    assert!((asked[5].1 - 0.012).abs() < 1e-6, "{asked:?}");
    // The error of no rise is that of the last value.
    let forecast = followed.forecast(1).unwrap();
    let half = forecast.steps[0].interval80.upper - forecast.steps[0].mean;
    assert!((0.2..2.0).contains(&half), "{forecast:?}");
    assert_eq!(
        followed.model.summary().unwrap(),
        "3 trees for steps 1, 4, 12, of 300 values, 1 kB"
    );
    // The second time, all that depends on errors is known.
    let mut again = followed;
    again.fit(&line).unwrap();
    assert_eq!(again.trainer.asked.lock().unwrap().len(), 9);
}

#[test]
fn too_little_and_gaps_are_told() {
    let mut followed = Followed::new(0.0);
    for value in [Some(5.0); 90] {
        followed.observe(value);
    }
    let need = 91;
    let refused = NotEnoughHistory { need, have: 90 };
    assert_eq!(followed.forecast(1), Err(refused));
    assert_eq!(followed.fit(&[Some(5.0); 90]), Err(refused));
    assert_eq!(followed.fit(&[Some(5.0); 91]), Ok(()));
    close(&followed.means(2), &[5.0; 2]);
    followed.observe(None);
    followed.observe(None);
    assert_eq!(followed.forecast(1).unwrap().origin.as_second(), 92 * 300);
    followed.observe(None);
    assert_eq!(
        followed.forecast(1),
        Err(NotEnoughHistory { need: 1, have: 0 })
    );
    followed.observe(Some(7.0));
    close(&followed.means(2), &[7.0; 2]);
    // Only what follows the last gap is learnt from.
    let mut gap = vec![Some(5.0); 300];
    gap[217..220].fill(None);
    assert_eq!(followed.fit(&gap), Err(NotEnoughHistory { need, have: 80 }));
}

#[test]
fn missing_steps_are_counted() {
    let mut followed = Followed::fitted(0.0, &[Some(100.0); 300]);
    followed.model.fitted.as_mut().unwrap().trees[1] =
        Trees::new(0.0, &[vec![TreeNode::Leaf(0.4)]]).unwrap();
    followed.observe(Some(100.0));
    let before = followed.means(6);
    followed.observe(None);
    close(&followed.means(4), &before[1..5]);
}

#[test]
fn without_a_trainer_there_are_no_trees() {
    let mut followed = Followed::new(0.0);
    followed.shared.trainer = None;
    assert!(followed.fit(&[Some(5.0); 300]).is_err());
    assert!(followed.forecast(1).is_err());
    assert_eq!(followed.model.summary(), None);
}

#[test]
fn a_load_of_nothing_stays_nothing_and_what_came_alive_is_bounded() {
    let followed = Followed::fitted(0.5, &[Some(0.0); 300]);
    close(&followed.means(12), &[0.0; 12]);
    assert_eq!(
        *followed.trainer.asked.lock().unwrap(),
        [],
        "there is no row"
    );
    let mut values = vec![Some(1e-9); 300];
    values[299] = Some(1e9);
    let followed = Followed::fitted(0.0, &values);
    let largest = followed
        .trainer
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|asked| asked.1)
        .fold(0.0, f32::max);
    assert!((largest - 8.0).abs() < 1e-6);
}

proptest! {
    #[test]
    fn forecasts_are_finite_not_negative_and_nested(
        answer in prop_oneof![-9.0..9.0_f32, Just(f32::MAX), Just(f32::MIN)],
        size in prop_oneof![Just(1e-300), Just(1.0), Just(1e300), Just(f64::MAX)],
        values in prop::collection::vec(prop_oneof![
            8 => (0.0..1.0_f64).prop_map(Some), 1 => Just(None), 1 => (-1.0..0.0_f64).prop_map(Some),
            1 => prop::num::f64::ANY.prop_map(Some),
        ], 145..180),
    ) {
        let values: Vec<_> = values.into_iter().map(|value| value.map(|value| value * size)).collect();
        let mut followed = Followed::new(answer);
        if followed.fit(&values).is_err() {
            return Ok(());
        }
        for value in values {
            followed.observe(value);
            let Ok(forecast) = followed.forecast(14) else { continue };
            for step in forecast.steps {
                prop_assert!(step.mean.is_finite() && step.mean >= 0.0);
                let (inner, outer) = (step.interval80, step.interval95);
                prop_assert!(inner.contains(step.mean) && outer.upper.is_finite());
                prop_assert!(outer.lower >= 0.0);
                prop_assert!(outer.lower <= inner.lower && inner.upper <= outer.upper);
            }
        }
    }
}
