//! One load of a target: its history, the models that follow it, and their forecasts at a tick.

use std::sync::Arc;

use evenkeel_forecast::{
    BRIDGED, Cover, Forecast, ForecastRequest, LoadRingBuffer, MeasurementGap, ModelAssets,
    ModelSet, NotEnoughHistory, OwnPeaks, Resolution, SampleError, SelectedForecast,
};
use evenkeel_metrics::signal::Signal;
use jiff::{SignedDuration, Timestamp};

use super::load_model::{LoadModel, Reach, ring};
use super::load_past_fit::LoadPastFit;
use super::own_fit;
use super::own_fit::{FitTask, LastFit};
use super::pod_count_history::PodCountHistory;
use super::recent_lag::RecentLag;
use super::tick_input::TickInput;
use super::tracked_peaks::{TrackedPeakContext, TrackedPeaks, TrackedStep};
use crate::counterfactual::CounterfactualResult;
use crate::load::horizon;
use crate::load::horizon::Lag;
use crate::load::hpa_aware::PodCapacity;
use crate::load::observation::LoadSample;
use crate::load::sum::{Certainty, LoadSum};
use crate::recommend::input::LoadEstimate;
use crate::recommend::policy::TargetPolicy;

const STEP: SignedDuration = Resolution::Fine.step();

/// The distance of measurements up to which they leave no time unseen, whatever their windows:
/// Prometheus scrapes each minute unless it is told otherwise.
const SCRAPES: SignedDuration = SignedDuration::from_secs(60);

/// The history of one load, and the models that follow it.
#[derive(Debug)]
pub(super) struct LoadHistory {
    pub(super) signal: Signal,
    pub(super) history: LoadRingBuffer,
    /// The one model; none with `auto`, which most loads are forecast by.
    model: Option<Box<LoadModel>>,
    /// The models that are to be fitted on a longer past; `auto` serves until they are.
    fitted: Option<ModelSet>,
    /// True while the fitted model cannot forecast, as after an outage; `auto` serves meanwhile.
    is_model_waiting: bool,
    /// The forecaster of `auto`.
    peaks: Option<Box<TrackedPeaks>>,
    /// Trees of the target's own, which outlive a change of models.
    own: Option<Arc<OwnPeaks>>,
    /// The model that forecasts it, and the load that one Pod is to carry; `None` where it is not forecast.
    pub(super) forecast_by: Option<(ModelSet, PodCapacity)>,
    /// The window that it was followed with last, in minutes.
    window: usize,
    /// When trees of its own or models were last fitted, whether there came any of it or not.
    pub(super) fit: Option<LastFit>,
    /// The newest certain sum.
    pub(super) certain: Option<LoadSample>,
    /// The newest estimate, while it is newer than that.
    pub(super) estimate: Option<LoadEstimate>,
    lag: RecentLag,
}

