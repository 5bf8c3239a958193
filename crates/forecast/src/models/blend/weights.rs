//! How much each member of a blend counts at one horizon, by its recent forecasts. The weight is
//! exp(−η (L / L* − 1)), L the member's mean absolute error with older errors fading, L* that of
//! the best: the exponentially weighted average of experts (`[Cesa-Bianchi]`, chapter 2) with
//! losses relative to the best, so that units do not matter. A member without a forecast has weight
//! 0.

/// After this many errors an error's weight has faded to 1/e.
const MEMORY: f64 = 300.0;
/// How fast weights fall as losses rise: at a loss twice the best one's, to e^−η.
const ETA: f64 = 20.0;

/// The losses of the members at one horizon, and their pending forecasts.
#[derive(Debug, Clone)]
pub(super) struct Losses {
    ahead: usize,
    /// For each step of the horizon a forecast of every member; NaN where it had none.
    issued: Box<[f64]>,
    /// Steps issued in a row.
    rows: usize,
    by_member: Box<[Loss]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Loss {
    /// Errors in the mean, counted up to the memory.
    errors: f64,
    mean: f64,
}

impl Loss {
    fn take(&mut self, error: f64) {
        self.errors = (self.errors + 1.0).min(MEMORY);
        self.mean += (error - self.mean) / self.errors;
    }

    /// The weight beside the best; if the best has no error, only its equals have a weight.
    fn weight(&self, best: f64) -> f64 {
        if self.errors == 0.0 {
            return 0.0;
        }
        let excess = if self.mean > best {
            self.mean / best - 1.0
        } else {
            0.0
        };
        (-ETA * excess).exp()
    }
}

fn best<'a>(losses: impl Iterator<Item = &'a Loss>) -> Option<f64> {
    let known = losses.filter(|loss| loss.errors > 0.0);
    known.map(|loss| loss.mean).reduce(f64::min)
}

impl Losses {
    pub(super) fn new(ahead: usize, members: usize) -> Self {
        Self {
            ahead,
            issued: vec![f64::NAN; ahead * members].into(),
            rows: 0,
            by_member: vec![Loss::default(); members].into(),
        }
    }

    pub(super) const fn ahead(&self) -> usize {
        self.ahead
    }

    /// Scores the forecasts for now.
    pub(super) fn score(&mut self, actual: f64) {
        if self.rows < self.ahead {
            return;
        }
        let members = self.by_member.len();
        let row = self.rows % self.ahead * members;
        for (loss, told) in self.by_member.iter_mut().zip(&self.issued[row..]) {
            let error = (actual - told).abs();
            if error.is_finite() {
                loss.take(error);
            }
        }
    }

    /// Keeps the members' forecasts for the step `ahead` of now.
    pub(super) fn issue(&mut self, told: impl Iterator<Item = Option<f64>>) {
        let members = self.by_member.len();
        let row = self.rows % self.ahead * members;
        for (kept, told) in self.issued[row..row + members].iter_mut().zip(told) {
            *kept = told.unwrap_or(f64::NAN);
        }
        self.rows += 1;
    }

    /// Forgets the pending forecasts, but not the losses.
    pub(super) const fn restart(&mut self) {
        self.rows = 0;
    }

    /// The weighted mean of the members' forecasts; `None` where there is none. A member without a
    /// known error counts nothing beside one with, and as much as others without.
    pub(super) fn mean(&self, told: &(impl Iterator<Item = Option<f64>> + Clone)) -> Option<f64> {
        let said = || {
            let members = self.by_member.iter().zip(told.clone());
            members.filter_map(|(loss, told)| Some((loss, told?)))
        };
        let best = best(said().map(|(loss, _)| loss));
        let (mut sum, mut weights) = (0.0, 0.0);
        for (loss, told) in said() {
            let weight = best.map_or(1.0, |best| loss.weight(best));
            if weight > 0.0 {
                // Divided first, so that no sum of large loads overflows.
                weights += weight;
                sum += (told - sum) * (weight / weights);
            }
        }
        (weights > 0.0).then_some(sum)
    }

    /// Shares when all members have a forecast.
    pub(super) fn shares(&self) -> impl Iterator<Item = f64> {
        let best = best(self.by_member.iter());
        let weight = move |loss: &Loss| best.map_or(0.0, |best| loss.weight(best));
        let all: f64 = self.by_member.iter().map(weight).sum();
        let all = all.max(f64::MIN_POSITIVE);
        self.by_member.iter().map(move |loss| weight(loss) / all)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.issued) + size_of_val(&*self.by_member)
    }
}

#[cfg(test)]
mod tests;
