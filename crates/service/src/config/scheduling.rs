//! `scheduling`, `admission`, `network` and `disk`: the policy that decisions follow.

use std::collections::BTreeMap;

use evenkeel_objects::capacities::LabelledCapacity;
use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_objects::taint::{TaintEffect, TaintKey};
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_placement::balance::{Normalization, ScoringStrategy};
use evenkeel_placement::plan::overload;
use evenkeel_placement::score_labels::Shape;
use evenkeel_placement::score_term_rules::ScoreTermRules;
use evenkeel_placement::{NodesToScore, SchedulingPolicy, node_table};
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::capacities::CapacitySection;
use super::check::Checker;
use super::profiles::ProfileSection;
use super::section::section;
use super::value::{Count, Number};
use super::{capacities, profiles};

section! {
    /// `scheduling` as it is written.
    SchedulingSection {
        headroom: Number = Number(0.8),
        headroom_by_priority_class: BTreeMap<String, Number> = BTreeMap::new(),
        profile_threshold: Number = Number(0.15),
        no_headroom: NoHeadroom = NoHeadroom::default(),
        // As in kube-scheduler's configuration that is printed.
        percentage_of_nodes_to_score: Count = Count(100),
        // Node autoscalers do not ask extenders, and add no node for a Pod that fits by their own
        // arithmetic.
        relax_after: YamlText = "5m".into(),
        normalization: Normalization = Normalization::default(),
        significance: Number = Number(0.05),
        random_index: YamlText = "thesis".into(),
        profiles: BTreeMap<String, ProfileSection> = BTreeMap::new(),
        capacities: Vec<CapacitySection> = Vec::new(),
        in_flight_timeout: YamlText = "10s".into(),
        notice_timeout: YamlText = "2s".into(),
        overload: OverloadSection = OverloadSection::default(),
        // It takes the right to patch Pods.
        scale_in: ScaleInName = ScaleInName::default(),
        // It writes labels on nodes, which other programs see.
        score_labels: ScoreLabelsName = ScoreLabelsName::default(),
        score_label_controllers: Vec<YamlText> = Vec::new(),
    }

    /// `scheduling.overload` as it is written.
    OverloadSection {
        // A taint also meets namespaces that have not opted in, and DaemonSets.
        taint: TaintName = TaintName::default(),
        key: YamlText = TaintKey::default().to_string().as_str().into(),
        disk: bool = false,
    }

    /// `admission` as it is written.
    AdmissionSection {
        scheduler_name: Option<String> = None,
    }

    /// `network` as it is written.
    NetworkSection {
        caps_as_demand: bool = false,
        capacity: Option<YamlText> = None,
    }

    /// `disk` as it is written.
    DiskSection {
        io_capacity: Option<YamlText> = None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TaintName {
    #[default]
    Off,
    Prefer,
    Enforce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ScaleInName {
    #[default]
    Off,
    Balance,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ScoreLabelsName {
    #[default]
    Off,
    On,
}

#[derive(Clone, Copy)]
pub(super) struct PolicySections<'a> {
    pub(super) scheduling: &'a SchedulingSection,
    pub(super) admission: &'a AdmissionSection,
    pub(super) network: &'a NetworkSection,
    pub(super) disk: &'a DiskSection,
    /// `metrics.maxAge`.
    pub(super) max_age: SignedDuration,
}

impl PolicySections<'_> {
    pub(super) fn check(self, check: &mut Checker) -> SchedulingPolicy {
        let Self {
            scheduling,
            admission: AdmissionSection { scheduler_name },
            network,
            disk,
            max_age,
        } = self;
        let SchedulingSection {
            headroom,
            headroom_by_priority_class,
            profile_threshold,
            no_headroom,
            percentage_of_nodes_to_score,
            relax_after,
            normalization,
            significance,
            random_index,
            profiles,
            capacities: _,
            in_flight_timeout: _,
            overload: _,
            notice_timeout: _,
            scale_in: _,
            score_labels: _,
            score_label_controllers: _,
        } = scheduling;
        let by_class = headroom_by_priority_class.iter().map(|(class, share)| {
            let path = format!("scheduling.headroomByPriorityClass.{class}");
            (class.clone(), check.share(&path, *share))
        });
        SchedulingPolicy {
            headroom_by_priority_class: by_class.collect(),
            headroom: check.share("scheduling.headroom", *headroom),
            profile_threshold: check.share("scheduling.profileThreshold", *profile_threshold),
            no_headroom: *no_headroom,
            nodes_to_score: nodes_to_score(*percentage_of_nodes_to_score, check),
            relax_after: check.duration_or_never("scheduling.relaxAfter", relax_after),
            scoring: ScoringStrategy {
                normalization: *normalization,
                significance: check.share_or_zero("scheduling.significance", *significance),
            },
            profiles: profiles::table(profiles, random_index, check),
            caps_as_demand: network.caps_as_demand,
            default_capacity: default_capacity(network, disk, check),
            scheduler_name: scheduler_name.clone(),
            score_labels: scheduling.score_labels(check),
            max_age,
        }
    }
}

impl OverloadSection {
    pub(super) fn check(&self, check: &mut Checker) -> overload::Settings {
        let Self { taint, key, disk } = self;
        let parsed = key.as_ref().parse();
        overload::Settings {
            effect: match taint {
                TaintName::Off => None,
                TaintName::Prefer => Some(TaintEffect::PreferNoSchedule),
                TaintName::Enforce => Some(TaintEffect::NoSchedule),
            },
            key: check.take("scheduling.overload.key", parsed, TaintKey::default()),
            disk: *disk,
        }
    }
}

impl SchedulingSection {
    /// True where Pods are given costs of deletion before a scale-in.
    pub(super) fn balances_scale_in(&self) -> bool {
        self.scale_in == ScaleInName::Balance
    }

    /// The Pods that get score terms; `None` where score labels are off.
    fn score_labels(&self, check: &mut Checker) -> Option<ScoreTermRules> {
        if self.score_labels == ScoreLabelsName::Off {
            return None;
        }
        for name in self.profiles.keys() {
            if !Shape::is_profile_name(name) {
                check.refuse(
                    &format!("scheduling.profiles.{name}"),
                    "no node label can name it, which scheduling.scoreLabels needs; accepted: at most 43 \
                     letters, digits, '-', '_' and '.', not ending like '-c1'",
                );
            }
        }
        let controllers = self.score_label_controllers.iter().enumerate();
        let controllers = controllers.filter_map(|(at, named)| {
            let named = named.as_ref();
            let is_controller = is_kind_with_group(named);
            if !is_controller {
                let path = format!("scheduling.scoreLabelControllers[{at}]");
                let accepted = "a kind and its API group, such as CloneSet.apps.kruise.io";
                check.refuse_value(&path, named, accepted);
            }
            is_controller.then(|| named.to_owned())
        });
        Some(ScoreTermRules {
            controllers: controllers.collect(),
        })
    }

    /// The capacities of nodes that do not tell theirs, by their labels.
    pub(super) fn capacities(&self, check: &mut Checker) -> Vec<LabelledCapacity> {
        capacities::check(&self.capacities, check)
    }

    /// The times that the node table goes by.
    pub(super) fn table(
        &self,
        max_age: SignedDuration,
        check: &mut Checker,
    ) -> node_table::Settings {
        node_table::Settings {
            max_age,
            provisional: check.duration("scheduling.inFlightTimeout", &self.in_flight_timeout),
            unnoticed: check.duration("scheduling.noticeTimeout", &self.notice_timeout),
            ..node_table::Settings::default()
        }
    }
}

/// True for a text such as `CloneSet.apps.kruise.io`.
fn is_kind_with_group(named: &str) -> bool {
    let is_group = |group: &str| {
        group.split('.').all(|part| {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            !part.is_empty() && part.chars().all(is_plain)
        })
    };
    named.split_once('.').is_some_and(|(kind, group)| {
        kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric())
            && is_group(group)
    })
}

fn nodes_to_score(Count(percent): Count, check: &mut Checker) -> NodesToScore {
    NodesToScore::new(percent).unwrap_or_else(|| {
        let accepted = "a whole number from 0 to 100, as kube-scheduler's configuration has it";
        check.refuse_value("scheduling.percentageOfNodesToScore", percent, accepted);
        NodesToScore::ALL
    })
}

fn default_capacity(
    network: &NetworkSection,
    disk: &DiskSection,
    check: &mut Checker,
) -> Resources<Option<Amount>> {
    let NetworkSection {
        caps_as_demand: _,
        capacity,
    } = network;
    let DiskSection { io_capacity } = disk;
    let network_io = check.rate("network.capacity", capacity.as_ref());
    let disk_io = check.rate("disk.ioCapacity", io_capacity.as_ref());
    let mut default = Resources::default();
    default[Resource::NetworkIo] = network_io.map(Amount::from);
    default[Resource::DiskIo] = disk_io.map(Amount::from);
    default
}
