//! Several ensembles of small trees, evaluated at once and input by input instead of tree by tree
//! (`[QuickScorer]`). A processor cannot predict a walk down a tree and waits at each node. Here
//! the nodes of all trees stand by input in the order of thresholds, so that those which an input
//! passes come first. Each of them removes the leaves of its left child; the first leaf left is the
//! one of the walk. The answers are those of [`Trees::score`], to the bit.

use super::trees::{Child, MISSING, MOST_INPUTS, Split, TreeInput, Trees};

/// Most leaves of a tree, which has a bit for each.
const MOST_LEAVES: usize = 16;
/// Most trees of all ensembles together; a power of two.
const MOST_TREES: usize = 512;

/// Ensembles by the inputs that their nodes split by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreeTable<const N: usize> {
    /// Thresholds of the nodes, by input and ascending.
    thresholds: Box<[TreeInput]>,
    /// The same nodes in the same order.
    nodes: Box<[LeafMask]>,
    /// Nodes that a missing input passes, by input.
    passed_by_missing: Box<[LeafMask]>,
    /// After the last node of each input, in both.
    ends: [[u16; 2]; MOST_INPUTS],
    /// Leaves of each tree, from the left, in units of its ensemble.
    leaves: Box<[[i16; MOST_LEAVES]]>,
    /// After the last tree of each ensemble.
    ensembles: [usize; N],
}

/// A passed node, which sends to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeafMask {
    tree: u16,
    /// Leaves left after it, the leftmost at the lowest bit.
    left: u16,
}

/// The state while a tree is read.
struct TreeTraversal<'a> {
    trees: &'a Trees,
    tree: u16,
    splits: &'a mut Vec<(Split, LeafMask)>,
    leaves: [i16; MOST_LEAVES],
    /// Leaves so far.
    count: usize,
}

impl<const N: usize> TreeTable<N> {
    /// `None` where there are too many trees, or one has too many leaves.
    pub(crate) fn of(ensembles: &[Trees; N]) -> Option<Self> {
        let (mut splits, mut leaves) = (Vec::new(), Vec::new());
        let mut ends = [0; N];
        for (end, trees) in ends.iter_mut().zip(ensembles) {
            for root in trees.roots() {
                let mut reading = TreeTraversal {
                    trees,
                    tree: u16::try_from(leaves.len()).ok()?,
                    splits: &mut splits,
                    leaves: [0; MOST_LEAVES],
                    count: 0,
                };
                reading.node(root, 0)?;
                leaves.push(reading.leaves);
            }
            *end = leaves.len();
        }
        splits.sort_by_key(|(split, _)| (split.feature, split.threshold));
        let by_missing = splits.iter().filter(|(split, _)| !split.missing_left);
        let mut at = [[0; 2]; MOST_INPUTS];
        for (feature, ends) in at.iter_mut().enumerate() {
            let up_to = |(split, _): &&(Split, LeafMask)| split.feature <= feature;
            let counts = [
                splits.iter().filter(up_to).count(),
                by_missing.clone().filter(up_to).count(),
            ];
            for (end, count) in ends.iter_mut().zip(counts) {
                *end = u16::try_from(count).ok()?;
            }
        }
        (leaves.len() <= MOST_TREES).then(|| Self {
            thresholds: splits.iter().map(|(split, _)| split.threshold).collect(),
            nodes: splits.iter().map(|(_, passed)| *passed).collect(),
            passed_by_missing: by_missing.map(|(_, passed)| *passed).collect(),
            ends: at,
            leaves: leaves.into(),
            ensembles: ends,
        })
    }

    /// Sums of the leaves by ensemble, in its units.
    pub(crate) fn sums(&self, inputs: &[TreeInput]) -> [i32; N] {
        let mut left = [u16::MAX; MOST_TREES];
        let mut begins = [0; 2];
        for (feature, ends) in self.ends.iter().enumerate() {
            let ends = ends.map(usize::from);
            let input = inputs.get(feature).copied().unwrap_or(MISSING);
            let passed = if input == MISSING {
                &self.passed_by_missing[begins[1]..ends[1]]
            } else {
                let thresholds = &self.thresholds[begins[0]..ends[0]];
                let passed = thresholds.partition_point(|threshold| *threshold <= input);
                &self.nodes[begins[0]..begins[0] + passed]
            };
            for node in passed {
                left[usize::from(node.tree) % MOST_TREES] &= node.left;
            }
            begins = ends;
        }
        let mut begin = 0;
        self.ensembles.map(|end| {
            let trees = self.leaves[begin..end].iter().zip(&left[begin..end]);
            begin = end;
            let answers = trees.map(|(leaves, left)| {
                let first = usize::try_from(left.trailing_zeros()).unwrap_or_default();
                i32::from(leaves[first % MOST_LEAVES])
            });
            answers.sum()
        })
    }
}

