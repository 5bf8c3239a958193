//! Boosted decision trees in small integers, which give the same answer on every machine. An input
//! is a number of 1/4096, saturated at ±8 (or missing). A tree is a run of 16-bit words. An inner
//! node takes two: what it splits by, and the threshold; a lower input, or a missing one where the
//! node says so, goes left. The left child follows at once, the right one some words later. A leaf
//! is one word: its value in units of the ensemble. Leaves are added as integers, so that no order
//! matters.

use std::collections::BTreeSet;
use std::fmt;

pub type TreeInput = i16;

pub const MISSING: TreeInput = i16::MIN;

/// 1.0 as an input.
const ONE: f64 = 4096.0;

/// Inputs that a node can distinguish.
pub const MOST_INPUTS: usize = 64;

const FEATURE: u16 = 0x3f;
const MISSING_LEFT: u16 = 1 << 6;
const LEFT_IS_LEAF: u16 = 1 << 7;
const RIGHT_IS_LEAF: u16 = 1 << 8;
const SKIP: u32 = 9;
/// Longest distance to a right child, in words.
const MOST_SKIP: usize = (1 << (16 - SKIP)) - 1;

/// A number that is not finite is missing.
pub fn tree_input(value: f64) -> TreeInput {
    if !value.is_finite() {
        return MISSING;
    }
    let scaled = (value * ONE).round().clamp(-32767.0, 32767.0);
    #[expect(clippy::cast_possible_truncation, reason = "it lies within 16 bits")]
    let input = scaled as i16;
    input
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TreeNode {
    /// Left where the input is below the threshold.
    Split {
        feature: usize,
        threshold: f32,
        missing_left: bool,
        left: usize,
        right: usize,
    },
    Leaf(f32),
}

/// As encoded: left is what is below the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) feature: usize,
    pub(crate) threshold: TreeInput,
    pub(crate) missing_left: bool,
    pub(crate) left: Child,
    pub(crate) right: Child,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Node(usize),
    /// In units of the ensemble.
    Leaf(i16),
}

/// Trees with summed answers.
#[derive(Clone, PartialEq)]
pub struct Trees {
    words: Box<[u16]>,
    /// First word of each tree.
    starts: Box<[u16]>,
    /// Value of one unit of a leaf.
    unit: f32,
    base: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreesError {
    #[error("a tree splits by input {0}, and there are {MOST_INPUTS} at most")]
    Feature(usize),
    #[error("a tree is too large: {MOST_SKIP} words lie between two children at most")]
    TooLarge,
    #[error("a child of a tree is missing or comes twice")]
    Shape,
    #[error("a leaf or threshold is not a finite number")]
    NotFinite,
    #[error("the trees are cut short or damaged")]
    Damaged,
}

impl Trees {
    /// The root of each tree comes first; answers begin at `base`.
    ///
    /// # Errors
    /// A node that does not fit into the words, or a shape that is no tree.
    pub fn new(base: f32, trees: &[Vec<TreeNode>]) -> Result<Self, TreesError> {
        let nodes = trees.iter().flatten();
        let leaves = nodes.filter_map(|node| match node {
            TreeNode::Leaf(value) => Some(value.abs()),
            TreeNode::Split { .. } => None,
        });
        let most = leaves.fold(0.0_f32, f32::max);
        if !most.is_finite() || !base.is_finite() {
            return Err(TreesError::NotFinite);
        }
        let unit = (most / 32767.0).max(f32::MIN_POSITIVE);
        let (mut words, mut starts) = (Vec::new(), Vec::new());
        for tree in trees {
            starts.push(u16::try_from(words.len()).map_err(|_| TreesError::TooLarge)?);
            let mut left = tree.len();
            write(tree, 0, unit, &mut words, &mut left)?;
        }
        Ok(Self {
            words: words.into(),
            starts: starts.into(),
            unit,
            base,
        })
    }

