//! The floor of one tick: up as the forecasts say, down as the HPA's scaleDown rules let it.

use evenkeel_forecast::{Distrust, ModelTrust};
use jiff::SignedDuration;

use super::decision::{Floor, ScalingDecision};
use super::decision_basis::DecisionBasis;
use super::ds_hpa::PredictiveProposal;
use super::input::{DecisionInput, Prediction};
use super::policy::Strategy;
use super::reason::DecisionChange;
use super::traffic_need::{TrafficLack, TrafficStanding};
use super::{DecisionContext, ds_hpa, scale_down};
use crate::limits::LimitedBy;

impl DecisionContext<'_> {
    pub(super) fn floor(&mut self) -> ScalingDecision {
        let Self { policy, input, .. } = *self;
        let before = self.state.floor_in_force();
        self.adopt();
        let proposal = ds_hpa::propose(policy, input, &mut self.state.active_forecast);
        let blind = self.blind(proposal.as_ref());
        let limited_by = if input.strategy == Strategy::Off {
            None
        } else {
            self.step(proposal.as_ref().filter(|_| !blind))
        };
        let limited_by = match blind {
            true if self.is_estimated() => Some(LimitedBy::EstimatedLoad),
            true => Some(LimitedBy::MissingData),
            false => limited_by,
        };
        let floor = self.state.floor_in_force();
        let user = self.user_min();
        let at_least = |floor: Option<Floor>| floor.map_or(user, |floor| floor.replicas.max(user));
        let change = DecisionChange {
            name: "floor",
            from: at_least(before),
            to: at_least(floor),
        };
        ScalingDecision {
            replicas: change.to,
            reason: self.reason(proposal.as_ref(), change, limited_by),
            limited_by,
            grounds: match floor {
                _ if !blind => DecisionBasis::of(proposal.as_ref()),
                Some(_) => DecisionBasis::LastKnown,
                None => DecisionBasis::Nothing,
            },
        }
    }

    /// Takes the next step of the floor, up or down, and returns the rule that limits it. If
    /// `proposal` is `None` or its load is unknown, the user's own minimum is proposed. While the
    /// load is only estimated, the current floor is proposed again: rollouts and scale-outs lower
    /// no floor. The same applies while a load that only Evenkeel reacts to is unknown: the HPA
    /// would remove the replicas that it needs.
    ///
    /// A proposal stands for its horizon even if the window is shorter. Forecasts and D-HPA take
    /// turns, and following each tick alone would move the floor up and down. Neither the horizon
    /// nor the window applies if the user lets a falling load lower the floor early.
    fn step(&mut self, proposal: Option<&PredictiveProposal>) -> Option<LimitedBy> {
        let DecisionInput { now, .. } = *self.input;
        let user = self.user_min();
        let (proposed, by) = proposal.map_or((user, None), |proposal| self.proposed(proposal));
        let floor = self.state.floor.map(|floor| self.lowered(floor));
        let before = floor.map_or(user, |floor| floor.replicas.max(user));
        let (proposed, by) = match floor {
            Some(_) if self.is_estimated() && proposed < before => {
                (before, Some(LimitedBy::EstimatedLoad))
            }
            Some(_) if self.is_alone_in_the_dark() && proposed < before => {
                (before, Some(LimitedBy::MissingData))
            }
            _ => (proposed, by),
        };
        let early = self.early_floor(before, proposed, proposal);
        let way_down = &mut self.state.way_down;
        let step = scale_down::step(self.policy, before, proposed, way_down, now);
        let standing = floor.filter(|floor| now < floor.until);
        let (replicas, limited_by) = match (early, standing) {
            (Some(early), _) => (early.replicas, early.limited_by),
            (None, Some(floor)) => (floor.replicas.max(step.replicas), step.limited_by),
            (None, None) => (step.replicas, step.limited_by),
        };
        scale_down::record(self.policy, before, replicas, way_down, now);
        let until = match floor {
            Some(floor) if proposed < replicas && early.is_none() => floor.until,
            _ => self.until(self.input.ahead),
        };
        let gone = replicas <= user && proposal.is_none();
        self.state.floor = (!gone).then_some(Floor { replicas, until });
        self.state.note_asked(replicas);
        by.or(limited_by.filter(|_| proposed < replicas))
    }

    /// The count of a proposal within the scaleUp rules and the bounds, and the rule that limits it.
    fn proposed(&mut self, proposal: &PredictiveProposal) -> (i32, Option<LimitedBy>) {
        let (held, by) = self.held(proposal);
        let (replicas, by) = self.bounded(held, by);
        self.note(replicas);
        let by = by.filter(|by| !matches!(by, LimitedBy::MinReplicas(_)));
        (replicas.max(1), by)
    }

    /// Keeps the adopted floor until a model here has been judged. Then it becomes the floor of
    /// this decider and goes down like any other. If it lapses, no decider has proposed it for
    /// longer than any window.
    fn adopt(&mut self) {
        let DecisionInput { now, strategy, .. } = *self.input;
        let adopted = self.state.adopted.take();
        let adopted = adopted.filter(|floor| strategy != Strategy::Off && now < floor.until);
        // A floor that was lowered stays lowered: one that rises again would be a new decision.
        let adopted = adopted.map(|floor| self.lowered(floor));
        match adopted {
            Some(floor) if self.is_judged() => self.make_own(floor),
            adopted => self.state.adopted = adopted,
        }
    }

    /// Goes on with a floor that another decider has proposed until now.
    fn make_own(&mut self, floor: Floor) {
        let own = self.state.floor.map(|floor| self.lowered(floor));
        let before = own.map_or(self.user_min(), |floor| floor.replicas);
        if floor.replicas <= before {
            return;
        }
        let (policy, now) = (self.policy, self.input.now);
        let way_down = &mut self.state.way_down;
        scale_down::step(policy, before, floor.replicas, way_down, now);
        scale_down::record(policy, before, floor.replicas, way_down, now);
        // It stands for the window alone: its decider proposed it for no later time.
        let until = self.until(SignedDuration::ZERO);
        self.state.floor = Some(Floor { until, ..floor });
    }

    /// True where a model here has been judged on a load that is known, the traffic's among them.
    fn is_judged(&self) -> bool {
        let DecisionInput {
            now,
            loads,
            traffic,
            ..
        } = *self.input;
        match traffic {
            Some(TrafficStanding::Needs(_)) if !loads.iter().any(|load| load.is_forecast) => {
                return true;
            }
            // The floor that was taken over may be the traffic's.
            Some(
                TrafficStanding::Without {
                    lack: TrafficLack::Awaited,
                    ..
                }
                | TrafficStanding::Unknown,
            ) => return false,
            Some(TrafficStanding::Needs(_) | TrafficStanding::Without { .. }) | None => {}
        }
        let unproven = |prediction: &Prediction<'_>| {
            matches!(
                prediction.trust,
                ModelTrust::Untrusted(Distrust::Unproven { .. })
            )
        };
        loads.iter().any(|load| {
            let fresh = load.fresh(now, self.policy.max_age).is_some();
            fresh && load.prediction.is_some_and(|one| !unproven(&one))
        })
    }

    /// An earlier floor, lowered to what the HPA's scaleUp rules and the bounds allow now.
    fn lowered(&self, floor: Floor) -> Floor {
        let most = self.limit().0.min(self.policy.bounds.max());
        let replicas = floor.replicas.min(most);
        Floor { replicas, ..floor }
    }

    fn user_min(&self) -> i32 {
        self.policy.bounds.min().max(1)
    }

    fn until(&self, stands: SignedDuration) -> jiff::Timestamp {
        let until = self.input.now.checked_add(stands);
        until.unwrap_or(jiff::Timestamp::MAX)
    }
}
