//! Where kube-scheduler's search for nodes begins and ends.

use evenkeel_placement::NodesToScore;

/// Moves on with each Pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeSearchWindow {
    start: usize,
}

impl NodeSearchWindow {
    /// Looks at nodes from where the last Pod stopped, until enough fit.
    pub fn find(
        &mut self,
        nodes: usize,
        to_score: NodesToScore,
        mut fits: impl FnMut(usize) -> bool,
    ) -> Vec<usize> {
        let enough = to_score.stops_at(nodes);
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
    fn the_window_moves_on_and_wraps() {
        let (mut window, some) = (NodeSearchWindow::default(), NodesToScore::default());
        let hundred = |from: usize| (from..from + 100).map(|position| position % 150);
        assert_eq!(some.stops_at(150), 100);
        assert!(window.find(150, some, |_| true).into_iter().eq(hundred(0)));
        assert!(
            window
                .find(150, some, |_| true)
                .into_iter()
                .eq(hundred(100))
        );
        // A node that does not fit counts as looked at.
        let without = window.find(150, some, |position| position != 60);
        assert!(
            without
                .into_iter()
                .eq((50..151).map(|at| at % 150).filter(|at| *at != 60))
        );
        assert_eq!(window.start, 1);
        let all = window.find(150, NodesToScore::ALL, |_| true);
        assert_eq!((all.len(), all[0]), (150, 1));
        assert!(window.find(150, some, |_| false).is_empty());
        assert!(window.find(0, some, |_| true).is_empty());
    }
}
