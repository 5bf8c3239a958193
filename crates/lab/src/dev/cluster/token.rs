//! The token of one run. Every user of this machine reaches its loopback, and every client of the
//! API server is an administrator, so only the kubeconfig, readable by the run's user alone, has
//! the token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::crypto::ring;

use super::StartError;

/// Too many to be guessed.
const BYTES: usize = 32;

/// A new token from the machine's own randomness, because the seed of a run is easy to guess.
pub(super) fn random() -> Result<String, StartError> {
    let mut bytes = [0; BYTES];
    let filled = ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| {
        StartError::Unusable("the machine gives no random bytes for a token".to_owned())
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_and_fits_into_a_header() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), 43);
        assert!(one.chars().all(|sign| sign.is_ascii_graphic()));
    }
}
