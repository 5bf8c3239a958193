//! `scheduling.profiles`: weights for built-in or custom profiles, as a judgement matrix or as
//! numbers.

use std::collections::BTreeMap;

use evenkeel_objects::yaml_values::YamlText;
use evenkeel_placement::ahp::{JudgementMatrix, RandomIndex};
use evenkeel_placement::profile::{ProfileTable, Weights};
use evenkeel_units::{Resource, Resources};
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::value::Number;

/// One profile as it is written: either field, never both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping with `matrix` or `weights`"
)]
pub(crate) struct ProfileSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    matrix: Option<Vec<Vec<YamlText>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<WeightsSection>,
}

/// Weights as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a mapping from all five resources to numbers"
)]
struct WeightsSection {
    cpu: Number,
    memory: Number,
    network_io: Number,
    disk_io: Number,
    disk: Number,
}

/// The built-in profiles with those of the file added or put in place.
pub(crate) fn table(
    profiles: &BTreeMap<String, ProfileSection>,
    random_index: &YamlText,
    check: &mut Checker,
) -> ProfileTable {
    let random_index = check_random_index(random_index, check);
    let mut table = ProfileTable::default();
    for (name, profile) in profiles {
        let path = format!("scheduling.profiles.{name}");
        if let Some(weights) = profile.check(&path, &random_index, check) {
            table = table.with(name, weights);
        }
    }
    table
}

/// `thesis`, `saaty`, or the random index of the five rows that a profile's matrix has.
fn check_random_index(text: &YamlText, check: &mut Checker) -> RandomIndex {
    const PATH: &str = "scheduling.randomIndex";
    match text.as_ref() {
        "thesis" => RandomIndex::thesis(),
        "saaty" => RandomIndex::saaty(),
        other => {
            let Ok(value) = other.parse::<f64>() else {
                check.refuse_value(PATH, other, "thesis, saaty, or a number for five rows");
                return RandomIndex::thesis();
            };
            let table = RandomIndex::thesis().with(Resource::ALL.len(), value);
            check.take(PATH, table, RandomIndex::thesis())
        }
    }
}

impl ProfileSection {
    fn check(&self, path: &str, index: &RandomIndex, check: &mut Checker) -> Option<Weights> {
        let Self { matrix, weights } = self;
        let (path, weights) = match (matrix, weights) {
            (Some(rows), None) => {
                let path = format!("{path}.matrix");
                let rows = judgements(rows, &path, check)?;
                let matrix = match JudgementMatrix::new(rows) {
                    Ok(matrix) => matrix,
                    Err(error) => {
                        check.refuse(&path, error);
                        return None;
                    }
                };
                (path, Weights::from_matrix(&matrix, index))
            }
            (None, Some(weights)) => (format!("{path}.weights"), weights.check()),
            (None, None) | (Some(_), Some(_)) => {
                check.refuse(path, "needs either `matrix` or `weights`, not both");
                return None;
            }
        };
        match weights {
            Ok(weights) => Some(weights),
            Err(error) => {
                check.refuse(&path, error);
                None
            }
        }
    }
}

fn judgements(rows: &[Vec<YamlText>], path: &str, check: &mut Checker) -> Option<Vec<Vec<f64>>> {
    let before = check.findings.len();
    let mut parsed = Vec::with_capacity(rows.len());
    for (row, texts) in rows.iter().enumerate() {
        let mut judgements = Vec::with_capacity(texts.len());
        for (column, text) in texts.iter().enumerate() {
            match parse_judgement(text.as_ref()) {
                Ok(judgement) => judgements.push(judgement),
                Err(error) => check.refuse(&format!("{path}[{row}][{column}]"), error),
            }
        }
        parsed.push(judgements);
    }
    (check.findings.len() == before).then_some(parsed)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not accepted; accepted: a number such as 3, or a fraction such as 1/3")]
pub struct NoJudgement(String);

/// A judgement as people write it: a number or a fraction.
pub fn parse_judgement(text: &str) -> Result<f64, NoJudgement> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let judgement = match text.split_once('/') {
        Some((over, under)) => number(over)
            .zip(number(under))
            .map(|(over, under)| over / under),
        None => number(text),
    };
    judgement.ok_or_else(|| NoJudgement(text.to_owned()))
}

impl WeightsSection {
    fn check(&self) -> Result<Weights, evenkeel_placement::profile::WeightsError> {
        let Self {
            cpu: Number(cpu),
            memory: Number(memory),
            network_io: Number(network_io),
            disk_io: Number(disk_io),
            disk: Number(disk),
        } = *self;
        Weights::new(Resources::new([cpu, memory, network_io, disk_io, disk]))
    }
}
