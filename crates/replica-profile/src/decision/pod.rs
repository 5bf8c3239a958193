//! A Pod as a profile sees it.

use evenkeel_objects::pod_state::PodState;
use jiff::Timestamp;

/// The resources of a Pod beside those of its template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PodResources {
    /// It has all that it asks for.
    #[default]
    Full,
    /// It has less, or is about to have all of it.
    Lowered,
    /// It does not get them back at present, from its node or by a quota.
    Withheld,
}

/// A Pod of a profile's workload that is neither finished nor being deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfilePod {
    pub state: PodState,
    /// True where it has the readiness gate, without which nothing takes it out of traffic.
    pub is_gated: bool,
    /// True while all of its containers are ready.
    pub containers_ready: bool,
    /// True shortly after the Pod was allowed to take traffic, until its overall readiness follows.
    pub is_opening: bool,
    /// Since when it has been ready as a whole; `None` while it is not.
    pub ready_since: Option<Timestamp>,
    /// Since when it has taken no traffic; `None` while it may take some.
    pub off_since: Option<Timestamp>,
    pub resources: PodResources,
    /// Its turn where its controller deletes Pods that are not ready, by the costs that it sees: those of lower ones
    /// go before, and among equals any.
    pub turn: u32,
    /// True where its turn may be made another: a user has given it no cost of deletion.
    pub takes_mark: bool,
    /// Its ordinal, where its controller deletes the highest first.
    pub ordinal: Option<u32>,
}

impl ProfilePod {
    /// True for one that takes traffic, or will as soon as that is seen.
    pub(super) const fn serves(&self) -> bool {
        let is_about_to = self.is_opening && self.containers_ready;
        !self.state.is_off() && (self.ready_since.is_some() || is_about_to)
    }

    /// True for one that may take traffic and is not ready for it.
    pub(super) const fn is_unready(&self) -> bool {
        !self.state.is_off() && !self.serves()
    }

    /// True for one that could take traffic at once.
    pub(super) fn can_serve(&self) -> bool {
        self.state == PodState::Cutoff
            && self.containers_ready
            && self.resources == PodResources::Full
    }
}
