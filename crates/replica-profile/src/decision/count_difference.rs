//! Differences of counts that end at zero.

/// The amount by which `have` exceeds `wanted`, at least 0.
pub(super) const fn excess(have: i32, wanted: i32) -> i32 {
    let excess = have.saturating_sub(wanted);
    if excess > 0 { excess } else { 0 }
}

/// A count as a length; nothing for one below zero.
pub(super) fn at_least_none(count: i32) -> usize {
    usize::try_from(count).unwrap_or(0)
}
