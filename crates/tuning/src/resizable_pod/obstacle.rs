//! The obstacles to any resize of a Pod, for any amount.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Obstacle {
    #[error("it does not run")]
    NotRunning,
    #[error("it is a static Pod")]
    Static,
    #[error("it runs on Windows, which cannot resize in place")]
    Windows,
    #[error("it has Pod-level resources")]
    PodLevelResources,
    #[error("its device claims use cpu or memory of the node")]
    NodeResourceClaims,
    #[error("it is of the class BestEffort, to which no request or limit can be added")]
    BestEffort,
    #[error("its node does not report the resources of containers, so it cannot resize them")]
    NodeWithoutSupport,
}

impl Obstacle {
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
