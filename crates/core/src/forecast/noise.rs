//! Numbers without a pattern for tests, the same in every run (`[SplitMix]`).

/// Normal numbers of mean 0 and variance 1.
pub(crate) fn normal(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut even = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (f64::from(u32::try_from(mixed >> 33).unwrap()) + 0.5) / f64::from(1_u32 << 31)
    };
    let mut normal = move || {
        let (radius, angle) = ((-2.0 * even().ln()).sqrt(), std::f64::consts::TAU * even());
        radius * angle.cos()
    };
    (0..count).map(|_| normal()).collect()
}
