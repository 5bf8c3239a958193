//! How much each member of a blend counts at one horizon, by what its forecasts were worth of late.
//!
//! The weight of a member is exp(−η (L / L* − 1)), L the mean absolute error of its forecasts, older ones
//! fading, and L* that of the best member: the exponentially weighted average of experts (`[Cesa-Bianchi]`,
//! chapter 2) with losses in parts of the best one's, so that it knows no unit. A member that
//! has no forecast counts nothing.

/// After this many errors an error's weight has faded to 1/e.
const MEMORY: f64 = 300.0;
/// How fast weights fall as losses rise: at a loss twice the best one's, to e^−η.
const ETA: f64 = 20.0;

/// The losses of the members at one horizon, and their forecasts that wait for what comes.
#[derive(Debug, Clone)]
pub(super) struct Losses {
    ahead: usize,
    /// For each step of the horizon a forecast of every member; NaN where it had none.
    issued: Box<[f64]>,
    /// The number of steps that have been issued in a row.
    rows: usize,
    by_member: Box<[Loss]>,
}

/// The mean absolute error of one member.
#[derive(Debug, Clone, Copy, Default)]
struct Loss {
    /// The number of errors that the mean is of, as far as they are remembered.
    errors: f64,
    mean: f64,
}

impl Loss {
    fn take(&mut self, error: f64) {
        self.errors = (self.errors + 1.0).min(MEMORY);
        self.mean += (error - self.mean) / self.errors;
    }

    /// The weight beside the best; where that errs by nothing, only its equals have any.
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

/// The least loss of those that are known.
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

    /// The number of steps ahead.
    pub(super) const fn ahead(&self) -> usize {
        self.ahead
    }

    /// Compares the forecasts for now with the value that came.
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

    /// Forgets the forecasts that wait, but not the losses.
    pub(super) const fn restart(&mut self) {
        self.rows = 0;
    }

    /// The weighted mean of what members say; `None` where none says anything. A member of which no error is
    /// known counts nothing beside one of which some are, and as much as its like.
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
                // In parts, so that no sum of large loads is too large.
                weights += weight;
                sum += (told - sum) * (weight / weights);
            }
        }
        (weights > 0.0).then_some(sum)
    }

    /// The shares of the members, all of them heard.
    pub(super) fn shares(&self) -> impl Iterator<Item = f64> {
        let best = best(self.by_member.iter());
        let weight = move |loss: &Loss| best.map_or(0.0, |best| loss.weight(best));
        let all: f64 = self.by_member.iter().map(weight).sum();
        let all = all.max(f64::MIN_POSITIVE);
        self.by_member.iter().map(move |loss| weight(loss) / all)
    }

    /// The memory outside of the value itself, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.issued) + size_of_val(&*self.by_member)
    }
}

#[cfg(test)]
mod tests;
