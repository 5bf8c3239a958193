//! `arima-gru`: ARIMA's forecast plus recurrent networks on its errors (`[CLBP]` 3.10 to 3.12). e_t
//! = T_t − L'_t are the errors of ARIMA's forecasts of the next step (3.10). The networks read the
//! last 32 of them (3.11) and answer ARIMA's error at each step of the horizon, which is added
//! (3.12). They learn from the newest 8,000 values; ARIMA's parameters come from the last 2,000.

use std::num::NonZeroUsize;

use super::arima::Arima;
use super::corrector::{Corrector, Example};
use super::gru::{LEAST, NETWORK_ROWS, NETWORK_WINDOW, add, keep, told};
use crate::not_ready::NotEnoughHistory;
use crate::point_model::PointModel;
use crate::trainer::Trainer;

#[derive(Debug, Clone)]
pub(crate) struct ArimaGru {
    horizon: NonZeroUsize,
    arima: Arima,
    fitted: Option<Corrector>,
    followed: ArimaResiduals,
}

#[derive(Debug, Clone, Default)]
struct ArimaResiduals {
    /// Values since the last restart, counted up to what is needed.
    have: usize,
    /// The newest errors, oldest first.
    errors: Vec<f64>,
}

impl ArimaResiduals {
    /// A value, and the error of `arima` on it.
    fn observe(&mut self, arima: &mut Arima, value: f64) {
        if self.have >= arima.need() {
            let mut expected = [0.0];
            arima.predict(&mut expected);
            keep(&mut self.errors, value - expected[0], NETWORK_WINDOW);
        } else {
            self.have += 1;
        }
        arima.observe(value);
    }
}

impl ArimaGru {
    /// Networks for `horizon` steps; later steps keep the correction of the last of these.
    pub(crate) fn towards(horizon: NonZeroUsize) -> Self {
        Self {
            horizon,
            arima: Arima::default(),
            fitted: None,
            followed: ArimaResiduals::default(),
        }
    }

    /// The errors of `arima` on the newest of `values`.
    fn examples(&self, mut arima: Arima, values: &[f64]) -> Vec<Example> {
        let mut followed = ArimaResiduals::default();
        let horizon = self.horizon.get();
        let newest = &values[values.len().saturating_sub(NETWORK_ROWS)..];
        let mut examples = Vec::new();
        for (&value, after) in newest.iter().zip(1..) {
            followed.observe(&mut arima, value);
            let Some(coming) = newest.get(after..after + horizon) else {
                break;
            };
            if followed.errors.len() == NETWORK_WINDOW {
                let mut expected = vec![0.0; horizon];
                arima.predict(&mut expected);
                let missed = coming.iter().zip(expected);
                examples.push(Example {
                    recent: followed.errors.clone(),
                    missed: missed.map(|(value, expected)| value - expected).collect(),
                });
            }
        }
        examples
    }
}

impl PointModel for ArimaGru {
    const NAME: &'static str = "arima-gru";

    fn need(&self) -> usize {
        let first = self.arima.need() + NETWORK_WINDOW;
        if self.fitted.is_some() {
            first
        } else {
            first + LEAST + self.horizon.get()
        }
    }

    fn fit(
        &mut self,
        values: &[f64],
        trainer: Option<&dyn Trainer>,
    ) -> Result<usize, NotEnoughHistory> {
        let not_enough = NotEnoughHistory {
            need: Arima::default().need() + NETWORK_WINDOW + LEAST + self.horizon.get(),
            have: values.len(),
        };
        let trainer = trainer.filter(|_| values.len() >= not_enough.need);
        let trainer = trainer.ok_or(not_enough)?;
        let arima = Arima::fitted(values)?;
        let examples = self.examples(arima.clone(), values);
        let fitted = Corrector::fitted(&examples, self.fitted.as_ref(), trainer);
        self.fitted = Some(fitted.ok_or(not_enough)?);
        self.arima = arima;
        self.followed = ArimaResiduals::default();
        Ok(values.len().min(NETWORK_ROWS))
    }

    fn is_fitted(&self) -> bool {
        self.fitted.is_some()
    }

    fn summary(&self) -> Option<String> {
        let (networks, weights) = self.fitted.as_ref()?.counts();
        let linear = self.arima.summary()?;
        Some(format!("{}; {linear}", told(networks, weights)))
    }

    fn passes_checks(&self) -> Option<bool> {
        self.arima.passes_checks()
    }

    fn observe(&mut self, value: f64) {
        self.followed.observe(&mut self.arima, value);
    }

    fn restart(&mut self) {
        self.arima.restart();
        self.followed = ArimaResiduals::default();
    }

    fn predict(&self, means: &mut [f64]) {
        self.arima.predict(means);
        if let Some(fitted) = &self.fitted {
            add(means, &fitted.answer(&self.followed.errors));
        }
    }

    fn heap_bytes(&self) -> usize {
        let fitted = self.fitted.as_ref();
        self.arima.heap_bytes()
            + self.followed.errors.capacity() * size_of::<f64>()
            + fitted.map_or(0, Corrector::heap_bytes)
    }
}
