//! The cached schedules of CronHPAs and of portraits by the calendar.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_cron::ScheduleCache;

/// The cached schedule of one version of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VersionedSchedule {
    version: Option<String>,
    cache: ScheduleCache,
}

impl VersionedSchedule {
    /// The cache of this version, which begins anew if the version is another one.
    pub(crate) fn of(&mut self, version: Option<String>) -> &mut ScheduleCache {
        if self.version != version {
            *self = Self {
                version,
                cache: ScheduleCache::default(),
            };
        }
        &mut self.cache
    }
}

/// The schedules of all providers of an IHPA, by their names.
pub(crate) type ProviderSchedules = BTreeMap<Arc<str>, VersionedSchedule>;
