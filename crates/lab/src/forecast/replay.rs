//! `evenkeel forecast replay`: the cost of floors at several risks on the last days of loads,
//! beside the plain HPA with lower targets, which also buys safety with replicas, and seasonal rules.

mod args;
pub(crate) mod own_models;
pub(crate) mod picture;
pub(crate) mod replay_series;
pub(crate) mod report;
mod table;

use std::sync::{Arc, Mutex};

pub(super) use self::args::Args;
use evenkeel_forecast::{GlobalPeaks, Minutes};
use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_sandbox::target_replay;
use evenkeel_sandbox::target_replay::{
    DailyFit, FitFunctions, Knowledge, ReplayOutcome, ReplayPolicy,
};
use evenkeel_scaling::counterfactual::TrialPods;
use evenkeel_units::count_as_f64;

use self::own_models::fit_model;
use self::replay_series::Entrant;
use self::report::Replay;
use super::flag_values::ForecastOutput;
use super::interrupt::Interrupt;
use super::progress::Bar;
use super::{output_file, weights};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let entrants = args.files.iter().map(|path| Entrant::read(path, args));
    let entrants: Vec<Entrant> = entrants.collect::<Result<_, _>>()?;
    let weights = args.weights.as_deref().map(weights::read).transpose()?;
    for wanted in &args.output {
        if let ForecastOutput::Svg(path) = wanted {
            output_file::check(path)?;
        }
    }
    let weights = weights.unwrap_or_else(GlobalPeaks::shipped);
    let replayed = replay(args, &entrants, &weights, &Interrupt::listen()?);
    let mut each = entrants.iter().zip(&replayed);
    let partial = each.any(|(entrant, done)| done.len() < policies(entrant, args).len());
    let replay = Replay::of(&entrants, replayed, args.points, partial);
    for wanted in &args.output {
        match wanted {
            ForecastOutput::Numbers(format) => output::print(&replay, *format)?,
            ForecastOutput::Svg(path) => {
                let svg = picture::svg(&replay, &args.time_zone);
                output_file::write(path, &svg)?;
            }
        }
    }
    if partial {
        return Err(CliFailure::work(
            "interrupted: the result above is partial, and means cover the finished part",
        ));
    }
    Ok(())
}

/// The policies to replay for a series: the plain HPA at several targets, floors at several risks, and the
/// seasonal rules whose season its past has.
fn policies(entrant: &Entrant, args: &Args) -> Vec<ReplayPolicy> {
    let mut all = ReplayPolicy::frontier(&entrant.target, args.floors());
    all.extend(ReplayPolicy::rules(entrant.load.past_length()));
    all
}

/// The policies of each series with their outcomes, on all cores; after an interruption, those
/// before the first unfinished one.
fn replay(
    args: &Args,
    entrants: &[Entrant],
    global: &Arc<GlobalPeaks>,
    interrupt: &Interrupt,
) -> Vec<Vec<(ReplayPolicy, ReplayOutcome)>> {
    let jobs = entrants.iter().flat_map(|entrant| {
        let policies = policies(entrant, args);
        policies.into_iter().map(move |policy| (entrant, policy))
    });
    let jobs: Vec<(&Entrant, ReplayPolicy)> = jobs.collect();
    let bar = Mutex::new(Bar::new(true));
    let all = count_as_f64(jobs.len());
    let told = |done: usize| {
        // A bar that panicked is shown no more.
        if let Ok(mut bar) = bar.lock() {
            bar.tell(count_as_f64(done) / all, "");
        }
    };
    let work = |(entrant, policy): &(&Entrant, ReplayPolicy)| {
        if interrupt.is_pressed() {
            return None;
        }
        let learn = |past: &Minutes, window, pods: &TrialPods| {
            entrant.own.learnt(global, past, window, pods)
        };
        let knowledge = Knowledge {
            global: Arc::clone(global),
            own: (!args.without_own).then_some(DailyFit {
                hour: entrant.fit_hour,
                fits: FitFunctions {
                    trees: &learn,
                    model: &fit_model,
                },
            }),
        };
        Some(target_replay::replay(
            &entrant.target,
            *policy,
            &entrant.load,
            &knowledge,
            args.points,
        ))
    };
    let outcomes = in_parallel(cores(), &jobs, work, told).into_iter();
    let mut outcomes = outcomes.map_while(|outcome| outcome).fuse();
    if let Ok(mut bar) = bar.lock() {
        bar.finish();
    }
    let of = |entrant: &Entrant| {
        let policies = policies(entrant, args);
        policies.into_iter().zip(outcomes.by_ref()).collect()
    };
    entrants.iter().map(of).collect()
}
