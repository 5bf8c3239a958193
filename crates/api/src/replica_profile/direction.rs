//! The directions in which a profile may change the replicas that take traffic.

use evenkeel_units::words;

words! {
    /// The allowed direction.
    #[derive(Default)]
    pub enum Direction {
        #[default]
        Both = "Both",
        Neither = "Neither",
        Up = "Up",
        Down = "Down",
    }
}

impl Direction {
    /// True where so many online replicas may become so many others.
    pub const fn allows(self, current: i32, wanted: i32) -> bool {
        match self {
            Self::Both => true,
            Self::Neither => wanted == current,
            Self::Up => wanted >= current,
            Self::Down => wanted <= current,
        }
    }
}
