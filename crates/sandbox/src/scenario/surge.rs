//! Times with more or fewer requests than in the trace, for example a sale or a rush.

use evenkeel_objects::yaml_values::YamlText;
use evenkeel_units::random::RandomSource;
use jiff::SignedDuration;
use serde::Deserialize;

use super::error::ScenarioError;
use super::values::{duration, optional, refused};

/// Multiplies the requests of the trace for a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surge {
    /// In the time of the scenario's trace.
    begin: SignedDuration,
    lasts: SignedDuration,
    /// Rise to the factor at the begin, and fall at the end.
    ramp: SignedDuration,
    times: f64,
    /// Range of its begin by the seed, before and after.
    jitter: SignedDuration,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SurgeFile {
    at: YamlText,
    lasts: YamlText,
    #[serde(default)]
    ramp: Option<YamlText>,
    times: f64,
    #[serde(default)]
    jitter: Option<YamlText>,
}

impl SurgeFile {
    /// For a run that begins at `begin` in the traces.
    pub(super) fn check(self, path: &str, begin: SignedDuration) -> Result<Surge, ScenarioError> {
        let Self {
            at,
            lasts,
            ramp,
            times,
            jitter,
        } = self;
        if !(times.is_finite() && times >= 0.0) {
            let accepted = "a factor of at least 0, such as 1.6";
            return Err(refused(&format!("{path}.times"), times, accepted));
        }
        let lasts = duration(&format!("{path}.lasts"), &lasts)?;
        let ramp = optional(&format!("{path}.ramp"), ramp)?;
        if ramp.saturating_add(ramp) > lasts {
            let accepted = "at most half of the time that it lasts";
            return Err(refused(
                &format!("{path}.ramp"),
                format!("{ramp:#}"),
                accepted,
            ));
        }
        Ok(Surge {
            begin: begin.saturating_add(duration(&format!("{path}.at"), &at)?),
            lasts,
            ramp,
            times,
            jitter: optional(&format!("{path}.jitter"), jitter)?,
        })
    }
}

impl Surge {
    /// Factor at a time of the trace.
    pub fn times_at(&self, at: SignedDuration) -> f64 {
        let since = at.saturating_sub(self.begin);
        let left = self.lasts.saturating_sub(since);
        let within = since.min(left);
        if within.is_negative() {
            return 1.0;
        }
        let share = if within < self.ramp {
            within.as_secs_f64() / self.ramp.as_secs_f64()
        } else {
            1.0
        };
        1.0 + (self.times - 1.0) * share
    }

    pub fn moved(self, seed: RandomSource) -> Self {
        let by = self.jitter.as_secs_f64() * (2.0 * seed.unit(0) - 1.0);
        let by = SignedDuration::try_from_secs_f64(by.round()).unwrap_or_default();
        Self {
            begin: self.begin.saturating_add(by),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: fn(i64) -> SignedDuration = SignedDuration::from_mins;

    fn surge() -> Surge {
        Surge {
            begin: MINUTE(100),
            lasts: MINUTE(60),
            ramp: MINUTE(10),
            times: 3.0,
            jitter: MINUTE(30),
        }
    }

    #[test]
    fn it_rises_and_falls_by_its_ramp_and_is_nothing_outside() {
        for (minute, times) in [
            (99, 1.0),
            (100, 1.0),
            (105, 2.0),
            (110, 3.0),
            (150, 3.0),
            (155, 2.0),
            (160, 1.0),
            (161, 1.0),
        ] {
            let got = surge().times_at(MINUTE(minute));
            assert!((got - times).abs() < 1e-9, "{minute}: {got}");
        }
        let steep = Surge {
            ramp: SignedDuration::ZERO,
            ..surge()
        };
        assert!((steep.times_at(MINUTE(100)) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn seeds_move_it_within_its_jitter_and_nothing_else() {
        let begins: Vec<SignedDuration> = (0..40)
            .map(|seed| {
                let moved = surge().moved(RandomSource::new(seed));
                assert_eq!(
                    Surge {
                        begin: surge().begin,
                        ..moved
                    },
                    surge()
                );
                moved.begin
            })
            .collect();
        let (first, last) = (begins.iter().min().unwrap(), begins.iter().max().unwrap());
        assert!(*first >= MINUTE(70) && *first < MINUTE(85), "{first:#}");
        assert!(*last <= MINUTE(130) && *last > MINUTE(115), "{last:#}");
        let still = Surge {
            jitter: SignedDuration::ZERO,
            ..surge()
        };
        assert_eq!(still.moved(RandomSource::new(1)), still);
    }
}
