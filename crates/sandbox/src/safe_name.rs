//! The alphabet of generated endings of names in Kubernetes: without vowels, and without digits that
//! look like them. Evenkeel reads a workload off its Pods' names by it.

pub(crate) const SAFE: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A number as the hash of a template, as Kubernetes encodes its digits.
pub(crate) fn encode(number: u32) -> String {
    let digits = format!("{number:010}");
    let safe = digits
        .bytes()
        .map(|digit| SAFE[usize::from(digit) % SAFE.len()]);
    safe.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use evenkeel_objects::pod_names;

    use super::*;

    #[test]
    fn pods_with_such_a_hash_are_their_deployments() {
        for number in [0, 7, 1_234_567_890, u32::MAX] {
            let pod = format!("web-{}-x2x4z", encode(number));
            assert!(pod_names::is_of(Kind::Deployment, "web", &pod), "{pod}");
        }
        assert_ne!(encode(1), encode(2));
    }
}
