//! `evenkeel crds`: the definitions of Evenkeel's own kinds, as the manifests install them.

use std::io::Write as _;

use evenkeel_api::custom_resources::definitions;

use evenkeel_terminal::output::{CliFailure, yaml};

const EXAMPLES: &str = "\
Examples:
  evenkeel crds | kubectl apply -f -
  evenkeel crds > deploy/base/custom-resources.yaml

evenkeel install and kubectl apply -k deploy/ include them.";

/// The comment above the definitions.
const HEAD: &str = "\
# The custom resources of Evenkeel, as `evenkeel crds` prints them; a test compares the two.
";

/// Print the CustomResourceDefinitions of Evenkeel's own kinds as YAML
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<(), CliFailure> {
    let mut out = std::io::stdout().lock();
    write!(out, "{HEAD}")?;
    for definition in definitions() {
        write!(out, "---\n{}", yaml(&definition)?)?;
    }
    Ok(out.flush()?)
}
