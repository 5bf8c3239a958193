use super::*;

#[tokio::test]
async fn work_that_panics_leaves_a_loop_that_goes_on() {
    let (targets, outcome) = work(Targets::default(), |_| -> usize { panic!("on purpose") }).await;
    assert_eq!(outcome, 0);
    let (_, outcome) = work(targets, |_| 7).await;
    assert_eq!(outcome, 7);
}
