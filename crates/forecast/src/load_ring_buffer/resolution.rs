//! The grids that a past is kept on, and their slot numbers.

use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// 15 seconds for 30 minutes.
    Fine,
    /// 1 minute for 3 hours.
    Minute,
    /// 5 minutes for 2 days.
    FiveMinutes,
}

impl Resolution {
    /// The finest first.
    pub const ALL: [Self; 3] = [Self::Fine, Self::Minute, Self::FiveMinutes];

    pub(super) const fn seconds(self) -> i64 {
        match self {
            Self::Fine => 15,
            Self::Minute => 60,
            Self::FiveMinutes => 300,
        }
    }

    pub const fn step(self) -> SignedDuration {
        SignedDuration::from_secs(self.seconds())
    }

    /// Steps kept.
    pub const fn length(self) -> usize {
        match self {
            Self::Fine => 120,
            Self::Minute => 180,
            Self::FiveMinutes => 576,
        }
    }

    pub(super) const fn offset(self) -> usize {
        match self {
            Self::Fine => 0,
            Self::Minute => Self::Fine.length(),
            Self::FiveMinutes => Self::Fine.length() + Self::Minute.length(),
        }
    }

    /// Counted from the epoch.
    pub(super) fn slot(self, time: Timestamp) -> i64 {
        self.slot_at(time.as_second())
    }

    pub(super) const fn slot_at(self, second: i64) -> i64 {
        second.div_euclid(self.seconds())
    }

    /// The slot that holds the fine slot `fine`.
    pub(super) const fn of_fine(self, fine: i64) -> i64 {
        fine.div_euclid(self.seconds() / Self::Fine.seconds())
    }

    pub(super) fn slots(self) -> i64 {
        i64::try_from(self.length()).expect("the rings are short")
    }

    pub(super) fn place(self, slot: i64) -> usize {
        let place = slot.rem_euclid(self.slots());
        self.offset() + usize::try_from(place).expect("a remainder is not negative and short")
    }
}
