//! Decides which callers are served: those with the token of the settings, or all if none is set.
//! Only the token's digest is kept, and digests are compared, so that the time of a comparison
//! reveals nothing about the token.

use sha2::{Digest, Sha256};

#[derive(Debug)]
pub(crate) enum AllowedCallers {
    Everybody,
    Token([u8; 32]),
}

impl AllowedCallers {
    pub(crate) fn new(token: Option<&str>) -> Self {
        token.map_or(Self::Everybody, |token| Self::Token(digest(token)))
    }

    /// For this `Authorization` header.
    pub(crate) fn admits(&self, authorization: &str) -> bool {
        let Self::Token(expected) = self else {
            return true;
        };
        let given = authorization.split_once(' ');
        given.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && digest(token.trim()) == *expected
        })
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_admitted() {
        let access = AllowedCallers::new(Some("a-b"));
        for authorization in ["Bearer a-b", "bearer a-b", "Bearer  a-b "] {
            assert!(access.admits(authorization), "{authorization}");
        }
        for authorization in [
            "",
            "a-b",
            "Bearer",
            "Bearer ",
            "Bearer a",
            "Bearer a-b-c",
            "Bearer A-B",
            "Basic a-b",
            "Bearer in-memory",
        ] {
            assert!(!access.admits(authorization), "{authorization}");
        }
        assert!(AllowedCallers::new(None).admits(""));
        assert!(!AllowedCallers::new(Some("")).admits(""));
    }
}
