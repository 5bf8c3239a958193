//! The order of queries: a few run at a time, at most half of them of one namespace. The others
//! wait in turns by namespace, so that a namespace with many queries delays itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_kubernetes::series_query::SeriesRefusal;
use tokio::sync::oneshot;

/// Queries that run or are being answered at a time, beside those of the ticks. Each takes a core
/// of a small Prometheus, and a large answer takes some 15 MB.
const AT_ONCE: usize = 4;

/// Of these, of one namespace.
const OF_NAMESPACE: usize = AT_ONCE / 2;

const WAITING_OF_NAMESPACE: usize = 16;

/// Questions that wait.
const WAITING: usize = 128;

/// The turns of all namespaces; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct FairTurns(Arc<Mutex<SeriesQueryQueue>>);

#[derive(Debug, Default)]
struct SeriesQueryQueue {
    asked: HashMap<Arc<str>, usize>,
    /// Those that wait, by namespace, in the order of the namespaces' turns.
    waiting: VecDeque<(Arc<str>, VecDeque<oneshot::Sender<SeriesQueryTurn>>)>,
}

/// The turn of one question, over when it is dropped.
#[derive(Debug)]
pub(super) struct SeriesQueryTurn {
    line: FairTurns,
    namespace: Arc<str>,
}

impl FairTurns {
    /// Waits for the turn of a question about `namespace`.
    ///
    /// # Errors
    /// Too many wait already.
    pub(super) async fn take(
        &self,
        namespace: &Arc<str>,
    ) -> Result<SeriesQueryTurn, SeriesRefusal> {
        let receiver = self.lock().join(namespace)?;
        self.go_on();
        // The sender is dropped with the line only.
        receiver.await.map_err(|_| SeriesRefusal::Busy)
    }

    #[cfg(test)]
    pub(super) fn asked(&self) -> usize {
        self.lock().asked.values().sum()
    }

    /// Gives turns to those that wait, as far as there are places.
    fn go_on(&self) {
        loop {
            let next = self.lock().next();
            let Some((namespace, waiting)) = next else {
                return;
            };
            let turn = SeriesQueryTurn {
                line: self.clone(),
                namespace,
            };
            // A caller that has left gives the turn back.
            drop(waiting.send(turn));
        }
    }

    fn lock(&self) -> MutexGuard<'_, SeriesQueryQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeriesQueryQueue {
    fn join(
        &mut self,
        namespace: &Arc<str>,
    ) -> Result<oneshot::Receiver<SeriesQueryTurn>, SeriesRefusal> {
        for (_, waiting) in &mut self.waiting {
            waiting.retain(|one| !one.is_closed());
        }
        self.waiting.retain(|(_, waiting)| !waiting.is_empty());
        let all: usize = self.waiting.iter().map(|(_, waiting)| waiting.len()).sum();
        if all >= WAITING {
            return Err(SeriesRefusal::Busy);
        }
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting.iter_mut();
        match waiting.find(|(known, _)| known == namespace) {
            Some((_, waiting)) if waiting.len() >= WAITING_OF_NAMESPACE => {
                return Err(SeriesRefusal::NamespaceBusy);
            }
            Some((_, waiting)) => waiting.push_back(sender),
            None => self
                .waiting
                .push_back((Arc::clone(namespace), [sender].into())),
        }
        Ok(receiver)
    }

    /// Takes the next that may be asked; its namespace goes to the end of the line.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<SeriesQueryTurn>)> {
        if self.asked.values().sum::<usize>() >= AT_ONCE {
            return None;
        }
        let asked = |namespace: &Arc<str>| self.asked.get(namespace).copied().unwrap_or(0);
        let place = self
            .waiting
            .iter()
            .position(|(namespace, _)| asked(namespace) < OF_NAMESPACE)?;
        let (namespace, mut waiting) = self.waiting.remove(place)?;
        let next = waiting.pop_front()?;
        if !waiting.is_empty() {
            self.waiting.push_back((Arc::clone(&namespace), waiting));
        }
        *self.asked.entry(Arc::clone(&namespace)).or_default() += 1;
        Some((namespace, next))
    }

    fn end(&mut self, namespace: &Arc<str>) {
        if let Some(asked) = self.asked.get_mut(namespace) {
            *asked = asked.saturating_sub(1);
            if *asked == 0 {
                self.asked.remove(namespace);
            }
        }
    }
}

impl Drop for SeriesQueryTurn {
    fn drop(&mut self) {
        self.line.lock().end(&self.namespace);
        self.line.go_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Arc<str> {
        text.into()
    }

    #[tokio::test]
    async fn one_namespace_has_half_of_the_places_and_its_turn_among_others() {
        let turns = FairTurns::default();
        let (loud, quiet) = (name("loud"), name("quiet"));
        let mut held = Vec::new();
        for _ in 0..OF_NAMESPACE {
            held.push(turns.take(&loud).await.unwrap());
        }
        let mut waiting = Vec::new();
        for _ in 0..WAITING_OF_NAMESPACE {
            let mut turn = Box::pin(turns.take(&loud));
            assert!(futures::poll!(&mut turn).is_pending());
            waiting.push(turn);
        }
        let refused = turns.take(&loud).await.unwrap_err();
        assert_eq!(refused, SeriesRefusal::NamespaceBusy);
        // Others are asked at once, beside and before those that wait.
        let other = turns.take(&quiet).await.unwrap();
        let another = turns.take(&quiet).await.unwrap();
        assert_eq!(turns.asked(), AT_ONCE);
        let mut later = Box::pin(turns.take(&quiet));
        assert!(futures::poll!(&mut later).is_pending());
        held.pop();
        // The place of the loud one goes to the next of its own: the quiet one has its half.
        assert!(futures::poll!(&mut waiting[0]).is_ready());
        assert!(futures::poll!(&mut later).is_pending());
        drop(other);
        assert!(futures::poll!(&mut later).is_ready());
        drop((another, held));
    }

    #[tokio::test]
    async fn who_leaves_takes_no_place() {
        let turns = FairTurns::default();
        let shop = name("shop");
        let first = turns.take(&shop).await.unwrap();
        let second = turns.take(&shop).await.unwrap();
        let mut left = Box::pin(turns.take(&shop));
        assert!(futures::poll!(&mut left).is_pending());
        drop(left);
        let mut waits = Box::pin(turns.take(&shop));
        assert!(futures::poll!(&mut waits).is_pending());
        drop(first);
        assert!(futures::poll!(&mut waits).is_ready());
        drop(second);
        assert_eq!(turns.asked(), 0, "every turn was given back");
    }

    #[tokio::test]
    async fn the_line_is_bounded() {
        let turns = FairTurns::default();
        let mut held = Vec::new();
        for number in 0..AT_ONCE {
            held.push(turns.take(&name(&format!("held-{number}"))).await.unwrap());
        }
        let mut waiting = Vec::new();
        for number in 0..WAITING {
            let namespace = name(&format!("waits-{number}"));
            let turns = turns.clone();
            let mut turn = Box::pin(async move { turns.take(&namespace).await });
            assert!(futures::poll!(&mut turn).is_pending());
            waiting.push(turn);
        }
        assert_eq!(
            turns.take(&name("late")).await.unwrap_err(),
            SeriesRefusal::Busy
        );
        drop(waiting);
        drop(held);
        turns.take(&name("late")).await.unwrap();
    }
}
