//! Addresses below a base address, and forms.

use http::Uri;
use http::uri::PathAndQuery;

/// The address of `path` below `base`, whose own path and query are kept, for servers behind a
/// prefix.
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

/// Names and values as a form or a query holds them.
#[must_use]
pub fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}
