//! `certs generate`: a bundle in files, for `certificates.mode: files` and for trying things out.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use evenkeel_clock as clock;
use jiff::SignedDuration;

use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  evenkeel certs generate --dir ./certificates
  evenkeel certs generate --dir ./certificates --ip 127.0.0.1 --dns localhost --valid-for 48h

Writes ca.crt, ca.key, tls.crt, tls.key, scheduler-ca.crt and scheduler-ca.key. Only their owner
can read keys. Existing files are not overwritten.";

/// Create authorities and a serving certificate as files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The directory to write the files to
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    /// Services whose names the certificate carries
    #[arg(
        long = "service",
        value_name = "NAME",
        default_values = ["evenkeel", "evenkeel-extender"]
    )]
    services: Vec<String>,

    /// The namespace of the Services
    #[arg(long, short, value_name = "NAME", default_value = "evenkeel-system")]
    namespace: String,

    /// Additional DNS names; may be repeated
    #[arg(long = "dns", value_name = "NAME")]
    dns_names: Vec<String>,

    /// Addresses, such as the ClusterIP of evenkeel-extender; may be repeated
    #[arg(long = "ip", value_name = "ADDRESS")]
    ip_addresses: Vec<IpAddr>,

    /// Validity of the serving certificate; the authorities are valid for ten years
    #[arg(long, value_name = "DURATION", default_value = "720h")]
    valid_for: SignedDuration,
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    let mut names = Names::new(args.dns_names, args.ip_addresses).map_err(CliFailure::call)?;
    for service in &args.services {
        names = names
            .with_service(service, &args.namespace)
            .map_err(CliFailure::call)?;
    }
    let (dir, valid_for) = (args.dir, args.valid_for);
    let authority = Validity::default().authority();
    let validity = Validity::new(authority, valid_for, valid_for / 3)
        .map_err(|error| CliFailure::call(format_args!("--valid-for {valid_for:#}: {error}")))?;
    let bundle = Bundle::generate(clock::now(), &names, &validity).map_err(CliFailure::work)?;
    let files = bundle.encode();
    if let Some(existing) = files
        .keys()
        .map(|file| dir.join(file))
        .find(|path| path.exists())
    {
        return Err(CliFailure::call(format_args!(
            "{} already exists; accepted: a directory without it",
            existing.display()
        )));
    }
    fs::create_dir_all(&dir)
        .with_context(|| format!("cannot make {}", dir.display()))
        .map_err(CliFailure::Work)?;
    for (file, content) in files {
        write(&dir.join(file), &content).map_err(CliFailure::Work)?;
    }
    let mut out = std::io::stdout().lock();
    Ok(writeln!(out, "{}", dir.display())?)
}

/// Writes a new file; a key is never readable for others, not even for a moment.
fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let is_key = path.extension().is_some_and(|extension| extension == "key");
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(if is_key { 0o600 } else { 0o644 })
        .open(path)
        .and_then(|mut file| file.write_all(content))
        .with_context(|| format!("cannot write {}", path.display()))
}
