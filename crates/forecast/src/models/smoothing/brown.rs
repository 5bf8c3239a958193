//! The three smoothed values and the parabola that they give. `[DS-HPA]` (7) prints α where
//! `[Brown]` has α² in the quadratic coefficient. Only Brown's form follows a parabola exactly, so
//! it is the default; the printed one serves to reproduce `[DS-HPA]`.

use crate::point_model::PointModel;

/// Above 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Alpha(f64);

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not accepted: a smoothing factor must be above 0 and below 1")]
pub struct AlphaError(pub f64);

impl Alpha {
    /// Least adaptive factor: below it a forecast no longer follows the load.
    pub const LEAST: Self = Self(0.05);
    /// Largest adaptive factor: at 1 the coefficients divide by zero.
    pub const MOST: Self = Self(0.95);
    /// For a window that does not vary, where `[DS-HPA]` (10) has no value.
    pub(crate) const EVEN: Self = Self(0.5);

    /// A fixed factor, for `tes`.
    ///
    /// # Errors
    /// A value outside (0, 1).
    pub fn new(value: f64) -> Result<Self, AlphaError> {
        if value > 0.0 && value < 1.0 {
            Ok(Self(value))
        } else {
            Err(AlphaError(value))
        }
    }

    /// An adaptive factor, held between [`Self::LEAST`] and [`Self::MOST`]; NaN gives
    /// [`Self::EVEN`].
    pub fn clamped(value: f64) -> Self {
        if value.is_nan() {
            Self::EVEN
        } else {
            Self(value.clamp(Self::LEAST.0, Self::MOST.0))
        }
    }

    pub const fn get(self) -> f64 {
        self.0
    }
}

/// The quadratic coefficient of the parabola.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// With α², as in `[Brown]`.
    #[default]
    Brown,
    /// With α, as printed in `[DS-HPA]` (7).
    Paper,
}

/// S⁽¹⁾, S⁽²⁾ and S⁽³⁾ of `[DS-HPA]` (4) and (5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BrownSmoothing {
    alpha: Alpha,
    s1: f64,
    s2: f64,
    s3: f64,
}

/// The parabola `a + b T + c T²` of `[DS-HPA]` (6), T in steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficients {
    /// Level at the last observation.
    pub a: f64,
    /// Slope there, per step.
    pub b: f64,
    /// Half the curvature, per step squared.
    pub c: f64,
}

impl Coefficients {
    /// `steps_ahead` counts from the last observation (`[DS-HPA]` (6)).
    pub fn at(&self, steps_ahead: f64) -> f64 {
        self.a + self.b * steps_ahead + self.c * steps_ahead * steps_ahead
    }

    pub fn fill(&self, means: &mut [f64]) {
        let mut ahead = 0.0;
        for mean in means {
            ahead += 1.0;
            *mean = self.at(ahead);
        }
    }
}

impl BrownSmoothing {
    /// All three values start at `start`.
    pub const fn new(alpha: Alpha, start: f64) -> Self {
        Self {
            alpha,
            s1: start,
            s2: start,
            s3: start,
        }
    }

    /// `[DS-HPA]` (4) and (5).
    pub fn observe(&mut self, value: f64) {
        let alpha = self.alpha.get();
        let keep = 1.0 - alpha;
        self.s1 = alpha * value + keep * self.s1;
        self.s2 = alpha * self.s1 + keep * self.s2;
        self.s3 = alpha * self.s2 + keep * self.s3;
    }

    pub const fn smoothed(&self) -> [f64; 3] {
        [self.s1, self.s2, self.s3]
    }

    /// The coefficients of `[DS-HPA]` (7).
    pub fn coefficients(&self, variant: Variant) -> Coefficients {
        let Self { alpha, s1, s2, s3 } = *self;
        let alpha = alpha.get();
        let divisor = 2.0 * (1.0 - alpha) * (1.0 - alpha);
        let curvature = match variant {
            Variant::Brown => alpha * alpha,
            Variant::Paper => alpha,
        };
        Coefficients {
            a: 3.0 * s1 - 3.0 * s2 + s3,
            b: alpha / divisor
                * ((6.0 - 5.0 * alpha) * s1 - 2.0 * (5.0 - 4.0 * alpha) * s2
                    + (4.0 - 3.0 * alpha) * s3),
            c: curvature / divisor * (s1 - 2.0 * s2 + s3),
        }
    }
}

/// Number of first observations whose mean starts the smoothing.
pub(super) const START: usize = 3;

/// `tes`: smoothing with a fixed α, started at the mean of the first three observations.
#[derive(Debug, Clone)]
pub struct Tes {
    alpha: Alpha,
    variant: Variant,
    first: [f64; START],
    have: usize,
    brown: BrownSmoothing,
}

impl Tes {
    pub const fn new(alpha: Alpha, variant: Variant) -> Self {
        Self {
            alpha,
            variant,
            first: [0.0; START],
            have: 0,
            brown: BrownSmoothing::new(alpha, 0.0),
        }
    }

    /// Meaningful from the third observation on.
    pub const fn brown(&self) -> &BrownSmoothing {
        &self.brown
    }
}

impl PointModel for Tes {
    const NAME: &'static str = "tes";

    fn need(&self) -> usize {
        START
    }

    fn observe(&mut self, value: f64) {
        if let Some(slot) = self.first.get_mut(self.have) {
            *slot = value;
            self.have += 1;
            if self.have == START {
                self.brown = BrownSmoothing::new(self.alpha, mean_of_start(&self.first));
                self.first
                    .iter()
                    .for_each(|&value| self.brown.observe(value));
            }
        } else {
            self.brown.observe(value);
        }
    }

    fn restart(&mut self) {
        self.have = 0;
    }

    fn predict(&self, means: &mut [f64]) {
        self.brown.coefficients(self.variant).fill(means);
    }
}

pub(super) fn mean_of_start(first: &[f64; START]) -> f64 {
    (first[0] + first[1] + first[2]) / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parabola(variant: Variant) -> [f64; 12] {
        let mut model = Tes::new(Alpha::EVEN, variant);
        for i in 0..200 {
            model.observe(f64::from(i * i));
        }
        let mut means = [0.0; 12];
        model.predict(&mut means);
        means
    }

    #[test]
    fn only_browns_form_follows_a_parabola() {
        for (ahead, mean) in (200..).zip(parabola(Variant::Brown)) {
            assert!((mean - f64::from(ahead * ahead)).abs() < 1e-6, "{ahead}");
        }
        assert!((parabola(Variant::Paper)[11] - f64::from(211 * 211)).abs() > 50.0);
    }

    #[test]
    fn a_fixed_factor_is_inside_and_an_adaptive_one_is_held_there() {
        for refused in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(Alpha::new(refused).is_err(), "{refused}");
        }
        assert_eq!(Alpha::clamped(-3.4), Alpha::LEAST);
        assert_eq!(Alpha::clamped(1.0), Alpha::MOST);
        assert_eq!(Alpha::clamped(f64::NAN), Alpha::EVEN);
    }
}
