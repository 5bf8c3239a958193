//! A request with its limit.

use crate::Amount;

/// A request and a limit, each where it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct RequestAndLimit {
    pub request: Option<Amount>,
    pub limit: Option<Amount>,
}
