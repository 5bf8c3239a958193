//! Headroom, balance and AHP against reference numbers.

mod vectors {
    #[path = "../../../scaling/tests/vectors/files.rs"]
    mod files;
    mod scheduling;
}
