//! The weights of the five resources for each profile.
//!
//! The published judgements (`[CLBP]` Table 4.4) compare five roles; each built-in profile gives these roles to the
//! resources in an order of its own. Weights are used unrounded. `normal` has fixed weights.

use evenkeel_units::{Resource, Resources};

use super::kind::Profile;
use crate::ahp::{AhpError, Analysis, JudgementMatrix, RandomIndex};

/// The distance of a sum of weights from 1 that their own rounding explains.
const SUM_TOLERANCE: f64 = 1e-6;

/// The judgements of the compute profile, from the most important role to the least: `[CLBP]`
/// (4.13) with two misprints corrected, so that the weights and the CR of 0.038 of Table 4.5 follow
/// to every digit.
const PUBLISHED: [[f64; 5]; 5] = [
    [1.0, 3.0, 3.0, 5.0, 7.0],
    [1.0 / 3.0, 1.0, 2.0, 4.0, 7.0],
    [1.0 / 3.0, 1.0 / 2.0, 1.0, 1.0, 3.0],
    [1.0 / 5.0, 1.0 / 4.0, 1.0, 1.0, 3.0],
    [1.0 / 7.0, 1.0 / 7.0, 1.0 / 3.0, 1.0 / 3.0, 1.0],
];

/// Weights of the five resources: none negative, their sum 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights(Resources<f64>);

/// The refusal of weights.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WeightsError {
    /// A weight is negative or not finite.
    #[error("weight {value} of {resource} is not accepted: it must be at least 0")]
    Negative { resource: Resource, value: f64 },
    /// The weights do not sum to 1.
    #[error("weights with the sum {0} are not accepted: the sum must be 1")]
    Sum(f64),
    /// A matrix of another size than five.
    #[error(
        "a judgement matrix of {0} rows is not accepted: it must have a row for each of cpu, \
         memory, networkIo, diskIo and disk"
    )]
    Size(usize),
    /// The judgements are refused.
    #[error(transparent)]
    Judgements(#[from] AhpError),
}

impl Weights {
    /// Weights that are at least 0 and sum to 1.
    ///
    /// # Errors
    /// [`WeightsError::Negative`] or [`WeightsError::Sum`].
    pub fn new(weights: Resources<f64>) -> Result<Self, WeightsError> {
        for (resource, &value) in weights.iter() {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(WeightsError::Negative { resource, value });
            }
        }
        let sum: f64 = weights.values().iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(WeightsError::Sum(sum));
        }
        Ok(Self(weights))
    }

    /// The weights that follow from judgements in the order of [`Resource::ALL`].
    ///
    /// # Errors
    /// [`WeightsError::Size`], or [`WeightsError::Judgements`] when CR >= 0.1.
    pub fn from_matrix(
        matrix: &JudgementMatrix,
        random_index: &RandomIndex,
    ) -> Result<Self, WeightsError> {
        let analysis = matrix.analyse(random_index);
        let weights = analysis.accept()?;
        let weights =
            <[f64; 5]>::try_from(weights).map_err(|_| WeightsError::Size(weights.len()))?;
        Self::new(Resources::new(weights))
    }

    /// The weight of each resource.
    pub const fn get(&self) -> &Resources<f64> {
        &self.0
    }

    /// The weights of a built-in profile.
    pub fn built_in(profile: Profile) -> Self {
        let Some(roles) = roles(profile) else {
            return Self(Resources::new([0.30, 0.30, 0.20, 0.10, 0.10]));
        };
        let mut weights = Resources::default();
        for (role, weight) in roles.into_iter().zip(published().weights) {
            weights[role] = weight;
        }
        Self(weights)
    }
}

fn published() -> Analysis {
    let rows = PUBLISHED.map(|row| row.to_vec()).to_vec();
    JudgementMatrix::new(rows)
        .expect("the published judgements are positive and reciprocal")
        .analyse(&RandomIndex::thesis())
}

/// The judgements behind the weights of a built-in profile, in the order of [`Resource::ALL`]. None
/// for `normal`, which has fixed weights.
pub fn judgements(profile: Profile) -> Option<JudgementMatrix> {
    let roles = roles(profile)?;
    let role = |resource| roles.iter().position(|&role| role == resource);
    let row = |resource| {
        let judged = Resource::ALL.map(|other| Some(PUBLISHED[role(resource)?][role(other)?]));
        judged.into_iter().collect()
    };
    let rows: Option<Vec<Vec<f64>>> = Resource::ALL.into_iter().map(row).collect();
    JudgementMatrix::new(rows?).ok()
}

/// The resources of a profile from the most important role to the least. None for `normal`: its
/// weights do not come from judgements.
const fn roles(profile: Profile) -> Option<[Resource; 5]> {
    use Resource::{Cpu, Disk, DiskIo, Memory, NetworkIo};
    match profile {
        Profile::Compute => Some([Cpu, Memory, NetworkIo, DiskIo, Disk]),
        Profile::Memory => Some([Memory, Cpu, NetworkIo, DiskIo, Disk]),
        Profile::Io => Some([DiskIo, Cpu, Memory, NetworkIo, Disk]),
        Profile::Network => Some([NetworkIo, Cpu, Memory, DiskIo, Disk]),
        Profile::Normal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judgements_of_a_profile_give_its_weights() {
        for profile in Profile::ALL {
            let weights = Weights::built_in(profile);
            let Some(matrix) = judgements(profile) else {
                assert_eq!(profile, Profile::Normal);
                continue;
            };
            let judged = Weights::from_matrix(&matrix, &RandomIndex::thesis()).unwrap();
            for (resource, weight) in judged.get().iter() {
                assert!(
                    (weight - weights.get()[resource]).abs() < 1e-12,
                    "{profile} {resource}"
                );
            }
        }
    }

    #[test]
    fn the_built_in_weights_are_the_published_ones() {
        for (profile, published) in [
            (Profile::Compute, [0.46, 0.26, 0.13, 0.10, 0.04]),
            (Profile::Memory, [0.26, 0.46, 0.13, 0.10, 0.04]),
            (Profile::Network, [0.26, 0.13, 0.46, 0.10, 0.04]),
            (Profile::Io, [0.26, 0.13, 0.10, 0.46, 0.04]),
            (Profile::Normal, [0.30, 0.30, 0.20, 0.10, 0.10]),
        ] {
            let weights = *Weights::built_in(profile).get();
            for (found, published) in weights.values().iter().zip(published) {
                assert!((found - published).abs() < 0.005, "{profile} {found}");
            }
            assert!(Weights::new(weights).is_ok(), "{profile}");
        }
    }

    #[test]
    fn the_compute_weights_are_not_rounded() {
        let weights = Weights::built_in(Profile::Compute);
        for (found, percent) in weights
            .get()
            .values()
            .iter()
            .zip([46.426, 26.382, 12.791, 10.054, 4.347])
        {
            assert!((found * 100.0 - percent).abs() < 0.0006, "{found}");
        }
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        for weights in [
            [0.5, 0.5, 0.5, 0.0, 0.0],
            [0.0; 5],
            [1.2, -0.2, 0.0, 0.0, 0.0],
            [f64::NAN, 1.0, 0.0, 0.0, 0.0],
        ] {
            assert!(
                Weights::new(Resources::new(weights)).is_err(),
                "{weights:?}"
            );
        }
        let three = JudgementMatrix::new(vec![vec![1.0; 3]; 3]).unwrap();
        let refused = Weights::from_matrix(&three, &RandomIndex::saaty());
        assert_eq!(refused, Err(WeightsError::Size(3)));
    }
}
