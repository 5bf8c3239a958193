//! The memory of a replica about an IHPA between two ticks: the windows of its portraits, and the last
//! planned status. The status counts until it has come back by the watch.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::ihpa::{CheckedIhpa, IhpaStatus};
use evenkeel_core::scaling::cron::ScheduleCache;

/// The longest pause between two plans over which the status of the former counts.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// The windows of one provider, as they were last looked at.
#[derive(Debug, Clone, Default, PartialEq)]
struct ProviderWindows {
    /// The version of what they stand in.
    version: Option<String>,
    agenda: ScheduleCache,
}

/// The windows of all providers by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Agendas(BTreeMap<Arc<str>, ProviderWindows>);

impl Agendas {
    /// The agenda of a provider with windows in an object of this version.
    pub(super) fn of(
        &mut self,
        provider: &Arc<str>,
        version: Option<String>,
    ) -> &mut ScheduleCache {
        let looked = self.0.entry(Arc::clone(provider)).or_default();
        if looked.version != version {
            *looked = ProviderWindows {
                version,
                agenda: ScheduleCache::default(),
            };
        }
        &mut looked.agenda
    }
}

/// The memory of an IHPA.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct IhpaMemory {
    uid: Option<String>,
    pub(super) agendas: Agendas,
    /// The status that was last planned, and when.
    planned: Option<(Timestamp, IhpaStatus)>,
    /// When it was last written for its texts alone.
    pub(super) told: Option<Timestamp>,
}

impl IhpaMemory {
    /// Forgets what was remembered of another object of the same name.
    pub(super) fn recall(&mut self, ihpa: &CheckedIhpa) {
        let uid = &ihpa.object.metadata.uid;
        if self.uid != *uid {
            *self = Self {
                uid: uid.clone(),
                ..Self::default()
            };
        }
    }

    /// The status of the last plan, where that was a moment ago.
    pub(super) fn recent(&self, now: Timestamp) -> Option<&IhpaStatus> {
        let (at, status) = self.planned.as_ref()?;
        (now.duration_since(*at).abs() <= REMEMBERED).then_some(status)
    }

    /// Takes note of the status that was planned at `now`.
    pub(super) fn plan(&mut self, status: IhpaStatus, now: Timestamp) {
        self.planned = Some((now, status));
    }

    /// Forgets what was planned: another replica plans, and its status counts.
    pub(super) fn follow(&mut self) {
        self.planned = None;
    }
}
