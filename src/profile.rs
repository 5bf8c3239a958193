//! Under construction.

/// The weights of each profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileTable;
