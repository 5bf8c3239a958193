//! The gradient of a network's error over a row, by back-propagation through time.

use evenkeel_forecast::{Gru, GruState, GruWeights, NetworkShape, add_products};

use crate::gradient_descent::NOTHING;

/// Smaller errors count by their squares, larger ones by their sizes, so that answers are medians
/// and the gradient is continuous.
const SMALL: f32 = 0.05;

/// A window, its targets, and the weight of errors.
pub(super) type GruTrainingRow<'a> = (&'a [f32], &'a [f32], f32);

/// Intermediate values of a forward pass, for the backward pass.
#[derive(Debug, Clone)]
pub(super) struct WindowActivations {
    shape: NetworkShape,
    /// The state before each step, then the parts of the step.
    before: Vec<f32>,
    gates: Vec<f32>,
    to_new: Vec<f32>,
    hidden: GruState,
    answer: Vec<f32>,
    /// Weights of the units, those to the first gate first.
    turned: Vec<f32>,
}

impl WindowActivations {
    pub(super) fn new(shape: NetworkShape) -> Self {
        let NetworkShape {
            window,
            hidden,
            outputs,
        } = shape;
        Self {
            shape,
            before: vec![0.0; window * hidden],
            gates: vec![0.0; 3 * window * hidden],
            to_new: vec![0.0; window * hidden],
            hidden: GruState::start(hidden),
            answer: vec![0.0; outputs],
            turned: vec![0.0; 3 * hidden * hidden],
        }
    }

    pub(super) fn answer(&mut self, parameters: &[f32], window: &[f32]) -> &[f32] {
        let NetworkShape {
            hidden: units,
            outputs,
            ..
        } = self.shape;
        let (gru, head) = parameters.split_at(Gru::count(1, units));
        let weights = GruWeights::of(1, units, gru);
        self.hidden.state.fill(0.0);
        for (step, x) in window.chunks_exact(1).enumerate() {
            let at = step * units;
            self.before[at..at + units].copy_from_slice(&self.hidden.state);
            weights.step(x, &mut self.hidden);
            self.gates[3 * at..3 * (at + units)].copy_from_slice(&self.hidden.gates);
            self.to_new[at..at + units].copy_from_slice(&self.hidden.recurrent[2 * units..]);
        }
        let (head, biases) = head.split_at(units * outputs);
        self.answer.copy_from_slice(biases);
        add_products(&mut self.answer, head, &self.hidden.state);
        &self.answer
    }

