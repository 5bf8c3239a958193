//! UIDs and generated names: a hash of a seed and a counter, so that the same seed and order of
//! requests give the same names.

use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// Makes no words, as in Kubernetes.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Longest generated name before its suffix.
const LONGEST_BASE: usize = 58;

#[derive(Debug)]
pub(crate) struct Identities {
    seed: u64,
    counter: AtomicU64,
}

impl Identities {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            counter: AtomicU64::new(0),
        }
    }

    /// As a random UUID.
    pub(crate) fn uid(&self) -> String {
        let mut bytes = self.next();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let mut uid = String::with_capacity(36);
        for (index, byte) in bytes[..16].iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                uid.push('-');
            }
            for nibble in [byte >> 4, byte & 0x0f] {
                uid.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
            }
        }
        uid
    }

    pub(crate) fn name(&self, base: &str) -> String {
        let bytes = self.next();
        let suffix = bytes[..5]
            .iter()
            .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
        base.chars().take(LONGEST_BASE).chain(suffix).collect()
    }

    fn next(&self) -> [u8; 32] {
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update(count.to_le_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn uids_are_uuids_and_the_seed_decides_them() {
        let ids = Identities::new(7);
        let again = Identities::new(7);
        let uids: BTreeSet<String> = (0..100).map(|_| ids.uid()).collect();
        assert_eq!(uids.len(), 100);
        assert!(uids.contains(&again.uid()));
        for uid in &uids {
            assert_eq!((uid.len(), uid.as_bytes()[14]), (36, b'4'));
        }
    }

    #[test]
    fn generated_names_keep_their_base_and_fit() {
        let ids = Identities::new(1);
        assert!(ids.name("web-").starts_with("web-"));
        assert_eq!(ids.name("web-").len(), 9);
        assert_eq!(ids.name(&"x".repeat(80)).len(), 63);
    }
}
