//! How far a workload has rolled out its version.

/// How far the version of a workload is brought out. That of a Deployment is only once all of its Pods have been
/// available together, and that of a StatefulSet goes on from Pod to Pod only while each is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RolloutProgress {
    /// It is out; what becomes unavailable later changes nothing about that.
    #[default]
    Complete,
    /// Its controller has not seen its newest spec yet.
    Unseen,
    UnderWay,
}
