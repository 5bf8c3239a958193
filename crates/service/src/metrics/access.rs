//! The servers that the service trusts when it asks for measurements or exports spans, and its credentials. Tokens,
//! passwords, certificates and authorities are in files, read anew for each request, because
//! kubelet renews them in place. Their content is never part of an error or of the shown
//! configuration.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_http_client::{self as http, HeaderValue, Identity, TlsError, TrustAnchors};

use super::error::MetricsError;

/// How a server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EndpointAccess {
    pub authorization: Authorization,
    /// A PEM file with the certificate authorities to trust, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate that is shown to a server that asks for one.
    pub identity: Option<IdentityFiles>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Authorization {
    #[default]
    None,
    /// The token in this file.
    Bearer(PathBuf),
    /// A user with the password in this file.
    Basic {
        username: String,
        password_file: PathBuf,
    },
}

/// PEM files with a certificate, its intermediates behind it, and its private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The HTTP client of one [`EndpointAccess`], built again when a file of its TLS changes.
pub(crate) struct AccessClient {
    access: EndpointAccess,
    built: Mutex<Option<CachedHttpClient>>,
}

/// The contents of the files that the TLS of a client is made of.
#[derive(PartialEq, Eq)]
struct TlsFiles {
    ca: Option<Vec<u8>>,
    /// A certificate and its key.
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

struct CachedHttpClient {
    files: TlsFiles,
    http: http::PooledHttpClient,
}

impl AccessClient {
    pub(crate) fn new(access: EndpointAccess) -> Self {
        Self {
            access,
            built: Mutex::new(None),
        }
    }

    /// Reads the files, and gives the client for `uri` and the `Authorization` to send.
    ///
    /// # Errors
    /// A file cannot be read, or holds nothing that can be used.
    pub(crate) async fn open(
        &self,
        uri: &http::Uri,
    ) -> Result<(http::PooledHttpClient, Option<HeaderValue>), MetricsError> {
        let EndpointAccess {
            authorization,
            ca_file,
            identity,
        } = &self.access;
        let files = TlsFiles {
            ca: match ca_file {
                Some(path) => Some(read(path).await?),
                None => None,
            },
            identity: match identity {
                Some(IdentityFiles { certificate, key }) => {
                    Some((read(certificate).await?, read(key).await?))
                }
                None => None,
            },
        };
        let http = self.http(files, uri);
        let http = http.map_err(|error| MetricsError::Client(error.into()))?;
        Ok((http, authorization.header().await?))
    }

    fn http(&self, files: TlsFiles, uri: &http::Uri) -> Result<http::PooledHttpClient, TlsError> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = built.as_ref().filter(|known| known.files == files) {
            return Ok(known.http.clone());
        }
        let TlsFiles { ca, identity } = &files;
        let identity = identity
            .as_ref()
            .map(|(chain, key)| Identity { chain, key });
        let http = match ca {
            Some(pem) => http::PooledHttpClient::new(TrustAnchors::Authorities(pem), identity)?,
            // An image without system roots can still speak plain HTTP.
            None if uri.scheme_str() == Some("http") => http::PooledHttpClient::plain(),
            None => http::PooledHttpClient::new(TrustAnchors::System, identity)?,
        };
        *built = Some(CachedHttpClient {
            files,
            http: http.clone(),
        });
        Ok(http)
    }
}

impl Authorization {
    async fn header(&self) -> Result<Option<HeaderValue>, MetricsError> {
        let (text, path) = match self {
            Self::None => return Ok(None),
            Self::Bearer(path) => (format!("Bearer {}", secret(path).await?), path),
            Self::Basic {
                username,
                password_file,
            } => {
                let password = secret(password_file).await?;
                let pair = STANDARD.encode(format!("{username}:{password}"));
                (format!("Basic {pair}"), password_file)
            }
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| refused(path, "characters that no HTTP header can hold"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

/// The text of a file that holds one secret.
async fn secret(path: &Path) -> Result<String, MetricsError> {
    let text = String::from_utf8(read(path).await?).map_err(|_| refused(path, "not text"))?;
    match text.trim() {
        "" => Err(refused(path, "empty")),
        secret => Ok(secret.to_owned()),
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, MetricsError> {
    let read = tokio::fs::read(path).await;
    read.map_err(|error| refused(path, &error.to_string()))
}

fn refused(path: &Path, cause: &str) -> MetricsError {
    MetricsError::Credentials {
        path: path.to_owned(),
        cause: cause.to_owned(),
    }
}
