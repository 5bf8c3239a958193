//! What the groups that Evenkeel serves behind the API server have in common, whichever are on.
//!
//! The API server passes on what is asked of a group, with its front proxy's certificate and the
//! caller's names in headers ([`FrontProxy`], [`Introductions`]); whether the caller may is asked of the
//! API server ([`Rights`]). An APIService leads it here, of which there is one a group ([`claim`]).

mod caller_identity;
mod discovery;
mod endpoints;
mod front_proxy;
mod group_ownership;
mod rights;

pub use caller_identity::{Introductions, UnknownCallerError};
pub use discovery::Groups;
pub(crate) use endpoints::{EVERY, StatusErrorResponse, endpoint, is_read, parameters, routes};
pub use front_proxy::{CallerHeaders, FrontProxy};
pub use group_ownership::claim;
pub use rights::{AccessDeniedError, Rights};
