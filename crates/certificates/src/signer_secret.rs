//! The content of the signer's Secret: the bundle with all keys, and requests about them.

use std::collections::BTreeMap;

use crate::certificate_secret::Files;
use crate::key_rotation::{KeyRotation, KeyRotationError, KeyRotationRequest, REQUEST, ROTATION};
use crate::rotation_plan::{RotationRules, Validity};
use jiff::Timestamp;

use super::bundle::Bundle;
use super::error::CertificateError;
use super::rotation::{lives, next};
use super::subject_alt_names::Names;

/// Content of the signer's own Secret: all certificates with their keys, and the rotation of them.
#[derive(Debug, Clone)]
pub struct SignerSecret {
    pub bundle: Bundle,
    pub rotation: Option<KeyRotation>,
    /// A request to rotate or to finish that is not taken up yet.
    pub request: Option<KeyRotationRequest>,
}

pub type SignerSecretAnnotations = BTreeMap<String, String>;

impl From<Bundle> for SignerSecret {
    fn from(bundle: Bundle) -> Self {
        Self {
            bundle,
            rotation: None,
            request: None,
        }
    }
}

impl SignerSecret {
    /// Reads the Secret. Unreadable annotations are returned beside it: they hold up no renewal.
    ///
    /// # Errors
    /// The data is damaged, see [`Bundle::decode`].
    pub fn decode(
        files: &Files,
        annotations: &SignerSecretAnnotations,
    ) -> Result<(Self, Vec<KeyRotationError>), CertificateError> {
        let bundle = Bundle::decode(files)?;
        let (mut rotation, mut request, mut refused) = (None, None, Vec::new());
        if let Some(text) = annotations.get(ROTATION) {
            match text.parse() {
                Ok(read) => rotation = Some(read),
                Err(error) => refused.push(error),
            }
        }
        if let Some(text) = annotations.get(REQUEST) {
            match text.parse() {
                Ok(read) => request = Some(read),
                Err(error) => refused.push(error),
            }
        }
        let kept = Self {
            bundle,
            rotation,
            request,
        };
        Ok((kept, refused))
    }

    /// The annotations of the Secret, `None` for one that it must not carry.
    pub fn annotations(&self) -> [(&'static str, Option<String>); 2] {
        [
            (ROTATION, self.rotation.map(|rotation| rotation.to_string())),
            (REQUEST, self.request.map(|request| request.to_string())),
        ]
    }

    /// True if new keys are requested during a rotation. The request is removed and otherwise
    /// ignored: it would move the end, and old keys would be trusted for longer.
    pub fn asks_too_early(&self) -> bool {
        self.rotation.is_some() && matches!(self.request, Some(KeyRotationRequest::Begin { .. }))
    }

    /// The next content at `now`, or `None` if nothing is due. A request is taken up and starts at
    /// once.
    ///
    /// # Errors
    /// A key or a certificate cannot be made.
    pub fn next(
        &self,
        now: Timestamp,
        names: &Names,
        validity: &Validity,
    ) -> Result<Option<Self>, CertificateError> {
        let rotation = self.asked(now, validity);
        let rules = RotationRules {
            validity: *validity,
            keys: rotation,
        };
        // New authorities are made no earlier than the rotation that they belong to.
        let at = rotation.map_or(now, |rotation| rotation.began.max(now));
        let bundle = next(at, &self.bundle, names, &rules)?;
        if bundle.is_none() && self.request.is_none() && !self.is_over(now) {
            return Ok(None);
        }
        let mut next = Self {
            bundle: bundle.unwrap_or_else(|| self.bundle.clone()),
            rotation,
            request: None,
        };
        if next.is_over(now) {
            next.rotation = None;
        }
        Ok(Some(next))
    }

    /// The rotation that goes on once the request has been taken up.
    fn asked(&self, now: Timestamp, validity: &Validity) -> Option<KeyRotation> {
        match (self.request, self.rotation) {
            (Some(KeyRotationRequest::Begin { overlap }), None) => {
                let newest = self.published().max().unwrap_or(Timestamp::MIN);
                Some(KeyRotation::starting(now, newest, overlap))
            }
            (Some(KeyRotationRequest::Finish), Some(rotation)) => {
                let rules = RotationRules {
                    validity: *validity,
                    keys: Some(rotation),
                };
                let signed = self.bundle.signed_anew(&rules);
                let signed = signed.then(|| self.bundle.leaf.life.published());
                Some(rotation.finished(now, signed))
            }
            (_, rotation) => rotation,
        }
    }

    /// True where a rotation goes on that has nothing left to do at `now`.
    fn is_over(&self, now: Timestamp) -> bool {
        self.rotation.is_some_and(|rotation| {
            rotation.ends <= now && !self.published().any(|moment| rotation.replaces(moment))
        })
    }

    /// When each of the authorities was made.
    fn published(&self) -> impl Iterator<Item = Timestamp> {
        let Bundle {
            authorities,
            leaf: _,
            scheduler,
        } = &self.bundle;
        let lives = lives(authorities).into_iter().chain(lives(scheduler));
        lives.map(|life| life.published())
    }
}

#[cfg(test)]
mod tests;
