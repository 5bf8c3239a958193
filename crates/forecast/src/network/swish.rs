//! A network for many loads (`[IHPA]`): the load's identity and the time, both embedded, with the
//! last values. V_i and V_t are rows of tables, for the load and for the time (rows of the quarter
//! of an hour and of the day of the week, added); y are the last 12 values. V_i, V_t, V_i ∘ y, V_t
//! ∘ y, the first differences of y, and y go through two layers of 64 neurons with Swish, x σ(x),
//! and one that answers 12 steps at once.

use std::sync::Arc;

use super::activation::sigmoid;
use super::dense::DenseLayer;
use super::gru::add_products;
use super::shape_error::ShapeError;

/// Values read, steps answered, and length of embeddings, which are multiplied by the values.
pub const SWISH_STEPS: usize = 12;
/// Quarters of an hour in a day.
const QUARTERS: usize = 96;
const DAYS: usize = 7;
/// Inputs of the first layer: V_i, V_t, two products, differences, and values.
const READ: usize = 6 * SWISH_STEPS - 1;
/// Neurons of each layer.
const HIDDEN: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct SwishNet {
    shape: SwishShape,
    parameters: Box<[f32]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwishShape {
    pub categories: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwishInput {
    /// The load's number among those known by name; `None` of another.
    pub category: Option<usize>,
    /// At the newest value, from Monday 00:00.
    pub second_of_week: i64,
    /// The newest values as the network counts them, oldest first.
    pub values: [f32; SWISH_STEPS],
}

#[derive(Debug, Clone)]
pub struct SwishLoad {
    pub net: Arc<SwishNet>,
    /// The load's number among those known by name.
    pub category: Option<usize>,
}

/// One forward pass, with the intermediate values that training needs.
#[derive(Debug, Clone, PartialEq)]
pub struct SwishPass {
    /// Table rows read: of the load, of the quarter and of the day.
    pub rows: [usize; 3],
    /// V_i and V_t.
    pub embedded: [[f32; SWISH_STEPS]; 2],
    /// Inputs of each layer.
    pub read: [Vec<f32>; 3],
    /// σ(x) of the two hidden layers, and x.
    pub gates: [Vec<f32>; 2],
    pub sums: [Vec<f32>; 2],
    pub answer: [f32; SWISH_STEPS],
}

/// Parameters by kind.
#[derive(Debug, Clone, Copy)]
pub struct SwishWeights<'a> {
    /// Rows of 12: of loads without a name, of each load, of each quarter of an hour, of each day.
    pub tables: &'a [f32],
    /// Per layer the weights of the first input to all outputs, then the next, …; after them the
    /// biases.
    pub layers: [&'a [f32]; 3],
}

impl SwishShape {
    /// Inputs and outputs.
    pub const LAYERS: [(usize, usize); 3] =
        [(READ, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, SWISH_STEPS)];

    /// Parameters of the tables, and of each layer.
    pub fn counts(self) -> [usize; 4] {
        let [first, second, last] =
            Self::LAYERS.map(|(inputs, outputs)| DenseLayer::count(inputs, outputs));
        let rows = self.categories.saturating_add(1 + QUARTERS + DAYS);
        [rows.saturating_mul(SWISH_STEPS), first, second, last]
    }

    /// `parameters` has as many numbers as [`Self::counts`] adds up to.
    pub fn apart(self, parameters: &[f32]) -> SwishWeights<'_> {
        let [tables, first, second, _] = self.counts();
        let (tables, rest) = parameters.split_at(tables);
        let (first, rest) = rest.split_at(first);
        let (second, last) = rest.split_at(second);
        SwishWeights {
            tables,
            layers: [first, second, last],
        }
    }

    fn rows(self, input: &SwishInput) -> [usize; 3] {
        let second = input.second_of_week.rem_euclid(7 * 86_400);
        let at = |part: i64| usize::try_from(part).unwrap_or_default();
        let quarters = 1 + self.categories;
        let category = input
            .category
            .filter(|&category| category < self.categories);
        [
            category.map_or(0, |category| 1 + category),
            quarters + at(second % 86_400 / 900),
            quarters + QUARTERS + at(second / 86_400),
        ]
    }

    pub fn pass(self, parameters: &[f32], input: &SwishInput) -> SwishPass {
        let SwishWeights { tables, layers } = self.apart(parameters);
        let rows = self.rows(input);
        let row = |index: usize| &tables[index * SWISH_STEPS..(index + 1) * SWISH_STEPS];
        let [load, quarter, day] = rows.map(row);
        let embedded = [
            std::array::from_fn(|at| load[at]),
            std::array::from_fn(|at| quarter[at] + day[at]),
        ];
        let mut read = Vec::with_capacity(READ);
        for one in &embedded {
            read.extend(one);
        }
        for one in &embedded {
            read.extend(
                one.iter()
                    .zip(&input.values)
                    .map(|(one, value)| one * value),
            );
        }
        read.extend(input.values.windows(2).map(|pair| pair[1] - pair[0]));
        read.extend(input.values);
        let [first, second, last] = layers;
        let (sums, gates, next) = neurons(first, &read, HIDDEN);
        let (later_sums, later_gates, after) = neurons(second, &next, HIDDEN);
        let mut answer = [0.0; SWISH_STEPS];
        weigh(last, &after, &mut answer);
        SwishPass {
            rows,
            embedded,
            read: [read, next, after],
            gates: [gates, later_gates],
            sums: [sums, later_sums],
            answer,
        }
    }
}

fn weigh(layer: &[f32], read: &[f32], sums: &mut [f32]) {
    let (weights, biases) = layer.split_at(read.len() * sums.len());
    sums.copy_from_slice(biases);
    add_products(sums, weights, read);
}

/// Sums, gates and answers of a layer.
fn neurons(layer: &[f32], read: &[f32], count: usize) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let mut sums = vec![0.0; count];
    weigh(layer, read, &mut sums);
    let gates: Vec<f32> = sums.iter().map(|&sum| sigmoid(sum)).collect();
    let answers = sums.iter().zip(&gates).map(|(sum, gate)| sum * gate);
    let answers = answers.collect();
    (sums, gates, answers)
}

