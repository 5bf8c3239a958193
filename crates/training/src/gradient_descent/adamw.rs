//! AdamW (`[Loshchilov]`): steps by means of gradients and of their squares, with weight decay.

/// Smaller slopes become 0: far smaller ones would cost a processor many times the work.
pub(crate) const NOTHING: f32 = 1e-12;
/// Decay of the running means.
const KEPT: [f32; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-8;

#[derive(Debug, Clone)]
pub(crate) struct AdamW {
    decay: f32,
    /// Running means of the gradient and of its square.
    means: [Vec<f32>; 2],
    /// The weight that the means' initial zeros still have.
    of_zero: [f32; 2],
}

impl AdamW {
    /// Parameters decay by this share of the rate at each step.
    pub(crate) fn new(count: usize, decay: f32) -> Self {
        Self {
            decay,
            means: [vec![0.0; count], vec![0.0; count]],
            of_zero: [1.0; 2],
        }
    }

    pub(crate) fn step(&mut self, parameters: &mut [f32], gradient: &[f32], rate: f32) {
        for (of_zero, kept) in self.of_zero.iter_mut().zip(KEPT) {
            *of_zero *= kept;
        }
        let [first, second] = self.of_zero.map(|of_zero| 1.0 / (1.0 - of_zero));
        let [means, squares] = &mut self.means;
        let means = means.iter_mut().zip(squares);
        for ((parameter, &slope), (mean, square)) in parameters.iter_mut().zip(gradient).zip(means)
        {
            let slope = if slope.abs() < NOTHING { 0.0 } else { slope };
            *mean = KEPT[0] * *mean + (1.0 - KEPT[0]) * slope;
            if mean.abs() < NOTHING {
                *mean = 0.0;
            }
            *square = KEPT[1] * *square + (1.0 - KEPT[1]) * slope * slope;
            let step = *mean * first / ((*square * second).sqrt() + EPSILON);
            *parameter -= rate * (step + self.decay * *parameter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_lowest_place() {
        let (mut method, mut at) = (AdamW::new(2, 0.0), [3.0_f32, -2.0]);
        for _ in 0..2000 {
            let gradient = [2.0 * (at[0] - 1.0), 200.0 * (at[1] + 1.0)];
            method.step(&mut at, &gradient, 0.01);
        }
        assert!(
            (at[0] - 1.0).abs() < 1e-3 && (at[1] + 1.0).abs() < 1e-3,
            "{at:?}"
        );
    }

    #[test]
    fn the_first_step_is_as_long_as_the_rate_and_weights_decay() {
        let (mut method, mut at) = (AdamW::new(1, 0.1), [1.0_f32]);
        method.step(&mut at, &[1e-3], 0.01);
        assert!((at[0] - (1.0 - 0.01 - 0.001)).abs() < 1e-5, "{at:?}");
    }
}
