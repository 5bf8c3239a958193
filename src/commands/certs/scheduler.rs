//! kube-scheduler's credentials for the extender: its configuration file filled in, or a Secret
//! with its client certificate alone.

use std::io::Write as _;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_certificates::authority::ClientCertificate;
use evenkeel_certificates::bundle::Bundle;
use evenkeel_clock as clock;
use jiff::SignedDuration;
use serde_json::json;

use super::certificate_source::CertificateSourceArgs;
use evenkeel_service::server::paths::EXTENDER_SERVICE;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

/// The shipped file, with placeholders that this command replaces.
const TEMPLATE: &str = include_str!("../../../webhook-config/scheduler-config.yaml");

/// The namespace that stands in the shipped file.
const NAMESPACE: &str = "evenkeel-system";

/// The Secret that the overlay with a second scheduler mounts.
const CLIENT_SECRET: &str = "evenkeel-scheduler-client";

const CONFIG_EXAMPLES: &str = "\
Examples:
  (umask 077; evenkeel certs scheduler-config > evenkeel-scheduler.yaml)
  evenkeel certs scheduler-config --kubeconfig ~/.kube/config --valid-for 2160h
  evenkeel certs scheduler-config --dir ./certificates --extender-ip 10.96.0.20

The file contains a private key: keep it readable for you and root only. Each call issues another
certificate.";

const CLIENT_EXAMPLES: &str = "\
Examples:
  evenkeel certs scheduler-client | kubectl apply -f -";

/// Print kube-scheduler's configuration file with the extender, its CA and a client certificate
#[derive(Debug, clap::Args)]
#[command(after_help = CONFIG_EXAMPLES)]
pub(super) struct ConfigArgs {
    /// The address of the extender; by default the ClusterIP of the Service evenkeel-extender
    #[arg(long, value_name = "ADDRESS")]
    extender_ip: Option<IpAddr>,

    #[command(flatten)]
    issue: IssueArgs,
}

/// Print a Secret with a client certificate, for a second scheduler in the cluster
#[derive(Debug, clap::Args)]
#[command(after_help = CLIENT_EXAMPLES)]
pub(super) struct ClientArgs {
    #[command(flatten)]
    issue: IssueArgs,
}

#[derive(Debug, clap::Args)]
struct IssueArgs {
    /// Validity of the client certificate
    #[arg(long, value_name = "DURATION", default_value = "8760h")]
    valid_for: SignedDuration,

    #[command(flatten)]
    access: CertificateSourceArgs,
}

impl IssueArgs {
    fn issue(&self) -> Result<(Bundle, ClientCertificate), CliFailure> {
        if !self.valid_for.is_positive() {
            return Err(CliFailure::call(format_args!(
                "--valid-for {:#} is not accepted; accepted: a duration above zero, such as 8760h",
                self.valid_for
            )));
        }
        let bundle = self.access.bundle()?;
        let client = bundle
            .issue_scheduler_client(clock::now(), self.valid_for)
            .map_err(CliFailure::work)?;
        Ok((bundle, client))
    }
}

pub(super) fn print_config(args: ConfigArgs) -> Result<(), CliFailure> {
    let ConfigArgs { extender_ip, issue } = args;
    let (bundle, client) = issue.issue()?;
    let address = match extender_ip {
        Some(address) => address.to_string(),
        None => issue.access.cluster_ip(EXTENDER_SERVICE)?,
    };
    let file = fill_in(
        &address,
        &issue.access.cluster.namespace,
        &bundle.ca_bundle(),
        &client,
    );
    Ok(std::io::stdout().lock().write_all(file.as_bytes())?)
}

pub(super) fn print_client(args: ClientArgs) -> Result<(), CliFailure> {
    let ClientArgs { issue } = args;
    let (_, ClientCertificate { certificate, key }) = issue.issue()?;
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": CLIENT_SECRET, "namespace": issue.access.cluster.namespace},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": certificate, "tls.key": key},
    });
    let yaml = output::yaml(&secret)?;
    Ok(std::io::stdout().lock().write_all(yaml.as_bytes())?)
}

/// The shipped file with its placeholders replaced, and without the remark on them at its head.
fn fill_in(
    address: &str,
    namespace: &str,
    authorities: &str,
    client: &ClientCertificate,
) -> String {
    let address = if address.contains(':') {
        format!("[{address}]")
    } else {
        address.to_owned()
    };
    let ClientCertificate { certificate, key } = client;
    let values = [
        ("EXTENDER_IP", address),
        ("CA_DATA", STANDARD.encode(authorities)),
        ("CERT_DATA", STANDARD.encode(certificate)),
        ("KEY_DATA", STANDARD.encode(key)),
        (NAMESPACE, namespace.to_owned()),
    ];
    let mut filled = String::from(
        "# Configuration file of kube-scheduler with Evenkeel as its extender, printed by\n\
         # `evenkeel certs scheduler-config`. It holds a private key: keep it readable for root only.\n",
    );
    for line in TEMPLATE.lines().skip_while(|line| line.starts_with('#')) {
        let mut line = line.to_owned();
        if !line.trim_start().starts_with('#') {
            for (placeholder, value) in &values {
                line = line.replace(placeholder, value);
            }
        }
        filled.push_str(&line);
        filled.push('\n');
    }
    filled
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_placeholder_is_filled_in_and_the_reasons_stay() {
        let client = ClientCertificate {
            certificate: "certificate".to_owned(),
            key: "key".to_owned(),
        };
        let filled = fill_in("fd00::20", "keel", "authorities", &client);
        let parsed: Value = evenkeel_service::config::yaml::parse(&filled).unwrap();
        let extender = &parsed["extenders"][0];
        assert_eq!(extender["urlPrefix"], "https://[fd00::20]/scheduler");
        let tls = &extender["tlsConfig"];
        assert_eq!(tls["serverName"], "evenkeel-extender.keel.svc");
        for (field, text) in [
            ("caData", "authorities"),
            ("certData", "certificate"),
            ("keyData", "key"),
        ] {
            assert_eq!(tls[field], STANDARD.encode(text), "{field}");
        }
        assert!(filled.contains("# "), "the reasons of the fields are kept");
        for placeholder in ["EXTENDER_IP", "_DATA"] {
            assert!(!filled.contains(placeholder), "{filled}");
        }
    }
}
