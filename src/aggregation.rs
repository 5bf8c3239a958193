//! What the groups that Evenkeel serves behind the API server have in common, whichever are on.
//!
//! The API server passes on what is asked of a group, with its front proxy's certificate and the
//! caller's names in headers ([`FrontProxy`], [`Introductions`]); whether the caller may is asked of the
//! API server ([`Rights`]). An APIService leads it here, of which there is one a group ([`claim`]).

mod claim;
mod discovery;
mod endpoints;
mod front_proxy;
mod introductions;
mod rights;

pub use claim::claim;
pub use discovery::Groups;
pub(crate) use endpoints::{EVERY, Refused, endpoint, is_read, parameters, routes};
pub use front_proxy::{CallerHeaders, FrontProxy};
pub use introductions::{Introductions, Unknown};
pub use rights::{Denied, Rights};
