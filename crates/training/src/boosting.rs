//! Boosted trees for a quantile or the mean, from `hessboost`, turned into those that serve.

use std::num::NonZeroUsize;

use evenkeel_forecast::{MISSING, TreeInput, TreeNode, Trees, TreesError};
use hessboost::config::{GrowPolicy, LeafEstimation, TrainingParamsBuilder};
use hessboost::error::HessboostError;
use hessboost::objective::Quantiles;
use hessboost::prelude::{DMatrix, Objective, Trainer, TrainingParams, TreeMethod};

#[derive(Debug, Clone, Default)]
pub struct Rows {
    width: usize,
    inputs: Vec<f32>,
    labels: Vec<f32>,
    /// The start of each row's answer, as `base` of the trees elsewhere.
    margins: Vec<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoostingSettings {
    pub trees: usize,
    pub leaves: usize,
    /// Share of a tree's answer that is added.
    pub rate: f64,
    /// Least sum of the loss's curvature in a leaf, which grows with its rows.
    pub leaf_weight: f64,
    /// Most distinct values of an input.
    pub bins: usize,
    /// Shares of the rows, and of the inputs, of each tree.
    pub shares: [f64; 2],
    /// Threads change the time, not the result.
    pub threads: NonZeroUsize,
}

#[derive(Debug, thiserror::Error)]
pub enum BoostingError {
    #[error("there are no rows to learn from")]
    NoRows,
    #[error("trees could not be grown: {0}")]
    Library(#[from] HessboostError),
    #[error(transparent)]
    Trees(#[from] TreesError),
}

impl Rows {
    /// No rows; `width` inputs each.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// The answer starts at `margin`.
    pub fn push(&mut self, inputs: &[TreeInput], label: f32, margin: f32) {
        let known = |&input: &TreeInput| {
            if input == MISSING {
                f32::NAN
            } else {
                f32::from(input)
            }
        };
        self.inputs.extend(inputs.iter().map(known));
        self.labels.push(label);
        self.margins.push(margin);
    }

    pub const fn len(&self) -> usize {
        self.labels.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// Trees for the quantile `level` of the labels. Their answers are added to the margins.
///
/// # Errors
/// No rows, or a refusal by the library.
pub fn fit(rows: &Rows, level: f64, settings: &BoostingSettings) -> Result<Trees, BoostingError> {
    LibraryRows::of(rows)?.fit(level, &rows.margins, settings)
}

/// Rows in the library's form, which sorts their inputs once for all fits.
pub(crate) struct LibraryRows(DMatrix);

impl LibraryRows {
    /// # Errors
    /// No rows, or a refusal by the library.
    pub(crate) fn of(rows: &Rows) -> Result<Self, BoostingError> {
        if rows.is_empty() {
            return Err(BoostingError::NoRows);
        }
        let data = DMatrix::from_dense(&rows.inputs, rows.len(), rows.width)?;
        Ok(Self(data.with_labels(&rows.labels)?))
    }

    /// Trees for the quantile `level` of the labels. Their answers are added to the margins, one a
    /// row.
    ///
    /// # Errors
    /// A refusal by the library.
    pub(crate) fn fit(
        &self,
        level: f64,
        margins: &[f32],
        settings: &BoostingSettings,
    ) -> Result<Trees, BoostingError> {
        let params = TrainingParams::builder()
            .objective(Objective::Quantile(Quantiles::new([level])?))
            .leaf_estimation(LeafEstimation::Exact);
        self.grow(margins, params, settings)
    }

    fn grow(
        &self,
        margins: &[f32],
        params: TrainingParamsBuilder,
        settings: &BoostingSettings,
    ) -> Result<Trees, BoostingError> {
        let data = self.0.clone().with_base_margin(margins)?;
        let params = settings.params(params)?;
        let model = Trainer::new(&params, &data, settings.trees).train()?.model;
        let nodes = model.trees().iter().map(|tree| {
            let nodes = tree.nodes().iter();
            nodes.map(node).collect()
        });
        let nodes: Vec<Vec<TreeNode>> = nodes.collect();
        Ok(Trees::new(0.0, &nodes)?)
    }
}

/// Trees for the mean of the labels, by least squares. Their answers are added to the margins.
///
/// # Errors
/// As [`fit`].
pub fn fit_mean(rows: &Rows, settings: &BoostingSettings) -> Result<Trees, BoostingError> {
    LibraryRows::of(rows)?.grow(&rows.margins, TrainingParams::builder(), settings)
}

impl BoostingSettings {
    fn params(&self, params: TrainingParamsBuilder) -> Result<TrainingParams, HessboostError> {
        let Self {
            trees: _,
            leaves,
            rate,
            leaf_weight,
            bins,
            shares: [rows_share, inputs_share],
            threads,
        } = *self;
        params
            .tree_method(TreeMethod::Hist)
            .grow_policy(GrowPolicy::LossGuide)
            .unlimited_depth()
            .max_leaves(leaves)
            .max_bin(bins)
            .eta(rate)
            .min_child_weight(leaf_weight)
            .subsample(rows_share)
            .colsample_bytree(inputs_share)
            .nthread(threads.get())
            .build()
    }
}

fn node(node: &hessboost::tree::Node) -> TreeNode {
    let child = |index: i32| usize::try_from(index).unwrap_or(usize::MAX);
    if node.is_leaf() {
        return TreeNode::Leaf(node.leaf_value);
    }
    TreeNode::Split {
        feature: usize::try_from(node.split_feature).unwrap_or(usize::MAX),
        threshold: node.split_cond,
        missing_left: node.default_left,
        left: child(node.left),
        right: child(node.right),
    }
}
