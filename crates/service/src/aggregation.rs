//! The common parts of the API groups that Evenkeel serves behind the API server. The front proxy
//! passes requests on with its certificate and the caller's names in headers ([`FrontProxy`],
//! [`Introductions`]). Evenkeel asks the API server if the caller may do this ([`Rights`]). One
//! APIService for each group routes the requests here ([`claim`]).

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
