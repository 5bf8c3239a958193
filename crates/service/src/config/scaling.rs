//! `scaling`: how targets without their own settings are scaled, and how often they are checked.

use evenkeel_forecast::{Calendar, ResidualChecks};
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaled_kind;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_scaling::specs::scaling_policy::PredictionModel;
use evenkeel_scaling::targets::settings::{Queries, Settings};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::check::{Checker, NamedDuration};
use super::section::section;
use super::value::Number;
use crate::controller::scaling::FitSettings;
use crate::external_checks;
use crate::external_checks::AllowedUrl;

section! {
    /// `scaling` as it is written.
    ScalingSection {
        mode: YamlText = Settings::default().mode.as_str().into(),
        predict: YamlText = Settings::default().predict.as_str().into(),
        interval: YamlText = Settings::default().interval.into(),
        max_age: Option<YamlText> = None,
        time_zone: YamlText = "UTC".into(),
        queries: Queries = Queries::default(),
        risk: YamlText = Settings::default().risk.to_string().as_str().into(),
        swish_net: Option<YamlText> = None,
        residual_checks: YamlText = ResidualChecks::default().as_str().into(),
        fit_share: Number = Number(FitSettings::default().share.get()),
        replica_profiles: ReplicaProfilesName = ReplicaProfilesName::default(),
        kinds: Vec<KindSection> = Vec::new(),
        external_algorithms: bool = false,
        external_jobs_per_namespace: u32 = 10,
        checks: ChecksSection = ChecksSection::default(),
    }
    /// `scaling.checks` as it is written.
    ChecksSection {
        external: bool = false,
        allowed: Vec<YamlText> = Vec::new(),
    }
    /// A kind of custom resources as it is written.
    KindSection {
        api_version: YamlText = "".into(),
        kind: YamlText = "".into(),
    }
}

/// The switch that lets Evenkeel take Pods out of traffic for ReplicaProfiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReplicaProfilesName {
    #[default]
    Off,
    On,
}

/// Measurements come no more often than this, and the shortest horizon is no longer.
const INTERVALS: std::ops::RangeInclusive<SignedDuration> =
    SignedDuration::from_secs(1)..=SignedDuration::from_secs(60);

/// With less, the fit of a network would rest for longer than eight minutes.
const LEAST_FIT_SHARE: f64 = 0.01;

impl ScalingSection {
    /// The calendar that loads live by.
    pub(super) fn calendar(&self, check: &mut Checker) -> Calendar {
        let name = self.time_zone.as_ref();
        let Ok(zone) = TimeZone::get(name) else {
            let accepted = "a name of the time zone database, such as UTC or Europe/Berlin";
            check.refuse_value("scaling.timeZone", name, accepted);
            return Calendar::default();
        };
        Calendar::new(zone)
    }

    pub(super) fn kinds(&self, check: &mut Checker) -> Vec<ScaledKind> {
        let mut taken: Vec<ScaledKind> = Vec::new();
        for (place, KindSection { api_version, kind }) in self.kinds.iter().enumerate() {
            let path = format!("scaling.kinds[{place}]");
            match ScaledKind::new(api_version.as_ref(), kind.as_ref()) {
                Err(error) => {
                    check.refuse(
                        &path,
                        format_args!("{error}; accepted: {}", scaled_kind::ACCEPTED),
                    );
                }
                Ok(one) if taken.iter().any(|other| other.is_same(&one)) => {
                    check.refuse(
                        &path,
                        format_args!("{one} is listed twice: list each kind once, in one version"),
                    );
                }
                Ok(one) => taken.push(one),
            }
        }
        if self.kinds.len() > scaled_kind::MOST {
            let (given, most) = (self.kinds.len(), scaled_kind::MOST);
            check.refuse(
                "scaling.kinds",
                format_args!("{given} kinds; accepted: at most {most}"),
            );
        }
        taken
    }

    pub(super) const fn runs_external_algorithms(&self) -> bool {
        self.external_algorithms
    }

    pub(super) fn external_jobs(&self) -> usize {
        usize::try_from(self.external_jobs_per_namespace).unwrap_or(usize::MAX)
    }

    /// The URLs that external checks may call beside Services; `None` if none is called.
    pub(super) fn external_checks(&self, check: &mut Checker) -> Option<external_checks::Settings> {
        let ChecksSection { external, allowed } = &self.checks;
        let places = allowed.iter().enumerate();
        let allowed = places.filter_map(|(place, text)| {
            let path = format!("scaling.checks.allowed[{place}]");
            let parsed = AllowedUrl::parse(text.as_ref()).map(Some);
            check.take(&path, parsed, None)
        });
        let settings = external_checks::Settings {
            allowed: allowed.collect(),
        };
        external.then_some(settings)
    }

    pub(super) fn fits(&self, check: &mut Checker) -> FitSettings {
        let path = "scaling.fitShare";
        let share = check.share(path, self.fit_share);
        if share.get() < LEAST_FIT_SHARE {
            check.refuse_value(path, share.get(), "a number from 0.01 to 1");
        }
        FitSettings {
            swish_net: self.swish_net.as_ref().map(|path| path.as_ref().into()),
            residual_checks: check.take(
                "scaling.residualChecks",
                self.residual_checks.as_ref().parse(),
                ResidualChecks::default(),
            ),
            share,
        }
    }

    /// The section without time zone, kinds and fits. `metrics_age`: the age limit of
    /// measurements elsewhere; `has_prometheus`: whether there is a Prometheus.
    pub(super) fn check(
        &self,
        metrics_age: SignedDuration,
        has_prometheus: bool,
        check: &mut Checker,
    ) -> Settings {
        let Self {
            mode,
            predict,
            interval: given,
            max_age,
            time_zone: _,
            queries,
            risk,
            swish_net: _,
            residual_checks: _,
            fit_share: _,
            replica_profiles,
            kinds: _,
            external_algorithms: _,
            external_jobs_per_namespace: _,
            checks,
        } = self;
        let interval = check.duration("scaling.interval", given);
        if interval.is_positive() && !INTERVALS.contains(&interval) {
            let accepted = "a duration from 1s to 1m";
            check.refuse_value("scaling.interval", given.as_ref(), accepted);
        }
        let max_age = match max_age {
            Some(text) => {
                NamedDuration::new("scaling.maxAge", check.duration("scaling.maxAge", text))
            }
            None => NamedDuration::new("metrics.maxAge", metrics_age),
        };
        check.shorter(NamedDuration::new("scaling.interval", interval), max_age);
        Settings {
            mode: check.take(
                "scaling.mode",
                mode.as_ref().parse(),
                ScalingMode::default(),
            ),
            predict: check.take(
                "scaling.predict",
                predict.as_ref().parse(),
                PredictionModel::default(),
            ),
            interval,
            max_age: max_age.duration,
            queries: if has_prometheus {
                *queries
            } else {
                Queries::Measured
            },
            risk: check.take("scaling.risk", risk.as_ref().parse(), Risk::default()),
            follows_profiles: *replica_profiles == ReplicaProfilesName::On,
            asks_checks: checks.external,
        }
    }
}