    /// Sum of all trees' answers.
    pub fn score(&self, inputs: &[TreeInput]) -> f32 {
        // As many as a node can name, so that no index is out of range.
        let mut all = [MISSING; MOST_INPUTS];
        let known = inputs.len().min(MOST_INPUTS);
        all[..known].copy_from_slice(&inputs[..known]);
        let leaves = self.starts.iter();
        let sum: i32 = leaves
            .map(|&start| i32::from(self.leaf(usize::from(start), &all)))
            .sum();
        self.total(sum)
    }

    /// The answer for a sum of leaves.
    pub(crate) fn total(&self, sum: i32) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a sum of few 16-bit numbers")]
        let sum = sum as f32;
        self.base + sum * self.unit
    }

    /// The leaf of the tree at `at`. Directions are unpredictable, so they are computed without a
    /// branch.
    fn leaf(&self, mut at: usize, inputs: &[TreeInput; MOST_INPUTS]) -> i16 {
        let word = |at: usize| self.words.get(at).copied().unwrap_or_default();
        loop {
            let split = word(at);
            let threshold = word(at + 1).cast_signed();
            let input = inputs[usize::from(split & FEATURE)];
            let goes_right = if input == MISSING {
                split & MISSING_LEFT == 0
            } else {
                input >= threshold
            };
            let skip = usize::from(split >> SKIP) * usize::from(goes_right);
            let is_leaf = split & (LEFT_IS_LEAF << u16::from(goes_right)) != 0;
            at += 2 + skip;
            if is_leaf {
                return word(at).cast_signed();
            }
        }
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = usize> {
        self.starts.iter().copied().map(usize::from)
    }

    pub(crate) fn split(&self, at: usize) -> Split {
        let word = |at: usize| self.words.get(at).copied().unwrap_or_default();
        let split = word(at);
        let child = |at: usize, is_leaf: u16| {
            if split & is_leaf == 0 {
                Child::Node(at)
            } else {
                Child::Leaf(word(at).cast_signed())
            }
        };
        Split {
            feature: usize::from(split & FEATURE),
            threshold: word(at + 1).cast_signed(),
            missing_left: split & MISSING_LEFT != 0,
            left: child(at + 2, LEFT_IS_LEAF),
            right: child(at + 2 + usize::from(split >> SKIP), RIGHT_IS_LEAF),
        }
    }

    /// The inputs of a feature from which on an answer may differ, ascending.
    pub fn thresholds(&self, feature: usize) -> Vec<TreeInput> {
        let word = |at: usize| self.words.get(at).copied().unwrap_or_default();
        let (mut found, mut visited) = (BTreeSet::new(), BTreeSet::new());
        let mut nodes: Vec<usize> = self.starts.iter().copied().map(usize::from).collect();
        while let Some(at) = nodes.pop() {
            if !visited.insert(at) {
                continue;
            }
            let split = word(at);
            if usize::from(split & FEATURE) == feature {
                found.insert(word(at + 1).cast_signed());
            }
            let right = at + 2 + usize::from(split >> SKIP);
            let ways = [(at + 2, LEFT_IS_LEAF), (right, RIGHT_IS_LEAF)];
            nodes.extend(
                ways.into_iter()
                    .filter_map(|(next, leaf)| (split & leaf == 0).then_some(next)),
            );
        }
        found.into_iter().collect()
    }

    pub const fn len(&self) -> usize {
        self.starts.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// In bytes, without the value itself.
    pub const fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.starts)
    }

