//! A target by portraits: the reaction and the forecast among the other providers, and the steps to their count.

use evenkeel_api::replica_counts::ReplicaCounts;

use super::*;
use crate::limits::LimitedBy;
use crate::merge::recommendation::{Ask, Recommendation, Unavailable};
use crate::recommend::merged_portraits::{
    CheckInput, MergedPortraits, PortraitInput, ProviderRef, StabilityCheck,
};
use crate::stability::{
    Action, CheckReading, CheckTransition as Judgement, Checker, ComparisonOperator, MetricBound,
};
use crate::staged_change::{
    ChangePhase, ScaleDownStages, ScaleDownTarget, ScaleDownWay, ScaleUpBehavior, StagedBehavior,
    StagedChange, StagedChangeEvent, StepPace, StepSize,
};

/// A target with portraits; its decision is in force at the next tick.
struct Staged {
    run: Run,
    given: Vec<Recommendation>,
    predictive: Option<ProviderRef>,
    behavior: StagedBehavior,
    change: Option<StagedChange>,
    holds: Vec<crate::stability::PausedChange>,
    checks: Vec<StabilityCheck>,
    resume: Option<Timestamp>,
    told: Option<i32>,
    rests_at_zero: bool,
}

fn says(name: &str, priority: i32, replicas: i32) -> Recommendation {
    let by = ProviderRef {
        by: name.into(),
        priority,
    };
    by.recommend((Ask::Exactly(replicas), None))
}

fn percent(percent: u8, interval: i64) -> StepPace {
    StepPace {
        size: StepSize::Percent(percent),
        interval: SignedDuration::from_secs(interval),
        observation: SignedDuration::ZERO,
    }
}

impl Staged {
    fn new(current: i32, given: &[Recommendation]) -> Self {
        let mut run = Run::new(None);
        run.current = current;
        run.policy = TargetPolicy {
            mode: ScalingMode::Direct,
            bounds: ReplicaBounds::new(0, 20).unwrap(),
            ..policy()
        };
        Self {
            run,
            given: given.to_vec(),
            predictive: None,
            behavior: StagedBehavior::default(),
            change: None,
            holds: Vec::new(),
            checks: Vec::new(),
            resume: None,
            told: None,
            rests_at_zero: false,
        }
    }

    fn tick(&mut self, tick: i64) -> TickReport {
        let report = self.only_tick(tick);
        let portrayed = report.portrayed.as_ref().unwrap();
        self.change = portrayed.staged.change;
        self.holds.clone_from(&portrayed.decided.holds);
        self.run.current = report.decision.replicas;
        self.told = Some(report.decision.replicas);
        report
    }

    fn only_tick(&mut self, tick: i64) -> TickReport {
        let portraits = PortraitInput {
            given: &self.given,
            reactive: None,
            predictive: self.predictive.as_ref(),
            behavior: &self.behavior,
            counts: ReplicaCounts::all_online(self.run.current),
            reached: None,
            change: self.change.as_ref(),
            checks: &self.checks,
            holds: &self.holds,
            resume: self.resume,
            told: self.told,
            generation: None,
            rests_at_zero: self.rests_at_zero,
        };
        let scaled = signals();
        let input = TickInput {
            now: time(tick),
            current: self.run.current,
            ready: self.run.current,
            reaction: Reaction::Nobody,
            models: self.run.models,
            signals: if self.predictive.is_some() {
                &scaled
            } else {
                &[]
            },
            traffic: None,
            recorded: None,
            portraits: Some(portraits),
            shared: &ModelAssets::default(),
        };
        self.run.tracker.tick(&self.run.policy, &input)
    }
}

fn portrayed(report: &TickReport) -> &MergedPortraits {
    report.portrayed.as_ref().unwrap()
}

#[test]
fn the_highest_priority_holds_within_the_bounds_and_its_reason_is_told() {
    for (given, replicas, limited_by, reason) in [
        (
            vec![says("static", 1, 9), says("sale", 2, 6)],
            6,
            None,
            "replicas 4 -> 6: sale asks for 6",
        ),
        (
            vec![says("static", 1, 90)],
            20,
            Some(LimitedBy::MaxReplicas(20)),
            "replicas 4 -> 20, limited by maxReplicas 20: static asks for 90",
        ),
        (
            Vec::new(),
            4,
            Some(LimitedBy::MissingData),
            "replicas stays 4: no portrait has a value",
        ),
    ] {
        let report = Staged::new(4, &given).tick(0);
        let decision = &report.decision;
        assert_eq!(
            (decision.replicas, decision.limited_by),
            (replicas, limited_by)
        );
        assert_eq!(decision.reason, reason);
    }
}

