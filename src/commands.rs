//! The command line: a file per subcommand, and here what they share. Each subcommand turns its
//! arguments into a report, printed as a table or as JSON or YAML. The exit code is 0 for success,
//! 1 for failure, and 2 for a wrong call, input file or configuration.

mod agent;
mod ahp;
mod certs;
mod classify;
mod completion;
mod crds;
mod cron;
mod doctor;
mod explain;
mod install;
mod jobs;
mod migrate;
mod score;
mod serve;
mod tune;
mod uninstall;
mod upgrade;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use evenkeel_terminal::output::CliFailure;

const AFTER_HELP: &str = "Exit codes: 0 success; 1 failure, or a check found something; 2 the command line, an input file or
the configuration is wrong. -o sets the output format: table, json or yaml. Commands that write a
file also accept its name there. Tables have no colour if the output is not a terminal or NO_COLOR
is set.";

/// Keeps Kubernetes clusters on an even keel: classifies Pods at admission, places them by the real
/// load of five resources, and scales workloads ahead of their load.
#[derive(Debug, Parser)]
#[command(
    name = "evenkeel",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = AFTER_HELP
)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Serve(Box<serve::Args>),
    Agent(Box<agent::Args>),
    Jobs(Box<jobs::Args>),
    #[cfg(feature = "lab")]
    Dev(Box<evenkeel_lab::dev::Args>),
    Classify(classify::Args),
    Score(score::Args),
    Ahp(ahp::Args),
    Certs(certs::Args),
    Cron(cron::Args),
    Install(install::Args),
    Upgrade(upgrade::Args),
    Crds(crds::Args),
    Migrate(migrate::Args),
    #[cfg(feature = "lab")]
    Bench(evenkeel_lab::bench::Args),
    Doctor(doctor::Args),
    Explain(explain::Args),
    #[cfg(feature = "lab")]
    Assess(Box<evenkeel_lab::assess::Args>),
    #[cfg(feature = "lab")]
    Record(Box<evenkeel_lab::record::Args>),
    #[cfg(feature = "lab")]
    Forecast(evenkeel_lab::forecast::Args),
    #[cfg(feature = "lab")]
    Train(evenkeel_lab::forecast::train::Args),
    #[cfg(feature = "lab")]
    Simulate(Box<evenkeel_lab::simulate::Args>),
    Tune(Box<tune::Args>),
    Uninstall(uninstall::Args),
    Completion(completion::Args),
}

/// Runs the program with `arguments`, of which the first is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = evenkeel_terminal::help::flowing(Cli::command()).try_get_matches_from(arguments);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        // A closed pipe is no failure: `head`, for example, closes it after its lines.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is closed, the error cannot be reported anywhere.
            let _ = writeln!(std::io::stderr(), "evenkeel: {failure}");
            failure.exit_code()
        }
    }
}

fn run(command: CliCommand) -> Result<(), CliFailure> {
    match command {
        CliCommand::Serve(args) => serve::run(*args),
        CliCommand::Agent(args) => agent::run(*args),
        CliCommand::Jobs(args) => jobs::run(*args),
        #[cfg(feature = "lab")]
        CliCommand::Dev(args) => evenkeel_lab::dev::run(&args),
        CliCommand::Classify(args) => classify::run(args),
        CliCommand::Score(args) => score::run(args),
        CliCommand::Ahp(args) => ahp::run(args),
        CliCommand::Certs(args) => certs::run(args),
        CliCommand::Cron(args) => cron::run(args),
        CliCommand::Install(args) => install::run(&args),
        CliCommand::Upgrade(args) => upgrade::run(&args),
        CliCommand::Crds(args) => crds::run(&args),
        CliCommand::Migrate(args) => migrate::run(&args),
        #[cfg(feature = "lab")]
        CliCommand::Bench(args) => evenkeel_lab::bench::run(args),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Explain(args) => explain::run(&args),
        #[cfg(feature = "lab")]
        CliCommand::Assess(args) => evenkeel_lab::assess::run(&args),
        #[cfg(feature = "lab")]
        CliCommand::Record(args) => evenkeel_lab::record::run(&args),
        #[cfg(feature = "lab")]
        CliCommand::Forecast(args) => evenkeel_lab::forecast::run(&args),
        #[cfg(feature = "lab")]
        CliCommand::Train(args) => evenkeel_lab::forecast::train::run(&args),
        #[cfg(feature = "lab")]
        CliCommand::Simulate(args) => evenkeel_lab::simulate::run(*args),
        CliCommand::Tune(args) => tune::run(*args),
        CliCommand::Uninstall(args) => uninstall::run(&args),
        CliCommand::Completion(args) => completion::run(&args, &mut Cli::command()),
    }
}

/// Prints help, the version, or what is wrong with the call.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print();
    if error.use_stderr() || printed.is_err() {
        ExitCode::from(CliFailure::WRONG_CALL)
    } else {
        ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// A line broken in the code is shorter than the terminal, and the next word would fit.
    #[test]
    fn help_is_broken_once() {
        fn check(command: &mut clap::Command) {
            let width = 70;
            let help = command.clone().term_width(width).render_long_help();
            let help = help.to_string();
            let after = command.get_after_long_help().or(command.get_after_help());
            let after = after.map(ToString::to_string);
            let first = after.as_deref().and_then(|text| text.lines().next());
            let below = first
                .and_then(|first| help.find(first))
                .unwrap_or(help.len());
            let lines: Vec<&str> = help[below..].lines().collect();
            let prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            for pair in lines
                .windows(2)
                .filter(|pair| pair.iter().all(|line| prose(line)))
            {
                let next = pair[1].split(' ').next().unwrap_or_default();
                let whole = pair[0].len() + 1 + next.len() > width;
                assert!(whole, "{}: {pair:?}", command.get_name());
            }
            command.get_subcommands_mut().for_each(check);
        }
        check(&mut evenkeel_terminal::help::flowing(Cli::command()));
    }

    #[test]
    fn every_subcommand_shows_an_example() {
        for command in Cli::command().get_subcommands() {
            let help = command.clone().render_long_help().to_string();
            let name = command.get_name();
            assert!(help.contains(&format!("evenkeel {name}")), "{name}: {help}");
            assert!(help.contains("Examples:"), "{name}: {help}");
        }
    }
}
