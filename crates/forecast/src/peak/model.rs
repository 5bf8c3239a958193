//! The weights of `global`, which all targets share, and of `own`, which correct its answer.

use std::sync::{Arc, LazyLock};

use evenkeel_units::fnv::fnv1a;

use super::inputs::{INPUTS, Inputs};
use super::quantiles::{LEVELS, Quantiles};
use crate::tree_table::TreeTable;
use crate::trees::{Trees, TreesError};

/// The README beside the file names the command, the data and its licences.
static SHIPPED: LazyLock<Arc<GlobalPeaks>> = LazyLock::new(|| {
    let weights = GlobalPeaks::decode(include_bytes!("weights/global.bin"));
    Arc::new(weights.expect("a test decodes the weights that are shipped"))
});

/// First bytes of the file, with the version of its form.
const MAGIC: &[u8; 8] = b"evkpeak1";

/// A set of trees for each of [`LEVELS`]: the rise to the largest load, over the scale of the
/// inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobalPeaks {
    levels: [Trees; LEVELS.len()],
    /// The same trees, if they are small enough for a table.
    table: Option<TreeTable<{ LEVELS.len() }>>,
}

/// The trees of one target, for [`LEVELS`] from the median up, added to the answers of `global`.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnPeaks {
    /// Minutes of the window that they were fitted for.
    window: usize,
    levels: [Trees; LEVELS.len() - 1],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeakModelError {
    #[error("the file has no weights of the model global of this version")]
    Foreign,
    #[error("the weights are for {0} inputs, and the model has {INPUTS}")]
    Inputs(u32),
    #[error("the weights are damaged: their checksum is wrong")]
    Checksum,
    #[error(transparent)]
    Trees(#[from] TreesError),
}

impl GlobalPeaks {
    /// In annotations, conditions and tables.
    pub const NAME: &'static str = "global";

    pub fn shipped() -> Arc<Self> {
        Arc::clone(&SHIPPED)
    }

    /// In the order of [`LEVELS`].
    pub fn new(levels: [Trees; LEVELS.len()]) -> Self {
        let table = TreeTable::of(&levels);
        Self { levels, table }
    }

    /// Rises to the quantiles at [`LEVELS`], over the scale of the inputs.
    pub fn rises(&self, inputs: &Inputs) -> [f32; LEVELS.len()] {
        let Some(table) = &self.table else {
            return self
                .levels
                .each_ref()
                .map(|trees| trees.score(&inputs.values));
        };
        let sums = table.sums(&inputs.values);
        std::array::from_fn(|level| self.levels[level].total(sums[level]))
    }

    /// Quantiles of the largest load, corrected by `own`.
    pub fn quantiles(&self, own: Option<&OwnPeaks>, inputs: &Inputs) -> Quantiles {
        own_quantiles(self.rises(inputs), own, inputs)
    }

    /// The weights in the form of the shipped file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(u32::try_from(INPUTS).unwrap_or(u32::MAX).to_le_bytes());
        for trees in &self.levels {
            trees.encode(&mut bytes);
        }
        let sum = fnv1a(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads the bytes of [`Self::encode`].
    ///
    /// # Errors
    /// Bytes of another kind or version, cut short or changed.
    pub fn decode(bytes: &[u8]) -> Result<Self, PeakModelError> {
        let (content, sum) = bytes.split_last_chunk().ok_or(PeakModelError::Foreign)?;
        let mut rest = content.strip_prefix(MAGIC).ok_or(PeakModelError::Foreign)?;
        if fnv1a(content) != u64::from_le_bytes(*sum) {
            return Err(PeakModelError::Checksum);
        }
        let (inputs, after) = rest.split_first_chunk().ok_or(TreesError::Damaged)?;
        let inputs = u32::from_le_bytes(*inputs);
        if usize::try_from(inputs) != Ok(INPUTS) {
            return Err(PeakModelError::Inputs(inputs));
        }
        rest = after;
        let mut next = || Trees::decode(&mut rest);
        Ok(Self::new([next()?, next()?, next()?, next()?]))
    }
}

/// Quantiles of the largest load from the answer of [`GlobalPeaks::rises`], corrected by `own`.
pub fn own_quantiles(
    rises: [f32; LEVELS.len()],
    own: Option<&OwnPeaks>,
    inputs: &Inputs,
) -> Quantiles {
    let mut shift = 0.0;
    let mut values = [0.0; LEVELS.len()];
    for (level, value) in values.iter_mut().enumerate().rev() {
        // The levels below the median move with it.
        if let Some((own, above)) = own.zip(level.checked_sub(1)) {
            shift = own.levels[above].score(&inputs.values);
        }
        let rise = f64::from(rises[level] + shift);
        *value = inputs.last + inputs.scale * rise;
    }
    Quantiles::new(values)
}

impl OwnPeaks {
    /// In annotations, conditions and tables.
    pub const NAME: &'static str = "own";

    /// Trees for windows of `window` minutes, for [`LEVELS`] from the median up.
    pub const fn new(window: usize, levels: [Trees; LEVELS.len() - 1]) -> Self {
        Self { window, levels }
    }

    /// In minutes.
    pub const fn window(&self) -> usize {
        self.window
    }

    /// They answer for a window of so many minutes.
    pub const fn serves(&self, window: usize) -> bool {
        Self::is_for(self.window, window)
    }

    /// Trees for a window of `fitted` minutes answer for one of `window`. The lag of measurements
    /// varies by a tick; a longer window covers a shorter one.
    pub const fn is_for(fitted: usize, window: usize) -> bool {
        fitted == window || fitted == window + 1
    }

    pub fn bytes(&self) -> usize {
        let trees = self.levels.iter().map(Trees::heap_bytes);
        size_of::<Self>() + trees.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_units::count_as_f64;
    use evenkeel_units::random::RandomSource;

    use super::*;
    use crate::trees::{MISSING, TreeNode, tree_input};

    fn constant(value: f32) -> Trees {
        Trees::new(0.0, &[vec![TreeNode::Leaf(value)]]).unwrap()
    }

    fn global() -> GlobalPeaks {
        GlobalPeaks::new([-0.1, 0.0, 0.2, 0.4].map(constant))
    }

    fn inputs() -> Inputs {
        Inputs {
            values: [0; INPUTS],
            last: 100.0,
            scale: 50.0,
        }
    }

    #[test]
    fn rises_are_scaled_and_own_trees_go_on_from_them() {
        let close = |found: Quantiles, expected: [f64; 4]| {
            for (level, value) in expected.into_iter().enumerate() {
                assert!((found.level(level) - value).abs() < 0.01, "{found:?}");
            }
        };
        close(
            global().quantiles(None, &inputs()),
            [95.0, 100.0, 110.0, 120.0],
        );
        let own = OwnPeaks::new(3, [0.1, 0.2, 0.4].map(constant));
        close(
            global().quantiles(Some(&own), &inputs()),
            [100.0, 105.0, 120.0, 140.0],
        );
    }

    #[test]
    fn the_shipped_weights_are_sound_and_small() {
        let shipped = GlobalPeaks::shipped();
        assert!(shipped.encode().len() < 500_000);
        let quantiles = shipped.quantiles(None, &inputs());
        assert!(quantiles.median() > 0.0, "{quantiles:?}");
    }

    #[test]
    fn the_shipped_weights_are_asked_together_and_answer_as_each_for_itself() {
        let shipped = GlobalPeaks::shipped();
        assert!(shipped.table.is_some());
        let one_by_one = GlobalPeaks {
            table: None,
            ..GlobalPeaks::clone(&shipped)
        };
        let random = RandomSource::new(1);
        for row in 0..500 {
            let of_row = random.stream(&format!("row {row}"));
            let mut asked = inputs();
            for (place, value) in (0..).zip(&mut asked.values) {
                // Mostly near the middle, sometimes far out or missing.
                let near = of_row.stream("near").below(place, 4096);
                let far = of_row.stream("far").below(place, 65_536);
                *value = match of_row.stream("kind").below(place, 10) {
                    0 => MISSING,
                    1 => tree_input(count_as_f64(far) / 4096.0 - 8.0),
                    _ => tree_input(count_as_f64(near) / 4096.0 - 0.5),
                };
            }
            let bits = |global: &GlobalPeaks| global.rises(&asked).map(f32::to_bits);
            assert_eq!(bits(&shipped), bits(&one_by_one), "{asked:?}");
        }
    }

    #[test]
    fn weights_come_back_and_damage_is_named() {
        let bytes = global().encode();
        assert_eq!(GlobalPeaks::decode(&bytes), Ok(global()));
        assert_eq!(
            GlobalPeaks::decode(b"something else"),
            Err(PeakModelError::Foreign)
        );
        assert_eq!(GlobalPeaks::decode(b""), Err(PeakModelError::Foreign));
        for place in 8..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(
                GlobalPeaks::decode(&damaged),
                Err(PeakModelError::Checksum),
                "{place}"
            );
        }
    }
}
