//! The directions in which a profile may change the replicas that take traffic.

/// The allowed direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    #[default]
    Both,
    Neither,
    Up,
    Down,
}

impl Direction {
    /// All directions.
    pub const ALL: [Self; 4] = [Self::Both, Self::Neither, Self::Up, Self::Down];

    /// The word in a spec.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Both => "Both",
            Self::Neither => "Neither",
            Self::Up => "Up",
            Self::Down => "Down",
        }
    }

    /// The direction of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

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