    /// Adds the gradients of the errors of all `rows`, counted as [`SMALL`] says.
    pub(super) fn add<'a>(
        &mut self,
        parameters: &[f32],
        rows: impl Iterator<Item = GruTrainingRow<'a>>,
        gradient: &mut [f32],
    ) {
        let units = self.shape.hidden;
        let (gru, _) = parameters.split_at(Gru::count(1, units));
        let weights = GruWeights::of(1, units, gru).of_hidden;
        for (unit, row) in weights.chunks_exact(3 * units).enumerate() {
            let turned = self.turned.chunks_exact_mut(units);
            for (weight, turned) in row.iter().zip(turned) {
                turned[unit] = *weight;
            }
        }
        for row in rows {
            self.add_one(parameters, row, gradient);
        }
    }

    fn add_one(
        &mut self,
        parameters: &[f32],
        (window, targets, weight): GruTrainingRow<'_>,
        gradient: &mut [f32],
    ) {
        self.answer(parameters, window);
        for (answer, target) in self.answer.iter_mut().zip(targets) {
            let off = *answer - target;
            *answer = weight * (off / SMALL).clamp(-1.0, 1.0);
        }
        let units = self.shape.hidden;
        let (_, head) = parameters.split_at(Gru::count(1, units));
        let (of_gru, of_head) = gradient.split_at_mut(Gru::count(1, units));
        let mut down = vec![0.0; units];
        self.back_through_head(head, of_head, &mut down);
        self.back_through_steps(window, of_gru, &mut down);
    }

    /// `self.answer` holds the slopes of the outputs; fills `down` with those of the last state.
    fn back_through_head(&self, head: &[f32], of_head: &mut [f32], down: &mut [f32]) {
        let outputs = self.shape.outputs;
        let (of_weights, of_biases) = of_head.split_at_mut(down.len() * outputs);
        add_times(of_biases, &self.answer, 1.0);
        let rows = head
            .chunks_exact(outputs)
            .zip(of_weights.chunks_exact_mut(outputs));
        for (((row, of_row), state), down) in rows.zip(&self.hidden.state).zip(down) {
            add_times(of_row, &self.answer, *state);
            let products = row.iter().zip(&self.answer);
            *down = products.map(|(weight, slope)| weight * slope).sum();
        }
    }

    /// `down` holds the slopes of the last state.
    fn back_through_steps(&self, window: &[f32], of_gru: &mut [f32], down: &mut [f32]) {
        let units = down.len();
        let (of_inputs, rest) = of_gru.split_at_mut(3 * units);
        let (of_weights, rest) = rest.split_at_mut(3 * units * units);
        let (of_input_biases, of_hidden_biases) = rest.split_at_mut(3 * units);
        let (mut inner, mut outer) = (vec![0.0; 3 * units], vec![0.0; 3 * units]);
        for (step, x) in window.iter().enumerate().rev() {
            let at = step * units;
            let before = &self.before[at..at + units];
            self.back_through_gates(step, down, &mut inner, &mut outer);
            add_times(of_inputs, &inner, *x);
            add_times(of_input_biases, &inner, 1.0);
            add_times(of_hidden_biases, &outer, 1.0);
            let rows = of_weights.chunks_exact_mut(3 * units);
            for (of_row, state) in rows.zip(before) {
                add_times(of_row, &outer, *state);
            }
            add_products(down, &self.turned, &outer);
        }
    }

    /// Slopes of the gates' sums, by inputs (`inner`) and units (`outer`); `down` keeps the part
    /// that bypasses the gates.
    fn back_through_gates(
        &self,
        step: usize,
        down: &mut [f32],
        inner: &mut [f32],
        outer: &mut [f32],
    ) {
        let units = down.len();
        let at = step * units;
        let gates = &self.gates[3 * at..3 * (at + units)];
        for (unit, down) in down.iter_mut().enumerate() {
            if down.abs() < NOTHING {
                *down = 0.0;
            }
            let [reset, update, new] = [0, 1, 2].map(|gate| gates[gate * units + unit]);
            let of_new = *down * (1.0 - update) * (1.0 - new * new);
            let of_update = *down * (self.before[at + unit] - new) * update * (1.0 - update);
            let of_reset = of_new * self.to_new[at + unit] * reset * (1.0 - reset);
            for slopes in [&mut *inner, &mut *outer] {
                slopes[unit] = of_reset;
                slopes[units + unit] = of_update;
            }
            inner[2 * units + unit] = of_new;
            outer[2 * units + unit] = of_new * reset;
            *down *= update;
        }
    }
}

fn add_times(sums: &mut [f32], row: &[f32], factor: f32) {
    for (sum, value) in sums.iter_mut().zip(row) {
        *sum += value * factor;
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_forecast::GruNetwork;
    use evenkeel_units::random::RandomSource;

    use super::*;

    const SHAPE: NetworkShape = NetworkShape {
        window: 5,
        hidden: 3,
        outputs: 2,
    };

    fn numbers(name: &str, count: usize) -> Vec<f32> {
        let source = RandomSource::new(11).stream(name);
        let numbers = (0..).take(count).map(|step| source.normal(step));
        #[expect(clippy::cast_possible_truncation, reason = "a number near one")]
        numbers.map(|number| number as f32).collect()
    }

    #[test]
    fn the_answer_is_that_of_the_network_that_serves() {
        let parameters = numbers("parameters", SHAPE.count());
        let window = numbers("window", 5);
        let network = GruNetwork::new(SHAPE, &parameters).unwrap();
        let mut backward = WindowActivations::new(SHAPE);
        assert_eq!(
            backward.answer(&parameters, &window),
            network.answer(&window)
        );
    }

    #[test]
    fn the_gradient_is_that_of_small_differences() {
        let mut parameters = numbers("parameters", SHAPE.count());
        let (window, targets) = (numbers("window", 5), numbers("targets", 2));
        let row = (&*window, &*targets, 1.5);
        let mut backward = WindowActivations::new(SHAPE);
        let mut gradient = vec![0.0; SHAPE.count()];
        backward.add(&parameters, [row].into_iter(), &mut gradient);
        for index in 0..parameters.len() {
            let middle = parameters[index];
            let mut error = |moved: f32| {
                parameters[index] = middle + moved;
                let answer = backward.answer(&parameters, &window);
                let off = answer
                    .iter()
                    .zip(&targets)
                    .map(|(answer, target)| f64::from((answer - target).abs()));
                1.5 * off.sum::<f64>()
            };
            let slope = (error(1e-2) - error(-1e-2)) / 2e-2;
            parameters[index] = middle;
            let found = f64::from(gradient[index]);
            assert!(
                (found - slope).abs() < 2e-3,
                "{index}: {found}, not {slope}"
            );
        }
    }
}
