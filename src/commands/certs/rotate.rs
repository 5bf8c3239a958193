//! `certs rotate`: asks the signer for new keys, and tells what to do while both are trusted. Only
//! annotations of the signer's Secret are read and written: no key comes here.

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::time::Duration;

use evenkeel_certificates::key_rotation::{KeyRotation, KeyRotationRequest, REQUEST, ROTATION};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde::Serialize;
use serde_json::json;

use super::certificate_source::no_signer;
use evenkeel_terminal::cluster_args::ClusterArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style};
use evenkeel_terminal::runtime::runtime;

/// Time in which the signer takes a request up: it looks every five seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pause between two looks whether it has.
const LOOK: Duration = Duration::from_millis(500);

/// The argument with which the operator confirms that no kube-scheduler depends on the old keys.
const REPLACED: &str = "--scheduler-has-new-file";

/// Prints kube-scheduler's file, which holds a private key.
const PRINT: &str = "(umask 077; evenkeel certs scheduler-config > evenkeel-scheduler.yaml)";

const EXAMPLES: &str = "\
Examples:
  evenkeel certs rotate                  # new keys; the old ones are removed after a day
  evenkeel certs rotate --overlap 5m     # the shortest overlap, if keys have leaked
  evenkeel certs rotate --finish --scheduler-has-new-file

The signer creates new authorities for both directions and publishes them in addition to the old
ones. In the middle of the overlap, the new authority issues a new serving certificate with a new
key. At the end, the old authorities are removed. Print a new file for kube-scheduler before the
middle (`certs scheduler-config`): from then on, a kube-scheduler with its old file works without
Evenkeel.

--finish brings both times forward, as far as replicas and API servers can follow: two minutes for
each. It cuts off a kube-scheduler with its old file, so you must confirm that every one has the
new file. A second rotation is refused while one is in progress, because it would delay the end.";

