//! `certs rotate`: asks the signer for new keys, and tells what to do while both are trusted.
//!
//! Only annotations of the signer's Secret are read and written: no key comes here.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde::Serialize;
use serde_json::json;

use crate::cli::connect::Cluster;
use crate::cli::output::{self, Failure, Format, Report, Style};
use evenkeel_kubernetes::plan::key_rotation::{KeyRotation, REQUEST, ROTATION, Request};

/// Time in which the signer takes a request up: it looks every five seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks whether it has.
const LOOK: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Examples:
  evenkeel certs rotate                    new keys; the old ones leave in a day
  evenkeel certs rotate --overlap 15m      sooner, where keys have leaked
  evenkeel certs rotate --finish           once kube-scheduler has its new file

New authorities are made for both directions and published beside the old ones. In the middle of the
overlap the serving certificate is issued anew, by the new authority and with a new key; at its end
the old authorities leave. Print kube-scheduler's file anew before the middle (`certs
scheduler-config`): until it has the new one, kube-scheduler goes on without Evenkeel.";

/// Replace the keys of all authorities and certificates, with an overlap
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Time in which old and new authorities are trusted side by side: 5m to 4368h
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    overlap: SignedDuration,

    /// End the rotation that goes on as soon as replicas and API servers have followed
    #[arg(long, conflicts_with = "overlap")]
    finish: bool,

    #[command(flatten)]
    cluster: Cluster,

    /// The signer's Secret
    #[arg(long, value_name = "NAME", default_value = "evenkeel-certificates")]
    secret: String,

    /// Format of the answer
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// The state of the rotation after the request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// The rotation that goes on; `None` where the old keys have left.
    rotation: Option<Rotation>,
    #[serde(skip)]
    begins: bool,
}

/// The moments of a rotation.
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

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let Args {
        overlap,
        finish,
        cluster,
        secret,
        output,
    } = args;
    let request = if finish {
        Request::Finish
    } else {
        Request::begin(overlap).map_err(|error| {
            Failure::call(format_args!(
                "--overlap {overlap:#} is not accepted: {}",
                error.accepted
            ))
        })?
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let asked = runtime.block_on(async {
        let client = cluster.connect().await?;
        ask(client, &cluster.namespace, &secret, request).await
    });
    let answer = asked.map_err(|error| {
        let place = format!("Secret {}/{secret}", cluster.namespace);
        Failure::Work(error.context(place))
    })?;
    output::print(&answer, output)
}

/// Puts the request on the Secret and waits until the signer has taken it up.
async fn ask(
    client: Client,
    namespace: &str,
    name: &str,
    request: Request,
) -> anyhow::Result<Answer> {
    let api: Api<Secret> = Api::namespaced(client, namespace);
    let before = annotations(&api, name).await?;
    if request == Request::Finish && !before.contains_key(ROTATION) {
        anyhow::bail!("no rotation goes on that could be finished");
    }
    let patch = json!({"metadata": {"annotations": {REQUEST: request.to_string()}}});
    let patch = Patch::Merge(&patch);
    api.patch_metadata(name, &PatchParams::default(), &patch)
        .await
        .context("the request cannot be written")?;
    let taken_up = async {
        loop {
            let now = annotations(&api, name).await?;
            if !now.contains_key(REQUEST) {
                return anyhow::Ok(now);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let after = tokio::time::timeout(PATIENCE, taken_up)
        .await
        .with_context(|| {
            format!(
                "the signer has not taken the request up within {PATIENCE:?}; it does as soon as \
                 it runs: kubectl -n {namespace} logs deployment/evenkeel-signer"
            )
        })??;
    let rotation: Option<KeyRotation> = after.get(ROTATION).map(|text| text.parse()).transpose()?;
    Ok(Answer {
        rotation: rotation.map(|rotation| Rotation {
            began: rotation.began,
            signs_from: rotation.signs_from(),
            old_leave: rotation.ends,
        }),
        begins: request != Request::Finish,
    })
}

/// The annotations of the Secret; its data stays where it is.
async fn annotations(api: &Api<Secret>, name: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let metadata = api.get_metadata(name).await.context("it cannot be read")?;
    Ok(metadata.metadata.annotations.unwrap_or_default())
}

impl Report for Answer {
    fn print(&self, to: &mut dyn Write, _: Style) -> io::Result<()> {
        let Self { rotation, begins } = self;
        let Some(Rotation {
            began,
            signs_from,
            old_leave,
        }) = rotation
        else {
            return writeln!(to, "The old keys have left.");
        };
        writeln!(
            to,
            "{began}  new authorities are published beside the old ones\n\
             {signs_from}  the serving certificate is issued anew by the new one\n\
             {old_leave}  the old authorities leave, once the new certificate is served"
        )?;
        if *begins {
            writeln!(
                to,
                "\nBefore the second moment give every kube-scheduler its new file:\n  \
                 evenkeel certs scheduler-config > evenkeel-scheduler.yaml\n\
                 and a second scheduler its new Secret:\n  \
                 evenkeel certs scheduler-client | kubectl apply -f -\n\
                 Then the rest need not be waited for:\n  \
                 evenkeel certs rotate --finish"
            )?;
        }
        Ok(())
    }
}