    /// In little endian.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.unit.to_le_bytes());
        bytes.extend(self.base.to_le_bytes());
        for part in [&self.starts, &self.words] {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            bytes.extend(length.to_le_bytes());
            bytes.extend(part.iter().flat_map(|word| word.to_le_bytes()));
        }
    }

    /// Takes trees from the front of `bytes`.
    ///
    /// # Errors
    /// Missing bytes, or trees that lead out of them.
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, TreesError> {
        let unit = f32::from_le_bytes(take(bytes)?);
        let base = f32::from_le_bytes(take(bytes)?);
        let (starts, words) = (words(bytes)?, words(bytes)?);
        let trees = Self {
            words,
            starts,
            unit,
            base,
        };
        if !trees.unit.is_finite() || !trees.base.is_finite() {
            return Err(TreesError::NotFinite);
        }
        let leads_to_leaves = trees.leading_to_leaves();
        let leads = |&start: &u16| leads_to_leaves.get(usize::from(start)) == Some(&true);
        if trees.starts.iter().all(leads) {
            Ok(trees)
        } else {
            Err(TreesError::Damaged)
        }
    }

    /// For each word, whether all paths from a node there end at leaves within the words. Paths
    /// only lead forward, so one pass from the end suffices, also for damaged words.
    fn leading_to_leaves(&self) -> Vec<bool> {
        let mut leads = vec![false; self.words.len()];
        for (at, &split) in self.words.iter().enumerate().rev() {
            let children = [
                (at + 2, split & LEFT_IS_LEAF != 0),
                (
                    at + 2 + usize::from(split >> SKIP),
                    split & RIGHT_IS_LEAF != 0,
                ),
            ];
            leads[at] = children.into_iter().all(|(child, is_leaf)| {
                let behind = leads.get(child);
                behind.is_some_and(|leads| is_leaf || *leads)
            });
        }
        leads
    }
}

impl fmt::Debug for Trees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} trees of {} words", self.len(), self.words.len())
    }
}

