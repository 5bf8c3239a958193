//! Schedules: five or six fields or a name, with a time zone or none.

use serde_json::Value;

use super::schema::{ruled, text};

const IS_SCHEDULE: &str =
    r"self.matches('^((CRON_)?TZ=[^ ]+ +)?(@[a-zA-Z]+|[^ @]+( +[^ ]+){4,5}) *$')";
const SCHEDULE_ACCEPTED: &str = "a schedule has five fields (minute, hour, day of month, month, \
     day of week), six with seconds before them, or is a name such as @daily; CRON_TZ=Area/City \
     may precede it";

/// A schedule.
pub(super) fn schedule(description: &str) -> Value {
    ruled(text(description, 256), &[(IS_SCHEDULE, SCHEDULE_ACCEPTED)])
}
