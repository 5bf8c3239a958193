//! Parameters in the query of a path.

use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use crate::server::ApiError;

/// The parameters of a request.
///
/// # Errors
/// Parameters that are missing or not understood; the message says which, and shows `accepted`.
pub(super) fn parameters<T: DeserializeOwned>(uri: &Uri, accepted: &str) -> Result<T, ApiError> {
    let Query(parameters) = Query::try_from_uri(uri).map_err(|error| {
        let text = error.body_text();
        // The text before says only that it is about the query.
        let wrong = text.rsplit_once("query string: ");
        let wrong = wrong.map_or(&*text, |(_, wrong)| wrong);
        let path = uri.path();
        let message = format!("{wrong}; accepted: {path}?{accepted}");
        ApiError::bad_request("WrongParameters", message)
    })?;
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parameters_are_named_with_what_is_accepted() {
        #[derive(Debug, serde::Deserialize)]
        struct Which {
            pod: String,
        }
        let uri = |text: &'static str| Uri::from_static(text);
        let found: Which = parameters(&uri("/explain?pod=web-0"), "pod=NAME").unwrap();
        assert_eq!(found.pod, "web-0");
        let refused = parameters::<Which>(&uri("/explain?node=a"), "pod=NAME").unwrap_err();
        let shown = format!("{refused:?}");
        assert!(
            shown.contains("missing field `pod`; accepted: /explain?pod=NAME"),
            "{shown}"
        );
    }
}