impl LoadHistory {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            signal,
            history: LoadRingBuffer::default(),
            model: None,
            fitted: None,
            is_model_waiting: false,
            peaks: None,
            own: None,
            forecast_by: None,
            window: 0,
            fit: None,
            certain: None,
            estimate: None,
            lag: RecentLag::default(),
        }
    }

    /// Takes a load. An estimate is at least what the load last was for certain: what settles has
    /// taken its part over from what is measured.
    pub(super) fn measure(
        &mut self,
        sample: &LoadSample,
        now: Timestamp,
    ) -> Result<(), SampleError> {
        let before = self.certain.map(|last| last.load.sum);
        let load = sample.load.after(before);
        let sample = &LoadSample { load, ..*sample };
        let LoadSum { sum, certainty } = load;
        match (certainty, self.certain) {
            (Certainty::Certain, last) => {
                self.history.insert(sample.at, sum, now)?;
                self.lag.take(sample, now);
                if last.is_none_or(|last| last.measured <= sample.measured) {
                    self.lead_across(last, sample);
                    self.certain = Some(*sample);
                    self.estimate = None;
                }
            }
            (Certainty::Estimated | Certainty::Surge { .. }, Some(last))
                if last.measured < sample.measured =>
            {
                self.estimate = Some(LoadEstimate {
                    sum: sum.max(last.load.sum),
                    measured: sample.measured,
                });
            }
            // Nothing is known that it could be an estimate of.
            (Certainty::Estimated | Certainty::Surge { .. }, _) => {}
        }
        Ok(())
    }

    /// Lays the time since the last certain sum on a line, where something is known of it: that it lies
    /// in the windows of both, or that the load was estimated meanwhile.
    fn lead_across(&mut self, last: Option<LoadSample>, next: &LoadSample) {
        let Some(last) = last else { return };
        let distance = next.at.duration_since(last.at);
        // Scrapes and ticks come a little early or late.
        let seen = next.window.max(SCRAPES) + STEP;
        let between = match self.estimate {
            _ if distance <= seen => MeasurementGap::Seen,
            Some(_) if distance <= BRIDGED => MeasurementGap::Uncertain,
            _ => return,
        };
        self.history.bridge(last.at, next.at, between);
    }

    /// The lag between the load and its measurement.
    pub(super) fn lag(&self) -> Lag {
        self.lag.lag()
    }

    /// True where the target's load in this signal is forecast.
    pub(super) fn is_forecast(&self, input: &TickInput<'_>) -> bool {
        input.models_of(&self.signal).is_some()
    }

    /// True where the history lies so far ahead of now that the rings cannot tell the times apart.
    pub(super) fn is_ahead_of(&self, now: Timestamp) -> bool {
        let newest = self.history.newest();
        newest.is_some_and(|newest| newest.duration_since(now) >= ring(Resolution::Fine))
    }

    /// Lets the models learn from the history again, since its past has changed behind them.
    pub(super) fn complete_past(&mut self) {
        self.history.bridge_gaps();
        if let Some(model) = &mut self.model {
            model.past_changed();
        }
        if let Some(peaks) = &mut self.peaks {
            peaks.begin_anew();
        }
    }

    /// Leads the models up to the newest step that is over. They are scored as far ahead as a decision looks.
    pub(super) fn follow(
        &mut self,
        ahead: SignedDuration,
        policy: &TargetPolicy,
        input: &TickInput<'_>,
        carried: &PodCountHistory,
    ) {
        let models = input.models_of(&self.signal);
        self.fitted = models.filter(|models| models.is_fitted());
        let scaled = input.scaled(&self.signal);
        self.forecast_by = models.zip(scaled.map(|scaled| scaled.capacity));
        self.window = self.window(ahead);
        let served = self.model.as_ref().map(|model| model.set());
        let alone = match self.fitted {
            Some(_) => models.filter(|_| served == models),
            None => models.filter(|models| *models != ModelSet::Auto),
        };
        match alone {
            Some(alone) => self.follow_model(alone, ahead, input),
            None => self.model = None,
        }
        self.is_model_waiting &= self.fitted.is_some() && alone.is_some();
        if models.is_some() && (alone.is_none() || self.is_model_waiting) {
            self.follow_peaks(policy, input, carried);
        } else {
            self.peaks = None;
        }
    }

    fn follow_model(&mut self, alone: ModelSet, ahead: SignedDuration, input: &TickInput<'_>) {
        let Some(newest) = self.newest_over(input.now) else {
            return;
        };
        let ahead = ahead.saturating_add(self.lag().total());
        let reach = Reach { newest, ahead };
        let Self { history, model, .. } = self;
        let followed = model.as_mut().filter(|model| model.set() == alone);
        if followed.is_some_and(|model| model.follow(history, reach, input.shared)) {
            return;
        }
        if let Some(mut learnt) = LoadModel::learnt(alone, history, reach, input.shared) {
            if let Some(before) = model {
                learnt.keep_trust_of(before);
            }
            *model = Some(Box::new(learnt));
        }
    }

    fn follow_peaks(
        &mut self,
        policy: &TargetPolicy,
        input: &TickInput<'_>,
        carried: &PodCountHistory,
    ) {
        let window = self.window;
        let newest = self.newest_over(input.now);
        let lag = self.lag();
        let Self {
            signal,
            history,
            own,
            peaks,
            ..
        } = self;
        let risk = policy.risk.get();
        let peaks = peaks.get_or_insert_with(|| Box::new(TrackedPeaks::new(risk, own.as_ref())));
        if let Some(newest) = newest {
            let upto = TrackedStep { newest, window };
            let known = TrackedPeakContext {
                scaled: input.scaled(signal),
                policy,
                lag,
                carried,
                shared: input.shared,
            };
            peaks.follow(history, upto, &known);
        }
    }

    /// The minutes from the load that was measured until there is capacity for it.
    fn window(&self, ahead: SignedDuration) -> usize {
        horizon::window(ahead.saturating_add(self.lag().total()))
    }

    /// Goes on from trees of its own, or from what all targets share where those are better, and from what
    /// its past was and would have been with them.
    pub(super) fn adopt(&mut self, learnt: LoadPastFit) {
        let LoadPastFit { own, trial, highs } = learnt;
        self.fit_ended();
        self.history.take_highs(&highs);
        if let Some(peaks) = &mut self.peaks {
            peaks.adopt(own.as_ref(), trial);
        }
        self.own = own;
    }

    /// Is forecast by a model that was fitted, where it is still the one that is asked for. One that waited for too
    /// long to go on from its past is fitted again.
    pub(super) fn adopt_model(&mut self, mut model: Box<LoadModel>, now: Timestamp) {
        self.history.take_highs(&std::mem::take(&mut model.highs));
        if model.is_outdated(&self.history) {
            self.fit_failed(now);
            return;
        }
        self.fit_ended();
        if self.fitted != Some(model.set()) {
            return;
        }
        if let Some(before) = &self.model {
            model.keep_trust_of(before);
        }
        self.model = Some(model);
    }

    /// The fit that is due, of models that are asked for or of trees of its own; none where nothing would ask them,
    /// or before a measurement has told how late they come.
    pub(super) fn fit_due(&self, hour: i64, now: Timestamp) -> Option<LastFit> {
        self.certain?;
        let lesson = self.lesson()?;
        own_fit::due(
            &self.history,
            self.fit.as_ref(),
            (self.window, &lesson),
            hour,
            now,
        )
    }

    /// The fit to make on its past; `None` if there is none to make.
    pub(super) fn lesson(&self) -> Option<FitTask> {
        if let Some(models) = self.fitted {
            return Some(FitTask::Model(models));
        }
        self.peaks.as_ref()?.pods().cloned().map(FitTask::Trees)
    }

    /// The result of floors, if it is known.
    pub(super) fn tried(&self) -> Option<CounterfactualResult> {
        self.peaks.as_ref()?.tried()
    }

    /// True where trees of its own have been asked for before.
    pub(super) const fn was_fitted(&self) -> bool {
        self.fit.is_some()
    }

    /// Takes note that nothing came of a fit.
    pub(super) const fn fit_failed(&mut self, now: Timestamp) {
        if let Some(fit) = &mut self.fit {
            fit.failed(now);
        }
    }

    /// Takes note that the past was too short for a fit.
    pub(super) const fn fit_too_short(&mut self, now: Timestamp) {
        if let Some(fit) = &mut self.fit {
            fit.too_short(now);
        }
    }

    /// Takes note that a fit was made, whatever came of it.
    pub(super) const fn fit_ended(&mut self) {
        if let Some(fit) = &mut self.fit {
            fit.succeeded();
        }
    }

    /// The share of time in which Pods may carry too much, with what was achieved; `None` where no risk
    /// is followed.
    pub(super) fn cover(&self) -> Option<Cover> {
        self.peaks.as_ref().map(|peaks| *peaks.cover())
    }

    /// The forecasts that its models are to make for a tick, of so long a reach from a measurement that may be as
    /// old as `max_age`; none where there are no models.
    pub(super) fn requests<'a>(
        &'a self,
        reach: SignedDuration,
        max_age: SignedDuration,
        shared: &'a ModelAssets,
    ) -> impl Iterator<Item = ForecastRequest<'a>> {
        let model = self.model.as_ref();
        let request = model.and_then(|model| model.request(reach, max_age, &self.history, shared));
        request.into_iter()
    }

    /// Takes the answer to [`Self::requests`] from `forecasts`, and scores the model by it.
    pub(super) fn select(
        &mut self,
        forecasts: &mut impl Iterator<Item = Result<Forecast, NotEnoughHistory>>,
        now: Timestamp,
        ahead: SignedDuration,
        shared: &ModelAssets,
    ) -> Option<SelectedForecast> {
        let model = self.model.as_mut().filter(|model| model.has_learnt());
        let alone = model.and_then(|model| Some(model.select(forecasts.next()?)));
        let waits = alone.as_ref().and_then(|one| one.forecast.as_ref().err());
        self.is_model_waiting = self.fitted.is_some() && waits.is_some();
        let Some(peaks) = self
            .peaks
            .as_ref()
            .filter(|_| waits.is_some() || alone.is_none())
        else {
            return alone;
        };
        let waited_for = waits.copied().or_else(|| {
            let models = self.fitted?;
            Some(own_fit::not_ready(models, &self.history))
        });
        let window = self.window(ahead);
        let newest = self.newest_over(now)?;
        let upto = TrackedStep { newest, window };
        let mut selected = peaks.select(&self.history, upto, shared);
        selected.lacking.extend(waited_for);
        Some(selected)
    }

    /// The newest step that is over and before which, or in which, something was measured.
    fn newest_over(&self, now: Timestamp) -> Option<Timestamp> {
        let seconds = STEP.as_secs();
        let begun = now.as_second().div_euclid(seconds) * seconds;
        let over = Timestamp::from_second(begun - seconds).ok()?;
        Some(self.history.newest()?.min(over))
    }

    /// The model that follows the load.
    #[cfg(test)]
    pub(super) fn model(&mut self) -> Option<&mut evenkeel_forecast::ScoredModel> {
        self.model.as_deref_mut().map(LoadModel::scored)
    }

    pub(super) fn bytes(&self) -> usize {
        let models = self.model.as_deref().map_or(0, LoadModel::bytes);
        // While there is a forecaster, the trees are counted as its own.
        let peaks = self.peaks.as_ref().map(|peaks| peaks.bytes());
        let own = || self.own.as_ref().map_or(0, |own| own.bytes());
        let models = models + peaks.unwrap_or_else(own);
        let own = size_of::<Self>() - size_of::<LoadRingBuffer>();
        own + self.history.bytes() + models
    }
}
