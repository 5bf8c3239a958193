//! `gru` and `arima-gru` with networks of which all answers are known.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use super::*;
use crate::models::arima::Arima;
use crate::models::arima_gru::ArimaGru;
use crate::network::{GruNetwork, NetworkShape, WindowRows};
use crate::noise;
use crate::trainer::{TrainingError, TreeRow};
use crate::trees::Trees;

const HORIZON: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// Records requests; its networks give the same answer to every input.
#[derive(Debug, Default)]
struct Same {
    answers: Vec<f32>,
    asked: Mutex<Vec<(WindowRows, usize)>>,
}

impl Same {
    fn of(answers: &[f32]) -> Self {
        Self {
            answers: answers.to_vec(),
            asked: Mutex::default(),
        }
    }

    fn rows(&self) -> WindowRows {
        self.asked.lock().unwrap().last().unwrap().0.clone()
    }
}

impl Trainer for Same {
    fn medians(&self, _: &[TreeRow]) -> Result<Trees, TrainingError> {
        unreachable!("networks need no trees")
    }

    fn networks(
        &self,
        rows: &WindowRows,
        before: &[GruNetwork],
    ) -> Result<Vec<GruNetwork>, TrainingError> {
        let mut asked = self.asked.lock().unwrap();
        asked.push((rows.clone(), before.len()));
        let (window, outputs) = rows.lengths();
        let shape = NetworkShape {
            window,
            hidden: 2,
            outputs,
        };
        let network = |answer: &f32| {
            let mut parameters = vec![0.0; shape.count() - outputs];
            parameters.resize(shape.count(), *answer);
            GruNetwork::new(shape, &parameters).unwrap()
        };
        Ok(self.answers.iter().map(network).collect())
    }
}

fn follow(model: &mut impl PointModel, values: &[f64]) {
    for &value in values {
        model.observe(value);
    }
}

fn fitted<M: PointModel>(mut model: M, values: &[f64], trainer: &Same) -> M {
    let again = model.fit(values, Some(trainer)).unwrap();
    follow(&mut model, &values[values.len() - again..]);
    model
}

fn means(model: &impl PointModel, steps: usize) -> Vec<f64> {
    let mut means = vec![0.0; steps];
    model.predict(&mut means);
    means
}

fn close(found: &[f64], expected: &[f64]) {
    let near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-4;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{found:?}, not {expected:?}"
    );
}

fn toothed(count: usize) -> Vec<f64> {
    (0..count)
        .map(|index| if index % 2 == 0 { 10.0 } else { 14.0 })
        .collect()
}

#[test]
fn answers_of_networks_are_averaged_and_count_in_mean_differences_from_the_last_value() {
    let trainer = Same::of(&[1.0, 2.0]);
    let model = fitted(GruModel::towards(HORIZON), &toothed(200), &trainer);
    // The last value is 14; of the 32 before it, 16 are 4 below: 2 in the mean. Further steps stay.
    close(&means(&model, 5), &[17.0; 5]);
    assert_eq!(model.summary().unwrap(), "2 networks of 39 weights");
}

#[test]
fn a_row_has_the_differences_before_an_origin_and_those_after_it() {
    let trainer = Same::of(&[0.0]);
    let mut values = toothed(200);
    values[199] = 24.0;
    fitted(GruModel::towards(HORIZON), &values, &trainer);
    let rows = trainer.rows();
    assert_eq!(
        (rows.len(), rows.lengths()),
        (200 - 35, (NETWORK_WINDOW, 3))
    );
    let (window, targets, weight) = rows.row(164);
    // At 10: half of the values before it are 4 above.
    assert!((window[31] - 2.0).abs() < 1e-6 && window[30].abs() < 1e-6);
    assert_eq!(targets, [2.0, 0.0, 7.0]);
    assert!((weight - 1.0).abs() < 1e-6);
}

