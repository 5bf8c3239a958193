//! The client at the other end of a connection, as far as its certificate identifies it. The
//! handshake's outcome is kept for the connection's life; the signer is determined when a path
//! asks, and again after the authorities have changed. So a removed authority is of no more use on
//! its open connections.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustls::CertificateError;
use rustls::pki_types::{CertificateDer, UnixTime};

use super::server_certificate::not_after;
use super::{Authority, CertificateStore};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientIdentity {
    pub authorities: BTreeSet<Authority>,
}

/// Cause for which a client may not use a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerAuthorisationError {
    #[error("a client certificate of the {} authority is required", .0.as_str())]
    NoCertificate(Authority),
    /// Its certificate is not valid now.
    #[error("the client certificate has expired or is not valid yet")]
    OutOfDate,
    /// Its certificate is of someone else.
    #[error("the client certificate is not signed by the {} authority", .0.as_str())]
    OtherAuthority(Authority),
    /// Its certificate is of the authority, and of none of its clients that are meant.
    #[error("the common name of the client certificate is not accepted from the {} authority", .0.as_str())]
    OtherName(Authority),
    /// The authority by which it would be known is not known itself.
    #[error("the {} authority is not known", .0.as_str())]
    NoAuthority(Authority),
}

impl PeerAuthorisationError {
    /// A short name for answers and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoCertificate(_) => "ClientCertificateMissing",
            Self::OutOfDate => "ClientCertificateOutOfDate",
            Self::OtherAuthority(_) => "ClientCertificateUntrusted",
            Self::OtherName(_) => "ClientNameNotAllowed",
            Self::NoAuthority(_) => "ClientAuthorityUnknown",
        }
    }
}

/// The client of one connection.
#[derive(Debug)]
pub struct Peer {
    store: Arc<CertificateStore>,
    chain: Vec<CertificateDer<'static>>,
    /// The end of its own certificate; `None` where it has none or one that does not parse.
    not_after: Option<Timestamp>,
    known: Mutex<Option<CachedClientIdentity>>,
}

#[derive(Debug)]
struct CachedClientIdentity {
    generation: u64,
    /// Unix time of the verification in seconds. A failure counts for this second only, because a
    /// certificate may become valid. It is kept because a verification is expensive.
    second: i64,
    identity: Result<ClientIdentity, CertificateError>,
}

impl Peer {
    /// A client that showed `chain` in its handshake; empty where it showed nothing.
    pub fn new(store: Arc<CertificateStore>, chain: Vec<CertificateDer<'static>>) -> Self {
        let end = |own| not_after(own, "client certificate").ok();
        Self {
            not_after: chain.first().and_then(end),
            store,
            chain,
            known: Mutex::new(None),
        }
    }

    /// Checks that the client may use a path for clients of `authority`. If the scheduler's
    /// authority is not configured, every client may.
    ///
    /// # Errors
    /// The condition that the client does not meet.
    pub(crate) fn authorise(
        &self,
        authority: Authority,
        now: Timestamp,
    ) -> Result<(), PeerAuthorisationError> {
        if !self.store.current().authorities.contains(authority) {
            return if authority.may_be_absent() {
                Ok(())
            } else {
                Err(PeerAuthorisationError::NoAuthority(authority))
            };
        }
        if self.chain.is_empty() {
            return Err(PeerAuthorisationError::NoCertificate(authority));
        }
        match self.identity(now) {
            Ok(identity) if identity.authorities.contains(&authority) => Ok(()),
            Err(
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. },
            ) => Err(PeerAuthorisationError::OutOfDate),
            Err(CertificateError::ApplicationVerificationFailure) => {
                Err(PeerAuthorisationError::OtherName(authority))
            }
            Ok(_) | Err(_) => Err(PeerAuthorisationError::OtherAuthority(authority)),
        }
    }

    /// True if the scheduler's authority has signed its certificate: such clients have slots and a
    /// thread of their own. The API server's front proxy and its authority's other clients do not
    /// compete for them.
    pub(in crate::server) fn is_scheduler(&self, now: Timestamp) -> bool {
        self.identity(now)
            .is_ok_and(|ClientIdentity { authorities }| authorities.contains(&Authority::Scheduler))
    }

    /// The client's identity at `now`.
    fn identity(&self, now: Timestamp) -> Result<ClientIdentity, CertificateError> {
        if self.not_after.is_none_or(|end| end <= now) {
            return Err(CertificateError::Expired);
        }
        let current = self.store.current();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let second = now.as_second();
        if let Some(known) = &*known
            && known.generation == current.generation
            && (known.identity.is_ok() || known.second == second)
        {
            return known.identity.clone();
        }
        let at = UnixTime::since_unix_epoch(Duration::from_secs(second.max(0).unsigned_abs()));
        let signers = current.authorities.signers(&self.chain, at);
        let identity = match signers {
            Ok(authorities) => Ok(ClientIdentity { authorities }),
            Err(rustls::Error::InvalidCertificate(error)) => Err(error),
            Err(_) => Err(CertificateError::BadEncoding),
        };
        *known = Some(CachedClientIdentity {
            generation: current.generation,
            second,
            identity: identity.clone(),
        });
        identity
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_certificates::bundle::Bundle;
    use evenkeel_certificates::rotation_plan::Validity;
    use evenkeel_certificates::subject_alt_names::Names;
    use evenkeel_clock as clock;
    use jiff::SignedDuration;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;
    use crate::server::ListenerMetrics;
    use crate::server::tls::{CertificateUpdate, ClientAuthorities, ServerCertificate};

    fn change(bundle: &Bundle, scheduler: &Bundle) -> CertificateUpdate {
        let (certificate, key) = (bundle.server_certificate(), bundle.server_key());
        let server = ServerCertificate::from_pem(certificate.as_bytes(), key.as_bytes());
        let scheduler = scheduler.scheduler_ca_bundle();
        let authorities = ClientAuthorities::default();
        let authorities = authorities.with_pem(Authority::Scheduler, scheduler.as_bytes());
        CertificateUpdate {
            server: Some(server.unwrap()),
            authorities: Some(authorities.unwrap()),
        }
    }

    #[test]
    fn a_failed_verification_counts_for_its_second_or_until_the_authorities_change() {
        const DAY: SignedDuration = SignedDuration::from_hours(24);
        let now = clock::now();
        let names = Names::new(["localhost".to_owned()], []).unwrap();
        let bundle = || Bundle::generate(now, &names, &Validity::default()).unwrap();
        let (own, other) = (bundle(), bundle());
        let first = change(&own, &other);
        let store = Arc::new(CertificateStore::new(first, ListenerMetrics::default()).unwrap());
        let client = own.issue_scheduler_client(now + DAY, DAY).unwrap();
        let chain = CertificateDer::from_pem_slice(client.certificate.as_bytes()).unwrap();
        let peer = Peer::new(Arc::clone(&store), vec![chain]);
        let valid = now + DAY + DAY / 2;
        assert!(peer.identity(valid).is_err(), "of another authority");
        assert!(peer.identity(valid).is_err(), "again");
        store.replace(change(&own, &own));
        assert!(peer.identity(now).is_err(), "not valid yet");
        assert!(peer.is_scheduler(valid));
        store.replace(change(&own, &other));
        assert!(!peer.is_scheduler(valid));
    }
}
