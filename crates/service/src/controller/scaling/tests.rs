//! The work of the loop on the state of all targets.

mod simulated;

use super::*;

#[tokio::test]
async fn a_panic_in_the_work_that_targets_share_ends_the_loop() {
    let (targets, outcome) = work(ScalingTargets::default(), |_| 7).await;
    assert_eq!(outcome, 7);
    let broken = tokio::spawn(work(targets, |_| -> usize { panic!("on purpose") }));
    assert!(broken.await.unwrap_err().is_panic());
}
