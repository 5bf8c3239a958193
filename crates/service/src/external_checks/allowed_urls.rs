//! The addresses that the configuration lets checks call. An address lies below an allowed one if
//! the origin is the same (scheme, host and port) and its path begins with the allowed path, up to
//! the end of a segment. Servers read encoded or relative path parts differently, so a path with
//! any lies below nothing.

use evenkeel_http_client::{AddressError, Uri, server_address};

/// An address below which checks may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedUrl {
    origin: String,
    segments: Vec<String>,
}

/// The reason why an address cannot be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AllowedUrlError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("a host must not contain *")]
    Host,
    #[error("a query or fragment of the URL is not accepted")]
    Query,
    #[error("a path must have letters, digits and -._~ only, and no empty or relative segments")]
    Path,
}

impl AllowedUrl {
    /// The address in a text such as `https://checks.example/changes`.
    ///
    /// # Errors
    /// It is none, or holds more than an origin and a path.
    pub fn parse(text: &str) -> Result<Self, AllowedUrlError> {
        let uri = server_address(text)?;
        if uri.host().is_some_and(|host| host.contains('*')) {
            return Err(AllowedUrlError::Host);
        }
        if text.contains(['?', '#']) {
            return Err(AllowedUrlError::Query);
        }
        let path = uri.path().strip_suffix('/').unwrap_or(uri.path());
        Ok(Self {
            origin: origin(&uri),
            segments: segments(path).ok_or(AllowedUrlError::Path)?,
        })
    }

    /// True for an address that lies below this one.
    pub fn allows(&self, uri: &Uri) -> bool {
        let path = uri.path().strip_suffix('/').unwrap_or(uri.path());
        let below = segments(path).is_some_and(|segments| segments.starts_with(&self.segments));
        below && origin(uri) == self.origin
    }
}

/// Scheme, host and port of an address; the port that goes without saying is left out.
pub(super) fn origin(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("").to_ascii_lowercase();
    let host = uri.host().unwrap_or("").to_ascii_lowercase();
    match (&*scheme, uri.port_u16()) {
        (_, None) | ("http", Some(80)) | ("https", Some(443)) => format!("{scheme}://{host}"),
        (_, Some(port)) => format!("{scheme}://{host}:{port}"),
    }
}

/// The segments of a path without its last `/`; `None` where it may be read in more than one way.
fn segments(path: &str) -> Option<Vec<String>> {
    let Some(path) = path.strip_prefix('/') else {
        return path.is_empty().then(Vec::new);
    };
    let is_plain = |segment: &&str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        !matches!(*segment, "" | "." | "..") && segment.bytes().all(plain)
    };
    let all: Vec<&str> = path.split('/').collect();
    let plain = all.iter().all(is_plain);
    plain.then(|| all.into_iter().map(ToOwned::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_lies_below_another_of_its_origin_at_the_end_of_a_segment() {
        for (allowed, url, lies_below) in [
            ("https://a.example", "https://a.example", true),
            ("https://a.example", "https://a.example/", true),
            ("https://a.example/", "https://a.example/x/y?z=1", true),
            ("https://a.example", "https://A.Example:443/x", true),
            ("https://a.example:8443", "https://a.example:8443/x", true),
            ("http://a.example:80", "http://a.example", true),
            ("http://[fd00::1]:8080", "http://[fd00::1]:8080/x", true),
            ("https://a.example/x", "https://a.example/x", true),
            ("https://a.example/x/", "https://a.example/x/y", true),
            ("https://a.example", "http://a.example", false),
            ("http://a.example", "https://a.example", false),
            ("https://a.example", "https://a.example.evil", false),
            ("https://a.example", "https://evil.a.example", false),
            ("https://a.example", "https://a.example.", false),
            ("https://a.example", "https://a.example:8443", false),
            ("https://a.example:8443", "https://a.example", false),
            ("https://a.example/x", "https://a.example/", false),
            ("https://a.example/x", "https://a.example/xy", false),
            ("https://a.example/x", "https://a.example/X", false),
            ("https://a.example/x", "https://a.example/x/../y", false),
            ("https://a.example/x", "https://a.example/x/./y", false),
            ("https://a.example/x", "https://a.example/x/%2e%2e/y", false),
            ("https://a.example/x", "https://a.example/x%2f..%2fy", false),
            ("https://a.example/x", "https://a.example/x/..;/y", false),
            ("https://a.example/x", "https://a.example//x", false),
            ("https://a.example/x", "https://a.example/x//y", false),
        ] {
            let parsed = AllowedUrl::parse(allowed).unwrap();
            let uri = server_address(url).unwrap();
            assert_eq!(parsed.allows(&uri), lies_below, "{url} below {allowed}");
        }
        for url in ["https://a.example@evil", "https://a.example:443@evil/"] {
            assert_eq!(server_address(url), Err(AddressError::Credentials));
        }
    }

    #[test]
    fn what_cannot_be_allowed_is_refused() {
        for (text, error) in [
            ("a.example", AllowedUrlError::Address(AddressError::NotHttp)),
            ("https://*", AllowedUrlError::Host),
            ("https://*.example", AllowedUrlError::Host),
            (
                "https://me:secret@a.example",
                AllowedUrlError::Address(AddressError::Credentials),
            ),
            ("https://a.example?x=1", AllowedUrlError::Query),
            ("https://a.example/x#y", AllowedUrlError::Query),
            ("https://a.example/x/../y", AllowedUrlError::Path),
            ("https://a.example/%2e", AllowedUrlError::Path),
            ("https://a.example//", AllowedUrlError::Path),
        ] {
            assert_eq!(AllowedUrl::parse(text), Err(error), "{text}");
        }
    }
}