#[test]
fn a_preview_shows_the_count_in_the_end_and_asks_for_nothing() {
    let mut staged = Staged::new(4, &[says("static", 1, 12)]);
    staged.run.policy.mode = ScalingMode::Recommend;
    staged.behavior.up.stages = Some(percent(25, 60));
    let report = staged.only_tick(0);
    assert_eq!(report.decision.replicas, 12);
    assert_eq!(portrayed(&report).staged.phase, ChangePhase::Settled);
    assert!(staged.run.tracker.decision.asked.is_none());
}

#[test]
fn steps_are_made_by_their_interval_and_a_failed_check_takes_them_back() {
    let mut staged = Staged::new(4, &[says("static", 1, 12)]);
    staged.behavior = StagedBehavior {
        up: ScaleUpBehavior {
            disabled: false,
            stages: Some(percent(50, 60)),
        },
        down: ScaleDownWay {
            disabled: false,
            stages: Some(ScaleDownStages {
                pace: percent(50, 60),
                park: ScaleDownTarget::Deleted,
            }),
        },
    };
    let latency = |milli, tick| {
        vec![StabilityCheck {
            checker: Checker {
                name: "latency".to_owned(),
                action: Action::Rollback,
                cool_down: SignedDuration::from_secs(30),
            },
            evidence: vec![CheckInput::Metric {
                bound: MetricBound {
                    metric: "p99".to_owned(),
                    operator: ComparisonOperator::Greater,
                    milli: 500,
                },
                reading: Some(CheckReading {
                    milli,
                    since: time(tick),
                    at: time(tick),
                }),
            }],
        }]
    };
    staged.checks = latency(100, 0);
    let report = staged.tick(0);
    assert_eq!(report.decision.replicas, 8, "the first step at once");
    assert_eq!(
        report.decision.reason,
        "replicas 4 -> 8 of 12, limited by the next step at 2027-01-15T08:01:00Z: static asks for 12"
    );
    staged.checks = latency(900, 2);
    let report = staged.tick(2);
    assert_eq!(report.decision.replicas, 4, "{:?}", report.decision);
    assert_eq!(
        portrayed(&report).staged.happened,
        Some(StagedChangeEvent::RolledBack)
    );
    assert_eq!(portrayed(&report).decided.happened, Some(Judgement::Held));
    staged.checks = latency(900, 3);
    assert_eq!(staged.tick(3).decision.replicas, 4, "it stays there");
    // A user knows better.
    staged.resume = Some(time(4));
    let report = staged.tick(4);
    assert_eq!(
        portrayed(&report).decided.happened,
        Some(Judgement::Resumed)
    );
    assert_eq!(report.decision.replicas, 8);
}

#[test]
fn a_zero_of_the_users_is_left_alone_and_one_that_a_portrait_asked_for_is_not() {
    let mut staged = Staged::new(3, &[says("night", 1, 0)]);
    assert_eq!(staged.tick(0).decision.replicas, 0);
    staged.given = vec![says("day", 1, 5)];
    assert_eq!(staged.tick(1).decision.replicas, 5, "it was asked for here");
    staged.run.current = 0;
    staged.rests_at_zero = true;
    let report = staged.only_tick(2);
    assert_eq!(report.decision.replicas, 0);
    assert_eq!(
        report.decision.reason,
        "scaled to zero, which switches scaling off"
    );
}

#[test]
fn a_forecast_counts_once_it_is_trusted_and_never_below_what_the_load_asks_for_now() {
    let mut staged = Staged::new(5, &[says("least", 0, 2)]);
    staged.run.models = Some(ModelSet::Auto);
    staged.predictive = Some(ProviderRef {
        by: "predictive".into(),
        priority: 1,
    });
    let (mut failed, mut ahead) = (0, 0);
    for tick in 0..200 {
        let at = time(tick);
        staged
            .run
            .tracker
            .measure(&Signal::CPU, &LoadSample::of_moment(hill(tick), at), at)
            .unwrap();
        let report = staged.tick(tick);
        let needed = signals()[0].capacity.desired_for_sum(hill(tick));
        let provided = portrayed(&report).provided.last().unwrap();
        match &provided.ask {
            Ask::Exactly(replicas) => {
                // The HPA's tolerance is a tenth.
                let least = f64::from(needed.min(20)) / 1.1;
                assert!(f64::from(*replicas) >= least.floor(), "{tick}: {report:?}");
                ahead += i32::from(*replicas > needed);
            }
            other => {
                assert!(
                    matches!(other, Ask::Unavailable(Unavailable::Failed { reason, .. }) if *reason == "ForecastUntrusted")
                );
                failed += 1;
            }
        }
    }
    assert!(failed > 5 && ahead > 40, "{failed} {ahead}");
}
