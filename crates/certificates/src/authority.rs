//! A certificate authority of our own: made for ten years, it signs one kind of leaf.

use crate::rotation_plan::Lifetime;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};

use super::error::CertificateError;
use super::leaf::Leaf;
use super::parse::date;
use super::subject_alt_names::Names;

#[derive(Debug)]
pub struct SigningAuthority {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: KeyPair,
    pub(crate) life: Lifetime,
}

/// A client certificate with its key, both as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    pub certificate: String,
    /// The private key, PKCS #8.
    pub key: String,
}

impl SigningAuthority {
    /// A new authority that is valid from `now` for `life`.
    ///
    /// # Errors
    /// The key cannot be made, or the end cannot be stated.
    pub fn generate(
        common_name: &str,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let life = Lifetime::starting(now, life, Timestamp::MAX);
        let mut params = CertificateParams::default();
        // Generations differ in their subject, so that clients which find signers by name find the
        // right one while two are published.
        let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(key.public_key_raw()));
        params.distinguished_name.push(
            DnType::CommonName,
            format!("{common_name} {a:02x}{b:02x}{c:02x}{d:02x}"),
        );
        params.not_before = date(life.not_before)?;
        params.not_after = date(life.not_after)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.der().clone();
        Ok(Self {
            certificate,
            key,
            life,
        })
    }

    /// True where it signed `leaf`.
    pub fn signed(&self, leaf: &Leaf) -> bool {
        leaf.signer == self.certificate
    }

    /// A server certificate for `names`, valid from `now` for `life` or as long as the authority.
    pub(crate) fn issue_server(
        &self,
        names: &Names,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Leaf, CertificateError> {
        let alternatives = names
            .dns()
            .map(str::to_owned)
            .chain(names.addresses().map(|address| address.to_string()))
            .collect::<Vec<_>>();
        let mut params = CertificateParams::new(alternatives)?;
        params
            .distinguished_name
            .push(DnType::CommonName, "evenkeel");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let life = Lifetime::starting(now, life, self.life.not_after);
        let (certificate, key) = self.sign(params, life)?;
        Ok(Leaf {
            certificate,
            key,
            life,
            names: names.clone(),
            signer: self.certificate.clone(),
        })
    }

    /// A client certificate for `common_name`, valid from `now` for `life` or as long as the
    /// authority.
    ///
    /// # Errors
    /// The key or the certificate cannot be made.
    pub fn issue_client(
        &self,
        common_name: &str,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<ClientCertificate, CertificateError> {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let life = Lifetime::starting(now, life, self.life.not_after);
        let (certificate, key) = self.sign(params, life)?;
        Ok(ClientCertificate {
            certificate: super::pem::certificate_pem(&certificate),
            key: key.serialize_pem(),
        })
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        life: Lifetime,
    ) -> Result<(CertificateDer<'static>, KeyPair), CertificateError> {
        params.not_before = date(life.not_before)?;
        params.not_after = date(life.not_after)?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let issuer = Issuer::from_ca_cert_der(&self.certificate, &self.key)?;
        let certificate = params.signed_by(&key, &issuer)?.der().clone();
        Ok((certificate, key))
    }
}
