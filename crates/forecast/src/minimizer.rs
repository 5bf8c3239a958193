//! Minimum of a smooth function of a few variables.

/// Half the distance over which slopes are measured.
const APART: f64 = 1e-5;
/// Slope below which a point counts as a minimum.
const FLAT: f64 = 1e-6;
/// Gain of a step below which the search ends.
const GAIN: f64 = 1e-10;
const STEPS: usize = 100;
/// Least fraction of a direction that is tried.
const SHORTEST: f64 = 1e-10;
/// Longest step.
const FARTHEST: f64 = 2.0;

/// A local minimum downhill from `start` and its value, by the method of Broyden, Fletcher,
/// Goldfarb and Shanno with measured slopes. The function may be infinite or NaN outside of its
/// domain.
pub(crate) fn minimise(function: impl Fn(&[f64]) -> f64, start: &[f64]) -> (Vec<f64>, f64) {
    let size = start.len();
    let (mut place, mut least) = (start.to_vec(), function(start));
    if size == 0 || !least.is_finite() {
        return (place, least);
    }
    let mut slope = slopes(&function, &place);
    let mut inverse = identity(size);
    for _ in 0..STEPS {
        if length(&slope) < FLAT {
            break;
        }
        let mut direction = times(&inverse, &slope);
        for one in &mut direction {
            *one = -*one;
        }
        if dot(&direction, &slope) >= 0.0 {
            inverse = identity(size);
            direction = slope.iter().map(|one| -one).collect();
        }
        let Some((next, value)) = search(&function, (&place, least), &direction, &slope) else {
            break;
        };
        let next_slope = slopes(&function, &next);
        let moved: Vec<f64> = next.iter().zip(&place).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = next_slope.iter().zip(&slope).map(|(a, b)| a - b).collect();
        update(&mut inverse, &moved, &turned);
        let gain = least - value;
        (place, least, slope) = (next, value, next_slope);
        if gain < GAIN {
            break;
        }
    }
    (place, least)
}

/// A point along `direction` that is low enough for its distance.
fn search(
    function: &impl Fn(&[f64]) -> f64,
    (place, least): (&[f64], f64),
    direction: &[f64],
    slope: &[f64],
) -> Option<(Vec<f64>, f64)> {
    let falls = dot(direction, slope);
    let mut share = (FARTHEST / length(direction)).min(1.0);
    while share > SHORTEST {
        let moved = place.iter().zip(direction);
        let next: Vec<f64> = moved
            .map(|(place, direction)| place + share * direction)
            .collect();
        let value = function(&next);
        if value <= least + 1e-4 * share * falls {
            return Some((next, value));
        }
        share *= if value.is_finite() { 0.4 } else { 0.1 };
    }
    None
}

fn slopes(function: &impl Fn(&[f64]) -> f64, place: &[f64]) -> Vec<f64> {
    let mut moved = place.to_vec();
    let slope = |index: usize| {
        moved[index] = place[index] + APART;
        let above = function(&moved);
        moved[index] = place[index] - APART;
        let below = function(&moved);
        moved[index] = place[index];
        let slope = (above - below) / (2.0 * APART);
        if slope.is_finite() { slope } else { 0.0 }
    };
    (0..place.len()).map(slope).collect()
}

/// Updates the inverse Hessian from a step and the change of the slope along it.
fn update(inverse: &mut [Vec<f64>], moved: &[f64], turned: &[f64]) {
    let curvature = dot(moved, turned);
    if curvature <= 1e-12 * length(moved) * length(turned) {
        return;
    }
    let through = times(inverse, turned);
    let scale = (1.0 + dot(turned, &through) / curvature) / curvature;
    for (row, line) in inverse.iter_mut().enumerate() {
        for (column, value) in line.iter_mut().enumerate() {
            let cross = moved[row] * through[column] + through[row] * moved[column];
            *value += scale * moved[row] * moved[column] - cross / curvature;
        }
    }
}

fn identity(size: usize) -> Vec<Vec<f64>> {
    let row = |row: usize| {
        (0..size)
            .map(|column| f64::from(u8::from(row == column)))
            .collect()
    };
    (0..size).map(row).collect()
}

fn times(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn length(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottom_of_a_bent_valley_is_found() {
        let valley = |at: &[f64]| (1.0 - at[0]).powi(2) + 20.0 * (at[1] - at[0] * at[0]).powi(2);
        let (place, least) = minimise(valley, &[-1.2, 1.0]);
        assert!(least < 1e-9, "{least} at {place:?}");
        assert!((place[0] - 1.0).abs() < 1e-3 && (place[1] - 1.0).abs() < 1e-3);
    }

    #[test]
    fn walls_are_not_crossed() {
        let walled = |at: &[f64]| {
            if at[0] > 2.0 {
                f64::INFINITY
            } else {
                (at[0] - 1.9).powi(2)
            }
        };
        let (place, _) = minimise(walled, &[-3.0]);
        assert!((place[0] - 1.9).abs() < 1e-3, "{place:?}");
    }
}
