//! Time zones by their IANA names, from the database that is compiled in.

use std::fmt;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// A time zone that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: Box<str>,
    rules: TimeZone,
}

/// A name that is no time zone's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a time zone; accepted: a name of the IANA database, such as Europe/Berlin or UTC"
)]
pub struct UnknownZone(String);

impl UnknownZone {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        "TimeZone"
    }
}

impl Zone {
    /// Coordinated universal time.
    pub fn utc() -> Self {
        Self {
            name: "UTC".into(),
            rules: TimeZone::UTC,
        }
    }

    /// The zone of this name, in whichever case it is written.
    ///
    /// # Errors
    /// A name that is not in the database.
    pub fn parse(name: &str) -> Result<Self, UnknownZone> {
        let rules = TimeZoneDatabase::bundled()
            .get(name)
            .map_err(|_| UnknownZone(name.to_owned()))?;
        Ok(Self {
            name: rules.iana_name().unwrap_or(name).into(),
            rules,
        })
    }

    /// The bytes that it holds beside its own size. All users of the zone share its rules, which do not count.
    pub(crate) fn bytes(&self) -> usize {
        let Self { name, rules: _ } = self;
        name.len()
    }

    /// The rules of the zone.
    pub(crate) const fn rules(&self) -> &TimeZone {
        &self.rules
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_go_by_the_names_of_the_database() {
        for (name, shown) in [
            ("Europe/Berlin", "Europe/Berlin"),
            ("asia/shanghai", "Asia/Shanghai"),
            ("UTC", "UTC"),
        ] {
            assert_eq!(Zone::parse(name).unwrap().to_string(), shown);
        }
        for name in ["", "Local", "CEST+2", "+02:00", "Europe/Atlantis"] {
            let error = Zone::parse(name).unwrap_err();
            assert!(error.to_string().contains("Europe/Berlin"), "{error}");
        }
    }
}
