//! The gradient of the squared error of a `swish-net` over a row.

use evenkeel_forecast::{SWISH_STEPS, SwishInput, SwishPass, SwishShape, SwishWeights};

#[derive(Debug, Clone, Copy)]
pub(super) struct SwishTrainingRow {
    pub(super) input: SwishInput,
    pub(super) targets: [f32; SWISH_STEPS],
    /// Weight of its errors: its scale relative to its load's mean scale.
    pub(super) weight: f32,
}

/// The backward pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct SwishBackpropagation {
    shape: SwishShape,
}

impl SwishBackpropagation {
    pub(super) const fn new(shape: SwishShape) -> Self {
        Self { shape }
    }

    /// Gradient of half the weighted sum of squares of `row`.
    pub(super) fn add(self, parameters: &[f32], row: &SwishTrainingRow, gradient: &mut [f32]) {
        let SwishTrainingRow {
            input,
            targets,
            weight,
        } = row;
        let pass = self.shape.pass(parameters, input);
        let SwishWeights { layers, .. } = self.shape.apart(parameters);
        let [tables, first, second, _] = self.shape.counts();
        let (of_tables, rest) = gradient.split_at_mut(tables);
        let (of_first, rest) = rest.split_at_mut(first);
        let (of_second, of_last) = rest.split_at_mut(second);
        let off = pass.answer.iter().zip(targets);
        let off: Vec<f32> = off
            .map(|(answer, target)| weight * (answer - target))
            .collect();
        let down = through_layer(layers[2], &pass.read[2], &off, of_last);
        let down = through_neurons(&pass, 1, down);
        let down = through_layer(layers[1], &pass.read[1], &down, of_second);
        let down = through_neurons(&pass, 0, down);
        let down = through_layer(layers[0], &pass.read[0], &down, of_first);
        through_tables(&pass, input, &down, of_tables);
    }
}

/// From the slopes of a layer's sums to those of its inputs.
fn through_layer(layer: &[f32], read: &[f32], slopes: &[f32], of_layer: &mut [f32]) -> Vec<f32> {
    let outputs = slopes.len();
    let (of_weights, of_biases) = of_layer.split_at_mut(read.len() * outputs);
    for (of_bias, slope) in of_biases.iter_mut().zip(slopes) {
        *of_bias += slope;
    }
    let rows = layer
        .chunks_exact(outputs)
        .zip(of_weights.chunks_exact_mut(outputs));
    let down = read.iter().zip(rows).map(|(value, (row, of_row))| {
        let mut sum = 0.0;
        for ((weight, of_weight), slope) in row.iter().zip(of_row).zip(slopes) {
            *of_weight += value * slope;
            sum += weight * slope;
        }
        sum
    });
    down.collect()
}

/// From the slopes of neurons' answers to those of their sums: (x σ)' = σ + x σ (1 − σ).
fn through_neurons(pass: &SwishPass, layer: usize, mut slopes: Vec<f32>) -> Vec<f32> {
    let made_of = pass.sums[layer].iter().zip(&pass.gates[layer]);
    for (slope, (sum, gate)) in slopes.iter_mut().zip(made_of) {
        *slope *= gate + sum * gate * (1.0 - gate);
    }
    slopes
}

/// From the slopes of the first layer's inputs to those of the embeddings.
fn through_tables(pass: &SwishPass, input: &SwishInput, slopes: &[f32], of_tables: &mut [f32]) {
    let [load, quarter, day] = pass.rows;
    for (row, of) in [(load, 0), (quarter, 1), (day, 1)] {
        let own = &slopes[of * SWISH_STEPS..(of + 1) * SWISH_STEPS];
        let product = &slopes[(2 + of) * SWISH_STEPS..(3 + of) * SWISH_STEPS];
        let of_row = &mut of_tables[row * SWISH_STEPS..(row + 1) * SWISH_STEPS];
        let both = own.iter().zip(product).zip(&input.values);
        for (of_row, ((own, product), value)) in of_row.iter_mut().zip(both) {
            *of_row += own + product * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::random::RandomSource;

    use super::*;

    #[test]
    fn the_gradient_is_that_of_small_differences() {
        let shape = SwishShape { categories: 1 };
        let source = RandomSource::new(4);
        #[expect(clippy::cast_possible_truncation, reason = "a number near one")]
        let number = |step: u64| 0.3 * source.normal(step) as f32;
        let count = u64::try_from(shape.counts().iter().sum::<usize>()).unwrap();
        let mut parameters: Vec<f32> = (0..count).map(number).collect();
        let input = SwishInput {
            category: Some(0),
            second_of_week: 100_000,
            values: std::array::from_fn(|at| number(1_000_000 + u64::try_from(at).unwrap())),
        };
        let targets = [0.5; SWISH_STEPS];
        let mut gradient = vec![0.0; parameters.len()];
        let row = SwishTrainingRow {
            input,
            targets,
            weight: 1.5,
        };
        SwishBackpropagation::new(shape).add(&parameters, &row, &mut gradient);
        let [tables, first, second, last] = shape.counts();
        let rows = shape.pass(&parameters, &input).rows;
        let embedded = rows.map(|row| row * SWISH_STEPS + 3);
        let of_layers = (tables..tables + first + second + last).step_by(97);
        for index in embedded.into_iter().chain(of_layers) {
            let middle = parameters[index];
            let mut error = |moved: f32| {
                parameters[index] = middle + moved;
                let answer = shape.pass(&parameters, &input).answer;
                let off = answer.iter().zip(&targets);
                let squares = off.map(|(answer, target)| f64::from(answer - target).powi(2));
                0.75 * squares.sum::<f64>()
            };
            let slope = (error(1e-2) - error(-1e-2)) / 2e-2;
            parameters[index] = middle;
            let found = f64::from(gradient[index]);
            let allowed = 1e-2 * slope.abs().max(0.3);
            assert!(
                (found - slope).abs() < allowed,
                "{index}: {found}, not {slope}"
            );
        }
    }
}
