//! What stands against any resize of a Pod, whatever is asked for.

/// What stands against any resize of a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Obstacle {
    #[error("it does not run")]
    NotRunning,
    #[error("it is static: kubelet runs it from a file")]
    Static,
    #[error("it runs on Windows, which resizes nothing in place")]
    Windows,
    #[error("it has resources of the Pod as a whole")]
    PodLevelResources,
    #[error("devices that it claims take of the node's cpu or memory")]
    NodeResourceClaims,
    #[error("it is of the class BestEffort, to which no request or limit can be added")]
    BestEffort,
    #[error("its node does not tell the resources of containers, so that it cannot resize them")]
    NodeWithoutSupport,
}

impl Obstacle {
    /// The cause in one word.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotRunning => "NotRunning",
            Self::Static => "StaticPod",
            Self::Windows => "Windows",
            Self::PodLevelResources => "PodLevelResources",
            Self::NodeResourceClaims => "NodeResourceClaims",
            Self::BestEffort => "BestEffort",
            Self::NodeWithoutSupport => "NodeWithoutSupport",
        }
    }
}
