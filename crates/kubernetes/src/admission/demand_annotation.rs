//! The value of the `demand` annotation: the five numbers of a demand as compact JSON.

use evenkeel_core::units::{Amount, Resources};

/// The value of the annotation for this demand, in millicores, bytes and bytes per second.
pub(super) fn write(demand: &Resources<Amount>) -> String {
    let parts: Vec<String> = demand
        .iter()
        .map(|(resource, amount)| format!("\"{resource}\":{}", amount.get()))
        .collect();
    format!("{{{}}}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_compact_and_names_every_resource() {
        let demand = Resources::new([100, 1 << 30, 0, 5, u64::MAX]).map(Amount::new);
        let text = write(&demand);
        let expected = r#"{"cpu":100,"memory":1073741824,"networkIo":0,"diskIo":5,"disk":18446744073709551615}"#;
        assert_eq!(text, expected);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["disk"], u64::MAX);
    }
}