/// Replace the keys of all authorities and certificates, with an overlap
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// How long both old and new authorities are trusted: 5m to 4368h
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    overlap: SignedDuration,

    /// End the current rotation as soon as replicas and API servers have followed
    #[arg(long, conflicts_with = "overlap")]
    finish: bool,

    /// Confirm that every kube-scheduler was started with a file printed since the rotation began
    #[arg(long, requires = "finish")]
    scheduler_has_new_file: bool,

    #[command(flatten)]
    cluster: ClusterArgs,

    /// The signer's Secret
    #[arg(long, value_name = "NAME", default_value = "evenkeel-certificates")]
    secret: String,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RotationReport {
    /// The rotation that goes on; `None` where the old keys have left.
    rotation: Option<Rotation>,
    #[serde(skip)]
    begins: bool,
    #[serde(skip)]
    namespace: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rotation {
    /// The moment from which both generations are trusted.
    began: Timestamp,
    /// The moment from which the new authority signs.
    signs_from: Timestamp,
    /// The moment from which the old authorities leave.
    old_leave: Timestamp,
}

impl From<KeyRotation> for Rotation {
    fn from(rotation: KeyRotation) -> Self {
        let KeyRotation { began, signs, ends } = rotation;
        Self {
            began,
            signs_from: signs,
            old_leave: ends,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let request = if args.finish {
        KeyRotationRequest::Finish
    } else {
        KeyRotationRequest::begin(args.overlap).map_err(|error| {
            CliFailure::call(format_args!(
                "--overlap {:#} is not accepted; accepted: {}",
                args.overlap, error.accepted
            ))
        })?
    };
    let answer = runtime()?.block_on(async {
        let client = args.cluster.connect().await.map_err(CliFailure::Call)?;
        let place = SignerSecretRef {
            api: Api::namespaced(client, &args.cluster.namespace),
            namespace: &args.cluster.namespace,
            name: &args.secret,
        };
        let before = place.annotations().await?;
        admit(request, args.scheduler_has_new_file, &before)?;
        place.ask(request).await
    })?;
    output::print(&answer, args.output)
}

/// Refuses what the state of the Secret does not allow.
fn admit(
    request: KeyRotationRequest,
    scheduler_has_new_file: bool,
    before: &SignerAnnotations,
) -> Result<(), CliFailure> {
    let going_on = before.get(ROTATION);
    match (request, going_on) {
        (KeyRotationRequest::Finish, None) => Err(CliFailure::work(
            "no rotation is in progress that could be finished",
        )),
        (KeyRotationRequest::Finish, Some(_)) if !scheduler_has_new_file => {
            Err(CliFailure::call(format_args!(
                "--finish removes the old authorities, and a kube-scheduler with its old file works \
                 without Evenkeel from then on; first give every kube-scheduler its new \
                 file:\n  {PRINT}\n\
                 and then confirm it:\n  evenkeel certs rotate --finish {REPLACED}"
            )))
        }
        (KeyRotationRequest::Begin { .. }, Some(text)) => {
            let until = text.parse().map_or_else(
                |_| String::new(),
                |KeyRotation { began, ends, .. }| {
                    format!(" since {began}, and its old authorities are removed at {ends}")
                },
            );
            Err(CliFailure::work(format_args!(
                "a rotation is in progress{until}; another one would delay that. Finish it \
                 first:\n  evenkeel certs rotate --finish {REPLACED}"
            )))
        }
        (KeyRotationRequest::Begin { .. }, None) | (KeyRotationRequest::Finish, Some(_)) => Ok(()),
    }
}

type SignerAnnotations = BTreeMap<String, String>;

/// The signer's Secret, of which only the annotations are read and written.
struct SignerSecretRef<'a> {
    api: Api<Secret>,
    namespace: &'a str,
    name: &'a str,
}

impl SignerSecretRef<'_> {
    /// Puts the request on the Secret and waits until the signer has taken it up.
    async fn ask(&self, request: KeyRotationRequest) -> Result<RotationReport, CliFailure> {
        let patch = json!({"metadata": {"annotations": {REQUEST: request.to_string()}}});
        let patch = Patch::Merge(&patch);
        let params = PatchParams::default();
        let written = self.api.patch_metadata(self.name, &params, &patch).await;
        written.map_err(|error| self.failure("the request cannot be written", error))?;
        let taken_up = async {
            loop {
                let now = self.annotations().await?;
                if !now.contains_key(REQUEST) {
                    return Ok(now);
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let after = tokio::time::timeout(PATIENCE, taken_up)
            .await
            .unwrap_or_else(|_| {
                Err(CliFailure::work(format_args!(
                    "the signer has not started the rotation within {PATIENCE:?}; it starts as \
                     soon as the signer runs: kubectl -n {} logs deployment/evenkeel-signer",
                    self.namespace
                )))
            })?;
        let rotation: Option<KeyRotation> = after
            .get(ROTATION)
            .map(|text| text.parse())
            .transpose()
            .map_err(CliFailure::work)?;
        Ok(RotationReport {
            rotation: rotation.map(Rotation::from),
            begins: request != KeyRotationRequest::Finish,
            namespace: self.namespace.to_owned(),
        })
    }

    async fn annotations(&self) -> Result<SignerAnnotations, CliFailure> {
        let metadata = self.api.get_metadata(self.name).await;
        let metadata = metadata.map_err(|error| self.failure("it cannot be read", error))?;
        Ok(metadata.metadata.annotations.unwrap_or_default())
    }

    fn failure(&self, what: &'static str, error: kube::Error) -> CliFailure {
        let Self {
            api: _,
            namespace,
            name,
        } = self;
        let absent = matches!(&error, kube::Error::Api(status) if status.code == 404);
        if absent {
            return no_signer(namespace, name);
        }
        let error = anyhow::Error::new(error).context(what);
        CliFailure::Work(error.context(format!("Secret {namespace}/{name}")))
    }
}

impl Report for RotationReport {
    fn print(&self, to: &mut dyn Write, _: Style) -> io::Result<()> {
        let Self {
            rotation,
            begins,
            namespace,
        } = self;
        let Some(Rotation {
            began,
            signs_from,
            old_leave,
        }) = rotation
        else {
            return writeln!(to, "The old keys are removed.");
        };
        writeln!(
            to,
            "{began}  new authorities are published in addition to the old ones\n\
             {signs_from}  the new authority issues a new serving certificate\n\
             {old_leave}  the old authorities are removed, once the new certificate is served"
        )?;
        if *begins {
            writeln!(
                to,
                "\n\
                 Before the second time, replace what names the old authority:\n\
                 - the file of every kube-scheduler, which reads it at its start:\n    {PRINT}\n\
                 - the Secret of a second scheduler, which reads it at its start:\n    evenkeel \
                 certs scheduler-client | kubectl apply -f -\n    kubectl -n {namespace} rollout \
                 restart deployment/evenkeel-scheduler\n\
                 - the ca_file of a Prometheus that has its own copy:\n    kubectl -n {namespace} \
                 get secret evenkeel-serving-certificate -o jsonpath='{{.data.ca\\.crt}}' | base64 \
                 -d\n\
                 Then you can finish the rotation at once:\n  evenkeel certs rotate --finish \
                 {REPLACED}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotating() -> SignerAnnotations {
        let text = "2026-03-01T12:00:00Z/2026-03-02T00:00:00Z/2026-03-02T12:00:00Z";
        [(ROTATION.to_owned(), text.to_owned())].into()
    }

    fn refusal(request: &str, replaced: bool, before: &SignerAnnotations) -> Option<String> {
        let admitted = admit(request.parse().unwrap(), replaced, before);
        admitted.err().map(|failure| failure.to_string())
    }

    #[test]
    fn nothing_is_finished_that_the_scheduler_is_not_ready_for() {
        let refused = refusal("finish", false, &rotating()).unwrap();
        for part in ["scheduler-config", REPLACED] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert_eq!(refusal("finish", true, &rotating()), None);
        let none = refusal("finish", true, &SignerAnnotations::new()).unwrap();
        assert!(none.contains("no rotation is in progress"), "{none}");
    }

    #[test]
    fn a_rotation_is_not_begun_amid_another() {
        let refused = refusal("24h", false, &rotating()).unwrap();
        for part in ["2026-03-02T12:00:00Z", "--finish"] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert_eq!(refusal("24h", false, &SignerAnnotations::new()), None);
        let torn = [(ROTATION.to_owned(), "?".to_owned())].into();
        assert!(refusal("24h", false, &torn).is_some());
    }

    #[test]
    fn what_names_the_old_authority_is_told_before_it_goes() {
        let rotation: KeyRotation = rotating()[ROTATION].parse().unwrap();
        let told = |begins| {
            let answer = RotationReport {
                rotation: Some(rotation.into()),
                begins,
                namespace: "keel".to_owned(),
            };
            let mut text = Vec::new();
            answer.print(&mut text, Style::Plain).unwrap();
            String::from_utf8(text).unwrap()
        };
        let begun = told(true);
        for part in [
            "scheduler-config",
            "scheduler-client",
            "ca_file",
            "-n keel",
            REPLACED,
        ] {
            assert!(begun.contains(part), "{part}: {begun}");
        }
        assert!(told(false).contains("2026-03-02T12:00:00Z  the old authorities are removed"));
    }
}