#[test]
fn arima_is_corrected_by_what_it_missed() {
    let values: Vec<f64> = noise::normal(3, 400).iter().map(|one| 50.0 + one).collect();
    let trainer = Same::of(&[0.5]);
    let model = fitted(ArimaGru::towards(HORIZON), &values, &trainer);
    let mut alone = Arima::default();
    let again = alone.fit(&values, None).unwrap();
    let mut errors = Vec::new();
    for &value in &values[values.len() - again..] {
        let mut expected = [0.0];
        alone.predict(&mut expected);
        errors.push(value - expected[0]);
        alone.observe(value);
    }
    let newest = &errors[errors.len() - NETWORK_WINDOW..];
    let size = newest.iter().map(|error| error.abs()).sum::<f64>() / 32.0;
    let expected: Vec<f64> = means(&alone, 5)
        .iter()
        .map(|mean| mean + 0.5 * size)
        .collect();
    close(&means(&model, 5), &expected);
    let rows = trainer.rows();
    let (window, _, _) = rows.row(rows.len() - 1);
    let error = errors[errors.len() - 4] / f64::from(window[31]);
    assert!(
        (0.3..3.0).contains(&error),
        "a window ends with the newest error"
    );
    assert!(
        model
            .summary()
            .unwrap()
            .starts_with("1 networks of 39 weights; ")
    );
}

#[test]
fn later_fits_go_on_from_the_networks_that_are_there() {
    let trainer = Same::of(&[0.0, 0.0]);
    let values = noise::normal(1, 300);
    let mut model = GruModel::towards(HORIZON);
    let mut hybrid = ArimaGru::towards(HORIZON);
    for _ in 0..2 {
        model.fit(&values, Some(&trainer)).unwrap();
        hybrid.fit(&values, Some(&trainer)).unwrap();
    }
    let asked = trainer.asked.lock().unwrap();
    let before: Vec<usize> = asked.iter().map(|asked| asked.1).collect();
    assert_eq!(before, [0, 0, 2, 2]);
}

#[test]
fn too_few_values_are_refused_and_a_trainer_is_needed() {
    let trainer = Same::of(&[0.0]);
    let values = noise::normal(1, 300);
    let mut model = GruModel::towards(HORIZON);
    let (need, have) = (95, 94);
    let refused = model.fit(&values[..have], Some(&trainer));
    assert_eq!(refused, Err(NotEnoughHistory { need, have }));
    assert_eq!(model.need(), need);
    assert!(model.fit(&values, None).is_err() && !model.is_fitted());
    assert!(model.fit(&values[..need], Some(&trainer)).is_ok() && model.is_fitted());
    let mut model = ArimaGru::towards(HORIZON);
    let need = model.need();
    let refused = model.fit(&values[..need - 1], Some(&trainer));
    let have = need - 1;
    assert_eq!(refused, Err(NotEnoughHistory { need, have }));
    assert!(model.fit(&values, None).is_err() && !model.is_fitted());
    assert!(model.fit(&values[..need], Some(&trainer)).is_ok() && model.is_fitted());
}

#[test]
fn after_a_restart_a_window_has_to_fill() {
    let trainer = Same::of(&[1.0]);
    let mut model = fitted(GruModel::towards(HORIZON), &toothed(200), &trainer);
    model.restart();
    let need = model.need();
    follow(&mut model, &vec![7.0; need]);
    // Nothing moves: a tenth of the mean scale of all rows is the scale.
    close(&means(&model, 1), &[7.2]);
    let mut hybrid = fitted(ArimaGru::towards(HORIZON), &noise::normal(1, 300), &trainer);
    hybrid.restart();
    let need = hybrid.need();
    follow(&mut hybrid, &vec![0.0; need]);
    assert!(means(&hybrid, 1)[0].is_finite());
}

#[test]
fn a_load_that_stands_still_or_is_too_large_to_tell_stays() {
    for value in [0.0, 5.0, f64::MAX] {
        let trainer = Same::of(&[1.0]);
        let model = fitted(GruModel::towards(HORIZON), &vec![value; 200], &trainer);
        assert!(
            trainer.asked.lock().unwrap().is_empty(),
            "there is nothing to learn"
        );
        assert_eq!(means(&model, 2), [value; 2]);
    }
}
