//! The `demand` annotation: the five numbers as compact JSON, in base units.

use serde::Deserialize;

use super::annotations::{DEMAND, InvalidAnnotation};
use evenkeel_core::units::{Amount, Resources};

const ACCEPTED: &str =
    r#"five whole numbers, such as {"cpu":100,"memory":1024,"networkIo":0,"diskIo":0,"disk":0}"#;

/// The value of the annotation for this demand.
#[must_use]
pub fn write(demand: &Resources<Amount>) -> String {
    let parts: Vec<String> = demand
        .iter()
        .map(|(resource, amount)| format!("\"{resource}\":{}", amount.get()))
        .collect();
    format!("{{{}}}", parts.join(","))
}

/// The demand in a value of the annotation.
///
/// # Errors
/// An [`InvalidAnnotation`] where it does not hold exactly the five numbers.
pub fn read(value: &str) -> Result<Resources<Amount>, InvalidAnnotation> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Five {
        cpu: u64,
        memory: u64,
        network_io: u64,
        disk_io: u64,
        disk: u64,
    }
    let Five {
        cpu,
        memory,
        network_io,
        disk_io,
        disk,
    } = serde_json::from_str(value).map_err(|_| InvalidAnnotation::new(DEMAND, value, ACCEPTED))?;
    Ok(Resources::new([cpu, memory, network_io, disk_io, disk]).map(Amount::new))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_compact_and_names_every_resource() {
        let demand = Resources::new([100, 1 << 30, 0, 5, 7]).map(Amount::new);
        let text = r#"{"cpu":100,"memory":1073741824,"networkIo":0,"diskIo":5,"disk":7}"#;
        assert_eq!(write(&demand), text);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "null",
            "{}",
            r#"{"cpu":1,"memory":1,"networkIo":1,"diskIo":1}"#,
            r#"{"cpu":-1,"memory":1,"networkIo":1,"diskIo":1,"disk":1}"#,
            r#"{"cpu":1.5,"memory":1,"networkIo":1,"diskIo":1,"disk":1}"#,
            r#"{"cpu":1,"memory":1,"networkIo":1,"diskIo":1,"disk":1,"gpu":1}"#,
        ] {
            assert_eq!(read(text).expect_err(text).key, DEMAND);
        }
    }

    proptest! {
        #[test]
        fn it_reads_back(amounts: [u64; 5]) {
            let demand = Resources::new(amounts).map(Amount::new);
            prop_assert_eq!(read(&write(&demand)), Ok(demand));
        }
    }
}
