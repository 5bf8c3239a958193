//! Addresses from operators, addresses below a base address, and forms.

use http::Uri;
use http::uri::PathAndQuery;

/// Why a text is no server's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text must not be repeated in a message.
    #[error("a user name or password in the URL is not accepted")]
    Credentials,
    #[error("expected an http or https URL, such as http://prometheus.monitoring.svc:9090")]
    NotHttp,
    #[error("the port of the URL is not a number from 1 to 65535")]
    Port,
}

/// `http` or `https`, a host, and an optional valid port.
///
/// # Errors
/// Texts that [`Uri`] accepts and the connector would guess at, such as port 80 in place of one
/// that is not a number.
pub fn server_address(text: &str) -> Result<Uri, AddressError> {
    let (_, rest) = text.split_once("://").ok_or(AddressError::NotHttp)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') {
        return Err(AddressError::Credentials);
    }
    let uri: Uri = text.parse().map_err(|_| AddressError::NotHttp)?;
    let host = uri.host().filter(|host| !host.is_empty());
    let (Some("http" | "https"), Some(host)) = (uri.scheme_str(), host) else {
        return Err(AddressError::NotHttp);
    };
    let port = authority.strip_prefix(host).ok_or(AddressError::NotHttp)?;
    match port.strip_prefix(':').map(str::parse::<u16>) {
        None if port.is_empty() => Ok(uri),
        Some(Ok(1..)) => Ok(uri),
        _ => Err(AddressError::Port),
    }
}

/// `path` below `base`, whose path and query stay, for servers behind a prefix.
///
/// # Errors
/// A path that no address can hold, or a base without host.
pub fn join(base: &Uri, path: &str, query: &[(&str, &str)]) -> Result<Uri, http::Error> {
    let prefix = base.path().trim_end_matches('/');
    let path = path.trim_start_matches('/');
    let queries = [base.query().unwrap_or_default(), &form(query)]
        .into_iter()
        .filter(|query| !query.is_empty())
        .collect::<Vec<_>>()
        .join("&");
    let mark = if queries.is_empty() { "" } else { "?" };
    let text = format!("{prefix}/{path}{mark}{queries}");
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text)?);
    Ok(Uri::from_parts(parts)?)
}

pub fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}