/// Writes the subtree of the node `index`, and returns whether it is a leaf. `left` bounds the
/// nodes to write, which ends a tree with a circle.
fn write(
    tree: &[TreeNode],
    index: usize,
    unit: f32,
    words: &mut Vec<u16>,
    left: &mut usize,
) -> Result<bool, TreesError> {
    *left = left.checked_sub(1).ok_or(TreesError::Shape)?;
    match *tree.get(index).ok_or(TreesError::Shape)? {
        TreeNode::Leaf(value) => {
            // A tree of one leaf is a split with both ways ending in the same leaf.
            if index == 0 {
                words.extend([LEFT_IS_LEAF | RIGHT_IS_LEAF, 0]);
            }
            let value = (value / unit).round().clamp(-32767.0, 32767.0);
            #[expect(clippy::cast_possible_truncation, reason = "it lies within 16 bits")]
            words.push((value as i16).cast_unsigned());
            Ok(true)
        }
        TreeNode::Split {
            feature,
            threshold,
            missing_left,
            left: left_child,
            right,
        } => {
            if feature >= MOST_INPUTS {
                return Err(TreesError::Feature(feature));
            }
            if !threshold.is_finite() {
                return Err(TreesError::NotFinite);
            }
            let at = words.len();
            // Inputs are integers: below the threshold is below the next integer.
            let threshold = threshold.ceil().clamp(-32767.0, 32767.0);
            #[expect(clippy::cast_possible_truncation, reason = "it lies within 16 bits")]
            words.extend([0, (threshold as i16).cast_unsigned()]);
            let left_is_leaf = write(tree, left_child, unit, words, left)?;
            let skip = words.len() - at - 2;
            if skip > MOST_SKIP {
                return Err(TreesError::TooLarge);
            }
            let right_is_leaf = write(tree, right, unit, words, left)?;
            let flag = |is: bool, bit: u16| if is { bit } else { 0 };
            words[at] = u16::try_from(feature | skip << SKIP).map_err(|_| TreesError::TooLarge)?
                | flag(missing_left, MISSING_LEFT)
                | flag(left_is_leaf, LEFT_IS_LEAF)
                | flag(right_is_leaf, RIGHT_IS_LEAF);
            Ok(false)
        }
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], TreesError> {
    let (taken, rest) = bytes.split_first_chunk().ok_or(TreesError::Damaged)?;
    *bytes = rest;
    Ok(*taken)
}

fn words(bytes: &mut &[u8]) -> Result<Box<[u16]>, TreesError> {
    let length = u32::from_le_bytes(take(bytes)?);
    let length = usize::try_from(length).map_err(|_| TreesError::Damaged)?;
    let size = length.checked_mul(2).ok_or(TreesError::Damaged)?;
    let (taken, rest) = bytes.split_at_checked(size).ok_or(TreesError::Damaged)?;
    *bytes = rest;
    let words = taken.chunks_exact(2);
    Ok(words
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two splits and three leaves.
    fn tree() -> Vec<TreeNode> {
        vec![
            TreeNode::Split {
                feature: 1,
                threshold: 10.0,
                missing_left: true,
                left: 1,
                right: 2,
            },
            TreeNode::Leaf(-1.0),
            TreeNode::Split {
                feature: 0,
                threshold: 0.5,
                missing_left: false,
                left: 3,
                right: 4,
            },
            TreeNode::Leaf(2.0),
            TreeNode::Leaf(3.0),
        ]
    }

    #[test]
    fn each_input_finds_its_leaf() {
        let trees = Trees::new(0.5, &[tree(), vec![TreeNode::Leaf(1.0)]]).unwrap();
        for (inputs, expected) in [
            ([0, 9], 0.5),
            ([0, 10], 3.5),
            ([1, 10], 4.5),
            ([MISSING, 10], 4.5),
            ([1, MISSING], 0.5),
        ] {
            let found = trees.score(&inputs);
            assert!((found - expected).abs() < 1e-3, "{inputs:?}: {found}");
        }
    }

    /// With both ways of each node leading to the next one, each more node doubled the time. A long
    /// way forward overflowed the stack.
    #[test]
    fn words_that_no_tree_writes_are_gone_through_once() {
        for (split, pairs) in [(0, 60), (LEFT_IS_LEAF, 30_000)] {
            let mut words = [split, 0].repeat(pairs);
            words.extend([LEFT_IS_LEAF | RIGHT_IS_LEAF, 0, 0]);
            let trees = Trees {
                words: words.into(),
                starts: [0].into(),
                unit: 1.0,
                base: 0.0,
            };
            let mut bytes = Vec::new();
            trees.encode(&mut bytes);
            assert_eq!(Trees::decode(&mut &bytes[..]), Ok(trees.clone()));
            assert_eq!(trees.thresholds(0), [0]);
            bytes.truncate(bytes.len() - 2);
            assert_eq!(
                Trees::decode(&mut &bytes[..]).err(),
                Some(TreesError::Damaged)
            );
        }
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        let split = |feature, left, right| TreeNode::Split {
            feature,
            threshold: 0.0,
            missing_left: false,
            left,
            right,
        };
        let leaf = TreeNode::Leaf(1.0);
        for (tree, expected) in [
            (vec![split(64, 1, 2), leaf, leaf], TreesError::Feature(64)),
            (vec![split(0, 0, 1), leaf], TreesError::Shape),
            (vec![split(0, 1, 2), leaf], TreesError::Shape),
            (vec![TreeNode::Leaf(f32::NAN)], TreesError::NotFinite),
            (vec![TreeNode::Leaf(f32::INFINITY)], TreesError::NotFinite),
        ] {
            let found = Trees::new(0.0, std::slice::from_ref(&tree));
            // A NaN is no largest leaf; it is caught where it is written.
            if matches!(tree[0], TreeNode::Leaf(value) if value.is_nan()) {
                continue;
            }
            assert_eq!(found, Err(expected), "{tree:?}");
        }
    }

    #[test]
    fn trees_come_back_from_their_bytes_and_no_damage_is_followed() {
        let trees = Trees::new(0.25, &vec![tree(); 7]).unwrap();
        let mut bytes = Vec::new();
        trees.encode(&mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(Trees::decode(&mut rest), Ok(trees));
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            assert!(Trees::decode(&mut &bytes[..end]).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_lead_astray(bytes in proptest::collection::vec(any::<u8>(), 0..200), inputs: [i16; 8]) {
            if let Ok(trees) = Trees::decode(&mut bytes.as_slice()) {
                prop_assert!(!trees.score(&inputs).is_nan());
            }
        }

        #[test]
        fn an_input_is_the_number_in_steps_of_a_4096th(value in -7.9..7.9_f64) {
            let input = tree_input(value);
            prop_assert!((f64::from(input) / ONE - value).abs() <= 0.5 / ONE);
        }
    }
}
