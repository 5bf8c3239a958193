//! `certs show`: subject, issuer, names and validity of certificates in a file, directory or
//! cluster.

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use comfy_table::Cell;
use evenkeel_certificates::files::{AUTHORITIES, SCHEDULER_AUTHORITIES, SERVER_CERTIFICATE};
use evenkeel_clock as clock;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::certificate_source::CertificateSourceArgs;
use evenkeel_service::config::yaml;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};

const EXAMPLES: &str = "\
Examples:
  evenkeel certs show                       # the cluster's Secret
  evenkeel certs show --dir ./certificates
  evenkeel certs show -f tls.crt -o json
  evenkeel certs show -f /etc/kubernetes/evenkeel-scheduler.yaml

A file is PEM, or YAML with PEM in base64 anywhere in it: a Secret, a kubeconfig, kube-scheduler's
configuration file. Keys are not shown. The exit code is 1 if one of the certificates is not valid
now.";

/// Show subject, names and validity of certificates
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A file with certificates; `-` reads standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "dir")]
    file: Option<PathBuf>,

    #[command(flatten)]
    access: CertificateSourceArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
struct CertificateList {
    certificates: Vec<Certificate>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Certificate {
    found_in: String,
    subject: String,
    issuer: String,
    is_authority: bool,
    names: Vec<String>,
    not_before: Timestamp,
    not_after: Timestamp,
    valid: bool,
    sha256: String,
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    let now = clock::now();
    let certificates = match args.file {
        Some(file) => from_file(&file, now)?,
        None => from_bundle(&args.access, now)?,
    };
    let invalid: Vec<&str> = certificates
        .iter()
        .filter(|certificate| !certificate.valid)
        .map(|certificate| &*certificate.found_in)
        .collect();
    let failure = (!invalid.is_empty())
        .then(|| CliFailure::work(format_args!("not valid now: {}", invalid.join(", "))));
    output::print(&CertificateList { certificates }, args.output)?;
    failure.map_or(Ok(()), Err)
}

fn from_bundle(
    access: &CertificateSourceArgs,
    now: Timestamp,
) -> Result<Vec<Certificate>, CliFailure> {
    let bundle = access.bundle()?;
    let mut found = Vec::new();
    for (file, pem) in [
        (AUTHORITIES, bundle.ca_bundle()),
        (SERVER_CERTIFICATE, bundle.server_certificate()),
        (SCHEDULER_AUTHORITIES, bundle.scheduler_ca_bundle()),
    ] {
        found.extend(read_pem(file, pem.as_bytes(), now).map_err(CliFailure::work)?);
    }
    Ok(found)
}

fn from_file(path: &Path, now: Timestamp) -> Result<Vec<Certificate>, CliFailure> {
    let text = output::read_input(path)?;
    let name = path.display();
    let found = if text.contains("-----BEGIN ") && yaml::parse::<Value>(&text).is_err() {
        read_pem(&name.to_string(), text.as_bytes(), now)
    } else {
        yaml::parse_documents(&text)
            .map_err(|error| format!("is neither PEM nor YAML: {error}"))
            .and_then(|documents| {
                let mut found = Vec::new();
                for document in &documents {
                    search(document, "", now, &mut found)?;
                }
                Ok(found)
            })
    };
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(CliFailure::call(format_args!(
            "{name}: holds no certificate"
        ))),
        Err(error) => Err(CliFailure::call(format_args!("{name}: {error}"))),
    }
}

/// Looks through YAML for PEM, plain or in base64.
fn search(
    value: &Value,
    path: &str,
    now: Timestamp,
    found: &mut Vec<Certificate>,
) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                search(field, &path, now, found)?;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                search(item, &format!("{path}[{index}]"), now, found)?;
            }
        }
        Value::String(text) => {
            let decoded = STANDARD.decode(text.trim()).unwrap_or_default();
            let pem = if decoded.is_empty() {
                text.as_bytes()
            } else {
                &decoded
            };
            found.extend(read_pem(path, pem, now)?);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn read_pem(found_in: &str, pem: &[u8], now: Timestamp) -> Result<Vec<Certificate>, String> {
    CertificateDer::pem_slice_iter(pem)
        .map(|certificate| {
            let certificate = certificate.map_err(|error| format!("{found_in}: {error}"))?;
            Certificate::read(found_in, &certificate, now)
                .map_err(|error| format!("{found_in}: {error}"))
        })
        .collect()
}

impl Certificate {
    fn read(found_in: &str, der: &CertificateDer<'_>, now: Timestamp) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let moment = |seconds| Timestamp::from_second(seconds).map_err(|error| error.to_string());
        let validity = certificate.validity();
        let (not_before, not_after) = (
            moment(validity.not_before.timestamp())?,
            moment(validity.not_after.timestamp())?,
        );
        let alternatives = certificate
            .subject_alternative_name()
            .map_err(|error| error.to_string())?;
        let names = alternatives
            .iter()
            .flat_map(|all| &all.value.general_names)
            .filter_map(name);
        Ok(Self {
            found_in: found_in.to_owned(),
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            is_authority: certificate.is_ca(),
            names: names.collect(),
            not_before,
            not_after,
            valid: (not_before..not_after).contains(&now),
            sha256: hexadecimal(&Sha256::digest(der)),
        })
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match **bytes {
            [a, b, c, d] => Some(std::net::Ipv4Addr::new(a, b, c, d).to_string()),
            ref bytes => <[u8; 16]>::try_from(bytes)
                .ok()
                .map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
        },
        _ => None,
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Report for CertificateList {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let header = ["Found in", "Subject", "Issuer", "Ends", "Valid"];
        let mut table = style.table(header.map(Cell::new));
        for certificate in &self.certificates {
            let valid = if certificate.valid {
                style.good(Cell::new("yes"))
            } else {
                style.bad(Cell::new("no"))
            };
            let issuer = if certificate.issuer == certificate.subject {
                "itself"
            } else {
                &certificate.issuer
            };
            table.add_row([
                Cell::new(&certificate.found_in),
                Cell::new(&certificate.subject),
                Cell::new(issuer),
                Cell::new(certificate.not_after.strftime("%Y-%m-%d")),
                valid,
            ]);
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        for Certificate { subject, names, .. } in &self.certificates {
            if !names.is_empty() {
                writeln!(to, "{subject} is called\n  {}\n", names.join("\n  "))?;
            }
        }
        Ok(())
    }
}
