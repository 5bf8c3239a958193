//! All rules of one object, checked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::SignedDuration;

use super::rule::Rule;

/// The rules of one object.
#[derive(Debug, Clone)]
pub struct CronSpec {
    rules: Vec<Rule>,
    suspended: bool,
    starting_deadline: SignedDuration,
}

/// Rules that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronSpecError {
    /// There are none.
    #[error("there is no rule; accepted: at least one")]
    NoRule,
    /// Two rules have one name.
    #[error("two rules have the name {0:?}; accepted: unique names")]
    SameName(String),
    /// A rule asks for fewer than no replicas.
    #[error("{name:?} asks for {replicas} replicas; accepted: 0 or more")]
    Replicas {
        /// The name of the rule.
        name: String,
        /// The replicas that it asks for.
        replicas: i32,
    },
}

impl CronSpecError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoRule => "NoRule",
            Self::SameName(_) => "SameName",
            Self::Replicas { .. } => "Replicas",
        }
    }
}

impl CronSpec {
    /// These rules. A missed run, for example while writes failed, is made up for within
    /// `starting_deadline`.
    ///
    /// # Errors
    /// No rule, two of one name, or negative replicas.
    pub fn new(
        rules: Vec<Rule>,
        suspended: bool,
        starting_deadline: SignedDuration,
    ) -> Result<Self, CronSpecError> {
        if rules.is_empty() {
            return Err(CronSpecError::NoRule);
        }
        let mut names = HashSet::new();
        for Rule { name, replicas, .. } in &rules {
            if !names.insert(name) {
                return Err(CronSpecError::SameName(name.clone()));
            }
            if *replicas < 0 {
                return Err(CronSpecError::Replicas {
                    name: name.clone(),
                    replicas: *replicas,
                });
            }
        }
        Ok(Self {
            rules,
            suspended,
            starting_deadline,
        })
    }

    /// The rules, in the order in which they were given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules that apply at present.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(|rule| self.is_active(rule))
    }

    /// True for a rule of these that applies at present.
    pub(crate) const fn is_active(&self, rule: &Rule) -> bool {
        !self.suspended && !rule.suspended
    }

    /// The bytes that the rules hold.
    pub fn bytes(&self) -> usize {
        let Self {
            rules,
            suspended: _,
            starting_deadline: _,
        } = self;
        let own: usize = rules.iter().map(Rule::bytes).sum();
        let excluded: HashMap<_, _> = rules
            .iter()
            .map(|rule| (Arc::as_ptr(&rule.excluded), rule.excluded.bytes()))
            .collect();
        size_of::<Self>() + own + excluded.values().sum::<usize>()
    }

    /// True while none of the rules applies, by the user's word.
    pub const fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// The time after a missed run within which it is made up for.
    pub const fn starting_deadline(&self) -> SignedDuration {
        self.starting_deadline
    }
}
