//! The time of day, as coarsely as floors are judged by it.

const DAY: i64 = 86_400;
/// A quarter of the day is judged by itself once it has passed.
pub(super) const MINUTES_OF_QUARTER: i64 = 360;

/// A quarter of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeOfDay(usize);

impl TimeOfDay {
    /// The number of them.
    pub const COUNT: usize = 4;

    /// That in which a moment lies, so many seconds after midnight.
    pub fn of(second_of_day: i64) -> Self {
        let quarter = second_of_day.rem_euclid(DAY) / (MINUTES_OF_QUARTER * 60);
        Self(usize::try_from(quarter).expect("a remainder is not negative and short"))
    }

    /// Its place among all of them.
    pub const fn place(self) -> usize {
        self.0
    }
}
