//! How many nodes kube-scheduler looks for, and where it begins to look.

/// Up to this many nodes all are looked at.
const FEW: usize = 100;
/// The smallest share of a large cluster, in percent.
const LEAST: usize = 5;

/// The window of nodes that one Pod is shown; it moves on with each Pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    start: usize,
}

impl Window {
    /// How many nodes that fit are enough among `nodes`; `percentage` as configured, 0 for the
    /// share that shrinks with the cluster.
    #[must_use]
    pub fn enough(nodes: usize, percentage: usize) -> usize {
        if nodes < FEW || percentage >= 100 {
            return nodes;
        }
        let share = match percentage {
            0 => 50_usize.saturating_sub(nodes / 125).max(LEAST),
            given => given,
        };
        (nodes * share / 100).max(FEW)
    }

    /// Looks at positions from where the last Pod stopped, until enough of them fit.
    pub fn find(
        &mut self,
        nodes: usize,
        enough: usize,
        mut fits: impl FnMut(usize) -> bool,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        let mut looked_at = 0;
        while looked_at < nodes && found.len() < enough {
            let position = (self.start + looked_at) % nodes;
            looked_at += 1;
            if fits(position) {
                found.push(position);
            }
        }
        if nodes > 0 {
            self.start = (self.start + looked_at) % nodes;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_that_were_measured() {
        for (nodes, percentage, enough) in [
            (6, 0, 6),
            (99, 5, 99),
            (100, 0, 100),
            (250, 0, 120),
            (250, 100, 250),
            (100, 5, 100),
            (5000, 0, 500),
            (10_000, 0, 500),
        ] {
            assert_eq!(
                Window::enough(nodes, percentage),
                enough,
                "{nodes} {percentage}"
            );
        }
    }

    #[test]
    fn the_window_moves_on_and_wraps() {
        let mut window = Window::default();
        assert_eq!(window.find(5, 2, |_| true), [0, 1]);
        assert_eq!(window.find(5, 2, |position| position != 3), [2, 4]);
        assert_eq!(window.find(5, 5, |_| true), [0, 1, 2, 3, 4]);
        assert!(window.find(5, 9, |_| false).is_empty());
        assert!(window.find(0, 0, |_| true).is_empty());
    }
}