impl TreeTraversal<'_> {
    /// Reads the node at a word, `depth` nodes below the root; `None` where there are too many
    /// leaves.
    fn node(&mut self, at: usize, depth: usize) -> Option<()> {
        // With so few leaves no path is longer.
        if depth >= MOST_LEAVES {
            return None;
        }
        let split = self.trees.split(at);
        let before = self.count;
        self.child(split.left, depth)?;
        let of_left = bits(self.count) & !bits(before);
        let passed = LeafMask {
            tree: self.tree,
            left: !of_left,
        };
        self.splits.push((split, passed));
        self.child(split.right, depth)
    }

    fn child(&mut self, child: Child, depth: usize) -> Option<()> {
        match child {
            Child::Node(at) => self.node(at, depth + 1),
            Child::Leaf(leaf) => {
                *self.leaves.get_mut(self.count)? = leaf;
                self.count += 1;
                Some(())
            }
        }
    }
}

const fn bits(count: usize) -> u16 {
    if count >= MOST_LEAVES {
        u16::MAX
    } else {
        (1 << count) - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trees::TreeNode;

    /// Place of the leaf that becomes a split of two new leaves.
    type NewSplit = (usize, usize, i8, bool);

    fn tree(grown: &[NewSplit]) -> Vec<TreeNode> {
        let mut nodes = vec![TreeNode::Leaf(0.5)];
        for (number, &(place, feature, threshold, missing_left)) in (1_u8..).zip(grown) {
            let is_leaf = |index: &usize| matches!(nodes[*index], TreeNode::Leaf(_));
            let leaves: Vec<usize> = (0..nodes.len()).filter(is_leaf).collect();
            let children = nodes.len();
            nodes[leaves[place % leaves.len()]] = TreeNode::Split {
                feature,
                threshold: f32::from(threshold),
                missing_left,
                left: children,
                right: children + 1,
            };
            nodes.extend([
                TreeNode::Leaf(f32::from(number)),
                TreeNode::Leaf(-f32::from(number)),
            ]);
        }
        nodes
    }

    fn grown() -> impl Strategy<Value = Vec<NewSplit>> {
        proptest::collection::vec((0_usize..16, 0_usize..5, -9_i8..9, any::<bool>()), 0..16)
    }

    proptest! {
        #[test]
        fn the_leaves_are_those_that_a_walk_comes_to(
            first in proptest::collection::vec(grown(), 0..5),
            second in proptest::collection::vec(grown(), 0..5),
            inputs in proptest::collection::vec(prop_oneof![Just(MISSING), -10_i16..10], 0..6),
        ) {
            let trees = |grown: Vec<Vec<NewSplit>>| {
                let grown: Vec<_> = grown.iter().map(|grown| tree(grown)).collect();
                Trees::new(0.0, &grown).unwrap()
            };
            let ensembles = [trees(first), trees(second)];
            let sums = TreeTable::of(&ensembles).unwrap().sums(&inputs);
            for (trees, sum) in ensembles.iter().zip(sums) {
                prop_assert_eq!(trees.score(&inputs).to_bits(), trees.total(sum).to_bits());
            }
        }

        /// Weights with paths that part and meet again would be read without end.
        #[test]
        fn words_that_no_tree_writes_are_left_alone(words: Vec<u16>, splits in 1_usize..100) {
            let meeting = [[0, 0].repeat(splits), vec![0b11 << 7, 0, 0]].concat();
            for words in [words, meeting] {
                let trees = of_words(&words);
                if let Some(table) = trees.and_then(|trees| TreeTable::of(&[trees])) {
                    table.sums(&[0; 8]);
                }
            }
        }
    }

    fn of_words(words: &[u16]) -> Option<Trees> {
        let length = u32::try_from(words.len()).unwrap();
        let mut bytes = [1.0_f32, 0.0].map(f32::to_le_bytes).concat();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Trees::decode(&mut bytes.as_slice()).ok()
    }

    #[test]
    fn too_large_a_tree_and_too_many_have_no_table() {
        let chain = |splits: usize| tree(&vec![(15, 0, 0, true); splits]);
        let table = |trees: &[Vec<TreeNode>]| TreeTable::of(&[Trees::new(0.0, trees).unwrap()]);
        assert!(table(&[chain(15)]).is_some());
        assert!(table(&[chain(16)]).is_none());
        assert!(table(&vec![chain(1); MOST_TREES]).is_some());
        assert!(table(&vec![chain(1); MOST_TREES + 1]).is_none());
    }
}
