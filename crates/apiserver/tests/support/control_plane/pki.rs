//! The control plane's certificates, ServiceAccount key and kubeconfig files, new in a temporary
//! folder for each run.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};

/// Names of the API server's certificate: loopback, and those that Pods use.
const SERVER_NAMES: [&str; 6] = [
    "localhost",
    "127.0.0.1",
    "10.0.0.1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
];

/// Writes what it signs into a folder.
pub(crate) struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// The certificate is `FOLDER/NAME.crt`.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let mut params = named(name, None, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate().expect("a key is generated");
        let pem = params
            .self_signed(&key)
            .expect("a certificate is signed")
            .pem();
        write(&folder.join(format!("{name}.crt")), &pem);
        Self {
            folder: folder.to_owned(),
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// `apiserver.crt` and `apiserver.key`.
    pub(crate) fn sign_server(&self) {
        let mut params = named("kube-apiserver", None, &SERVER_NAMES);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        self.sign("apiserver", params);
    }

    /// `NAME.crt` and `NAME.key`, returned as (certificate, key).
    pub(crate) fn sign_client(
        &self,
        name: &str,
        user: &str,
        organization: Option<&str>,
    ) -> (String, String) {
        let mut params = named(user, organization, &[]);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(name, params)
    }

    fn sign(&self, name: &str, mut params: CertificateParams) -> (String, String) {
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        let key = KeyPair::generate().expect("a key is generated");
        let certificate = params
            .signed_by(&key, &self.issuer)
            .expect("a certificate is signed")
            .pem();
        let key = key.serialize_pem();
        write(&self.folder.join(format!("{name}.crt")), &certificate);
        write(&self.folder.join(format!("{name}.key")), &key);
        (certificate, key)
    }

    /// For the API server at `port` of loopback.
    pub(crate) fn kubeconfig(&self, port: u16, user: &Value) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "default",
            "clusters": [{"name": "default", "cluster": {
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority-data": BASE64.encode(&self.pem),
            }}],
            "users": [{"name": "default", "user": user}],
            "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        })
    }
}

/// Shows a client certificate.
pub(crate) fn certificate_user((certificate, key): &(String, String)) -> Value {
    json!({
        "client-certificate-data": BASE64.encode(certificate),
        "client-key-data": BASE64.encode(key),
    })
}

/// Signs ServiceAccount tokens: `sa.key` and `sa.pub`.
pub(crate) fn write_service_account_key(folder: &Path) {
    let key = KeyPair::generate().expect("a key is generated");
    write(&folder.join("sa.key"), &key.serialize_pem());
    write(&folder.join("sa.pub"), &key.public_key_pem());
}

/// JSON, which every reader of YAML accepts.
pub(crate) fn write_json(path: &Path, document: &Value) {
    write(path, &format!("{document:#}\n"));
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn named(common_name: &str, organization: Option<&str>, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("the names are valid");
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organization);
    }
    params
}
