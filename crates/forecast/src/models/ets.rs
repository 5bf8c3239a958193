//! `ets`: exponential smoothing in state space form, estimated on the last 2,000 values.
//!
//! A level and, where AICc prefers it, a slope, which may be damped: with f = l + φ b the forecast
//! of the next value y and e = y − f, l becomes f + α e and b becomes φ b + β e (`[Hyndman-ETS]`,
//! chapter 2); h steps ahead lies l + (φ + φ² + … + φ^h) b. Errors are of one size (A) or, if all
//! values are above 0, in proportion to the forecast (M); so the models are A and M with N, A or
//! damped A, by maximum likelihood. An estimation needs 20 values without a gap and takes 50 ms of
//! a core on 2,000. It has no season: one of a day has hundreds of steps, too many to estimate a
//! state for.

mod estimate;

use std::fmt;

use crate::not_ready::NotEnoughHistory;
use crate::point_model::PointModel;
use crate::trainer::Trainer;
use estimate::{Errors, EtsEstimate, EtsState, Smoothing, Trend};

const WINDOW: usize = 2000;
const LEAST: usize = 20;

#[derive(Debug, Clone, Default)]
pub(crate) struct Ets {
    fitted: Option<EtsFit>,
}

#[derive(Debug, Clone)]
struct EtsFit {
    estimate: EtsEstimate,
    /// Before the next value; `None` before the first after a gap.
    state: Option<EtsState>,
}

impl PointModel for Ets {
    const NAME: &'static str = "ets";

    fn need(&self) -> usize {
        if self.fitted.is_some() { 1 } else { LEAST }
    }

    fn fit(&mut self, values: &[f64], _: Option<&dyn Trainer>) -> Result<usize, NotEnoughHistory> {
        let not_enough = NotEnoughHistory {
            need: LEAST,
            have: values.len(),
        };
        if values.len() < LEAST {
            return Err(not_enough);
        }
        let window = &values[values.len().saturating_sub(WINDOW)..];
        let estimate = estimate::select(window).ok_or(not_enough)?;
        self.fitted = Some(EtsFit {
            state: Some(estimate.first),
            estimate,
        });
        Ok(window.len())
    }

    fn is_fitted(&self) -> bool {
        self.fitted.is_some()
    }

    fn summary(&self) -> Option<String> {
        Some(self.fitted.as_ref()?.estimate.to_string())
    }

    fn observe(&mut self, value: f64) {
        let Some(fitted) = &mut self.fitted else {
            return;
        };
        let level = EtsState {
            level: value,
            slope: 0.0,
        };
        let state = fitted.state.get_or_insert(level);
        fitted.estimate.smoothing.observe(state, value);
    }

    /// Goes on from the first value after a gap, without a slope.
    fn restart(&mut self) {
        if let Some(fitted) = &mut self.fitted {
            fitted.state = None;
        }
    }

    fn predict(&self, means: &mut [f64]) {
        let Some((estimate, EtsState { level, slope })) = self
            .fitted
            .as_ref()
            .and_then(|fitted| Some((&fitted.estimate, fitted.state?)))
        else {
            return;
        };
        let (mut mean, mut slope) = (level, slope);
        for told in means {
            slope *= estimate.smoothing.phi;
            mean += slope;
            *told = mean;
        }
    }
}

impl fmt::Display for EtsEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = match self.errors {
            Errors::Even => "A",
            Errors::Proportional => "M",
        };
        let trend = match self.trend {
            Trend::None => "N",
            Trend::Slope => "A",
            Trend::Damped => "Ad",
        };
        let Smoothing { alpha, beta, phi } = self.smoothing;
        write!(
            f,
            "ETS({errors},{trend},N), AICc {:.1}, alpha {alpha:.3}",
            self.aicc
        )?;
        if self.trend != Trend::None {
            write!(f, ", beta {beta:.4}")?;
        }
        if self.trend == Trend::Damped {
            write!(f, ", phi {phi:.3}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::normal;

    fn fitted(values: &[f64]) -> Ets {
        let mut model = Ets::default();
        let again = model.fit(values, None).unwrap();
        for &value in &values[values.len() - again..] {
            model.observe(value);
        }
        model
    }

    fn forecast(model: &Ets) -> Vec<f64> {
        let mut means = vec![0.0; 4];
        model.predict(&mut means);
        means
    }

    #[test]
    fn a_level_in_noise_stays_and_is_smoothed() {
        let values: Vec<f64> = normal(1, 500).iter().map(|noise| 50.0 + noise).collect();
        let model = fitted(&values);
        let told = model.summary().unwrap();
        assert!(told.contains(",N,N)"), "{told}");
        for mean in forecast(&model) {
            assert!((mean - 50.0).abs() < 0.3, "{told}: {mean}");
        }
    }

    #[test]
    fn a_line_goes_on_as_a_line() {
        let line: Vec<f64> = (0..100_i32)
            .zip(normal(2, 100))
            .map(|(index, noise)| 5.0 + 0.5 * f64::from(index) + 0.01 * noise)
            .collect();
        let model = fitted(&line);
        for (found, expected) in forecast(&model).into_iter().zip([55.0, 55.5, 56.0, 56.5]) {
            assert!((found - expected).abs() < 0.05, "{model:?}");
        }
    }

    #[test]
    fn errors_in_proportion_to_the_load_are_told_from_even_ones() {
        let errors = normal(3, 800);
        let mut level = 100.0;
        let values: Vec<f64> = errors
            .iter()
            .map(|error| {
                let value = level * (1.0 + 0.1 * error);
                level += 0.3 * (value - level);
                value
            })
            .collect();
        let told = fitted(&values).summary().unwrap();
        assert!(told.starts_with("ETS(M,N,N)"), "{told}");
        let below: Vec<f64> = values.iter().map(|value| value - 200.0).collect();
        let told = fitted(&below).summary().unwrap();
        assert!(told.starts_with("ETS(A,"), "{told}");
    }

    #[test]
    fn after_a_gap_it_goes_on_from_the_first_value() {
        let mut model = fitted(
            &normal(4, 100)
                .iter()
                .map(|noise| 9.0 + noise)
                .collect::<Vec<_>>(),
        );
        model.restart();
        model.observe(30.0);
        assert_eq!(forecast(&model), vec![30.0; 4]);
    }

    #[test]
    fn too_few_values_are_refused_and_flat_ones_go_on() {
        let mut model = Ets::default();
        assert_eq!((model.need(), model.is_fitted()), (20, false));
        let refused = model.fit(&[1.0; 19], None);
        assert_eq!(refused, Err(NotEnoughHistory { need: 20, have: 19 }));
        for flat in [0.0, 7.0] {
            assert_eq!(forecast(&fitted(&[flat; 60])), vec![flat; 4]);
        }
    }
}
