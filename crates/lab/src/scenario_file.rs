//! A scenario from the file that a flag names, with the files that it names itself.

use std::path::Path;

use evenkeel_sandbox::scenario::Scenario;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

/// Reads a scenario; without a file it is the one that the program brings.
pub(crate) fn read(file: Option<&Path>) -> Result<Scenario, CliFailure> {
    let Some(path) = file else {
        return Ok(Scenario::mixed());
    };
    let text = output::read_input(path)?;
    // Standard input stands in the folder that the program runs in.
    let folder = path.parent().unwrap_or(Path::new(""));
    let traces = |named: &Path| {
        let text = std::fs::read_to_string(folder.join(named));
        text.map_err(|error| error.to_string())
    };
    Scenario::read(&text, &traces)
        .map_err(|error| CliFailure::call(format_args!("{}: {error}", path.display())))
}
