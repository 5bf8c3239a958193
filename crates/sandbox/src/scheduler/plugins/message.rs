//! kube-scheduler's text if no node takes a Pod.

use std::collections::BTreeMap;

use super::NodeRefusal;

/// For the Pod's condition. Reasons are counted and sorted, so the text changes only with the
/// counts.
pub fn unschedulable(refusals: &[Vec<NodeRefusal>]) -> String {
    let nodes = refusals.len();
    if nodes == 0 {
        return "no nodes available to schedule pods".to_owned();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for refusal in refusals.iter().flatten() {
        *counts.entry(&refusal.text).or_default() += 1;
    }
    let resolvable = refusals
        .iter()
        .filter(|node| node.iter().all(|refusal| refusal.resolvable))
        .count();
    let preemption = sorted(&[
        (resolvable, "No preemption victims found for incoming pod"),
        (
            nodes - resolvable,
            "Preemption is not helpful for scheduling",
        ),
    ]);
    let counts: Vec<(usize, &str)> = counts
        .into_iter()
        .map(|(text, count)| (count, text))
        .collect();
    format!(
        "0/{nodes} nodes are available: {}. preemption: 0/{nodes} nodes are available: {preemption}.",
        sorted(&counts)
    )
}

fn sorted(counts: &[(usize, &str)]) -> String {
    let mut texts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{count} {text}"))
        .collect();
    texts.sort_unstable();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_sorted_as_kube_scheduler_does() {
        let headroom = || vec![NodeRefusal::unresolvable("evenkeel: no headroom")];
        assert_eq!(
            unschedulable(&[headroom(), headroom()]),
            "0/2 nodes are available: 2 evenkeel: no headroom. preemption: 0/2 nodes are \
             available: 2 Preemption is not helpful for scheduling."
        );
        let full = vec![
            NodeRefusal {
                text: "Insufficient memory".into(),
                resolvable: true,
            },
            NodeRefusal {
                text: "Insufficient cpu".into(),
                resolvable: true,
            },
        ];
        assert_eq!(
            unschedulable(&[full, headroom(), headroom()]),
            "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 2 evenkeel: no \
             headroom. preemption: 0/3 nodes are available: 1 No preemption victims found for \
             incoming pod, 2 Preemption is not helpful for scheduling."
        );
        assert_eq!(unschedulable(&[]), "no nodes available to schedule pods");
    }
}
