//! Changes of the table by time alone.

use std::sync::Arc;

use jiff::Timestamp;

use super::NodeTable;
use super::pod::Stage;

impl NodeTable {
    /// Measurements grow stale, and Pods without a binding or a start are given up. Looks at all
    /// nodes only when the oldest measurement in use expires.
    pub fn advance(&mut self, now: Timestamp) {
        self.give_up_choices(now);
        self.give_up_unstarted(now);
        if self.settled_until.is_some_and(|until| now <= until) {
            return;
        }
        let names: Vec<Arc<str>> = self.nodes.keys().cloned().collect();
        for name in &names {
            self.resolve(name, now);
        }
        self.look_ahead(now);
    }

    fn give_up_unstarted(&mut self, now: Timestamp) {
        while let Some(uid) = self.unstarted.take_due(now, self.settings.unstarted) {
            let Some(mut pod) = self.detach(&uid) else {
                continue;
            };
            let node = Arc::clone(&pod.node);
            if let Some(bound) = pod.bound() {
                pod.stage = Stage::Stalled { bound };
            }
            self.attach(&uid, pod, now);
            self.resolve(&node, now);
        }
    }
}
