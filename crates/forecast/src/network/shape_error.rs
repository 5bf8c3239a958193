//! Refusal of parameters that do not fit a network.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("{have} weights are not those of the network, which has {need}")]
    Count { have: usize, need: usize },
    #[error("a weight is not finite")]
    NotFinite,
}

impl ShapeError {
    pub(super) fn check(need: usize, parameters: &[f32]) -> Result<(), Self> {
        let have = parameters.len();
        if have != need {
            return Err(Self::Count { have, need });
        }
        let finite = parameters.iter().all(|parameter| parameter.is_finite());
        finite.then_some(()).ok_or(Self::NotFinite)
    }
}
