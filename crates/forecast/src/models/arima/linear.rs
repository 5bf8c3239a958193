//! Small systems of linear equations.

/// Solves `matrix` x = `right` by elimination with the largest pivot of each column; `None` where
/// the matrix is singular.
pub(super) fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for column in 0..size {
        let largest = |&a: &usize, &b: &usize| {
            let [a, b] = [a, b].map(|row| matrix[row][column].abs());
            a.total_cmp(&b)
        };
        let pivot = (column..size).max_by(largest)?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let (upper, lower) = matrix.split_at_mut(column + 1);
        let head = &upper[column];
        if head[column].abs() < f64::MIN_POSITIVE || !head[column].is_finite() {
            return None;
        }
        for (row, below) in lower.iter_mut().enumerate() {
            let factor = below[column] / head[column];
            for (value, above) in below.iter_mut().zip(head).skip(column) {
                *value -= factor * above;
            }
            right[column + 1 + row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size)
            .map(|column| matrix[row][column] * right[column])
            .sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

/// The coefficients of `target` on the `columns`; `None` where the columns depend on each other.
pub(super) fn least_squares(columns: &[Vec<f64>], target: &[f64]) -> Option<Vec<f64>> {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let matrix = columns.iter().map(|row| {
        let with = columns.iter().map(|column| product(row, column));
        with.collect()
    });
    let right = columns.iter().map(|column| product(column, target));
    solve(matrix.collect(), right.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved_whatever_the_order_of_its_rows() {
        let matrix = vec![
            vec![0.0, 2.0, 1.0],
            vec![1.0, -2.0, -3.0],
            vec![-1.0, 1.0, 2.0],
        ];
        let solved = solve(matrix, vec![-8.0, 0.0, 3.0]).unwrap();
        for (found, expected) in solved.iter().zip([-4.0, -5.0, 2.0]) {
            assert!((found - expected).abs() < 1e-12, "{solved:?}");
        }
        assert_eq!(
            solve(vec![vec![1.0, 2.0], vec![2.0, 4.0]], vec![1.0, 2.0]),
            None
        );
    }

    #[test]
    fn a_line_is_found_by_least_squares() {
        let x: Vec<f64> = (0..9).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| 3.0 - 0.5 * x).collect();
        let found = least_squares(&[vec![1.0; 9], x], &y).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-12 && (found[1] + 0.5).abs() < 1e-12);
    }
}