impl SwishNet {
    /// `parameters`: of the tables, then of each layer.
    ///
    /// # Errors
    /// [`ShapeError`]: another number of them, or one that is not finite.
    pub fn new(shape: SwishShape, parameters: &[f32]) -> Result<Self, ShapeError> {
        let need = shape.counts().into_iter().fold(0, usize::saturating_add);
        ShapeError::check(need, parameters)?;
        Ok(Self {
            shape,
            parameters: parameters.into(),
        })
    }

    pub const fn shape(&self) -> SwishShape {
        self.shape
    }

    /// As [`Self::new`] takes them.
    pub const fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// One number for each step.
    pub fn answer(&self, input: &SwishInput) -> [f32; SWISH_STEPS] {
        self.shape.pass(&self.parameters, input).answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: SwishShape = SwishShape { categories: 2 };

    fn input() -> SwishInput {
        SwishInput {
            category: Some(1),
            second_of_week: 86_400 + 1000,
            values: std::array::from_fn(|at| if at == 11 { 2.0 } else { 1.0 }),
        }
    }

    #[test]
    fn it_reads_embeddings_products_differences_and_values() {
        let count: usize = SHAPE.counts().iter().sum();
        let mut parameters = vec![0.0; count];
        // The second load, 00:15 and Tuesday.
        for (row, value) in [(2, 3.0), (3 + 1, 4.0), (3 + 96 + 1, 0.5)] {
            parameters[row * SWISH_STEPS..(row + 1) * SWISH_STEPS].fill(value);
        }
        let read = SHAPE.pass(&parameters, &input()).read[0].clone();
        let expected = [
            ([3.0; 11], 3.0),
            ([4.5; 11], 4.5),
            ([3.0; 11], 6.0),
            ([4.5; 11], 9.0),
        ];
        let expected = expected
            .iter()
            .flat_map(|(same, last)| same.iter().chain([last]));
        let differences = [0.0; 10].iter().chain(&[1.0]);
        let values = [1.0; 11].iter().chain(&[2.0]);
        let expected: Vec<f32> = expected.chain(differences).chain(values).copied().collect();
        assert!(
            read.iter()
                .map(|one| one.to_bits())
                .eq(expected.iter().map(|one| one.to_bits())),
            "{read:?}"
        );
        let unnamed = SwishInput {
            category: Some(2),
            ..input()
        };
        assert_eq!(SHAPE.pass(&parameters, &unnamed).rows[0], 0);
    }

    #[test]
    fn neurons_pass_a_share_of_what_they_sum_up() {
        let [tables, first, second, last] = SHAPE.counts();
        let mut parameters = vec![0.0; tables + first + second + last];
        let (before_second, before_last) = (tables + first, tables + first + second);
        parameters[before_second - HIDDEN] = 2.0; // the first bias of the first layer
        parameters[before_second] = 1.0; // from the first neuron to the first
        parameters[before_last] = 3.0; // and on to the first answer
        let swish = |x: f64| x / (1.0 + (-x).exp());
        let net = SwishNet::new(SHAPE, &parameters).unwrap();
        let answer = net.answer(&input());
        let expected = 3.0 * swish(swish(2.0));
        assert!((f64::from(answer[0]) - expected).abs() < 1e-5, "{answer:?}");
        assert_eq!(answer[1..], [0.0; 11]);
        let refused = SwishNet::new(SHAPE, &parameters[1..]).unwrap_err();
        assert!(matches!(refused, ShapeError::Count { .. }), "{refused}");
    }
}
