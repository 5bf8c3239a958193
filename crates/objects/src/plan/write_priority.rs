//! The order of waiting writes. Writes that wake refused Pods go first, because they are few.
//! Writes that change targets precede writes that only report, so that ten thousand statuses delay
//! no floor. Changes of single Pods and score labels follow, because one
//! scale-in or load peak makes hundreds. Every eighth turn
//! belongs to reports. In each lane the namespaces take turns, and in each namespace the largest
//! gap goes first. A full lane drops the last write of the namespace with the most writes, so that
//! no namespace displaces another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{Purpose, Write};
use crate::object_ref::ObjectRef;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WritePriority {
    /// Writes that wake refused Pods.
    Wakes,
    Acts,
    /// Changes of single Pods, deletion costs and resizes, and score labels of nodes: they are many,
    /// and what waits for them can go on.
    Pods,
    Tells,
    Events,
}

impl WritePriority {
    pub const fn of(purpose: Purpose) -> Self {
        match purpose {
            Purpose::WakePods => Self::Wakes,
            Purpose::MirrorNamespace
            | Purpose::ScalingBounds
            | Purpose::ScalingReplicas
            | Purpose::Portrait
            | Purpose::OverloadTaint
            | Purpose::PodState
            | Purpose::Restore => Self::Acts,
            Purpose::DeletionCost | Purpose::Resize | Purpose::ScoreLabel => Self::Pods,
            Purpose::ScalingStatus => Self::Tells,
            Purpose::AnnotationWarning
            | Purpose::ScalingEvent
            | Purpose::OverloadEvent
            | Purpose::DeletionCostEvent
            | Purpose::ResizeEvent
            | Purpose::PodStateEvent
            | Purpose::DiskIoEvent
            | Purpose::Configuration => Self::Events,
        }
    }
}

/// Of so many writes one is taken from the lanes that tell, where one waits there.
const TURN: u64 = 8;

#[derive(Debug)]
pub struct Lanes {
    length: usize,
    wakes: WaitingWrites,
    acts: WaitingWrites,
    pods: WaitingWrites,
    tells: WaitingWrites,
    events: WaitingWrites,
    writing: HashSet<(WritePriority, ObjectRef)>,
    turn: u64,
}

impl Lanes {
    pub fn new(length: usize) -> Self {
        Self {
            length,
            wakes: WaitingWrites::default(),
            acts: WaitingWrites::default(),
            pods: WaitingWrites::default(),
            tells: WaitingWrites::default(),
            events: WaitingWrites::default(),
            writing: HashSet::new(),
            turn: 0,
        }
    }

    const fn lane(&mut self, lane: WritePriority) -> &mut WaitingWrites {
        match lane {
            WritePriority::Wakes => &mut self.wakes,
            WritePriority::Acts => &mut self.acts,
            WritePriority::Pods => &mut self.pods,
            WritePriority::Tells => &mut self.tells,
            WritePriority::Events => &mut self.events,
        }
    }

    /// Adds a write, in place of a waiting one for the same object in its lane. A write under way
    /// stands: the plan follows on its result. Returns the write without room.
    pub fn put(&mut self, write: Write) -> Option<Write> {
        let (lane, length) = (WritePriority::of(write.purpose), self.length);
        if self.writing.contains(&(lane, write.target.clone())) {
            return None;
        }
        let waiting = self.lane(lane);
        waiting.put(write);
        (waiting.length > length).then(|| waiting.shed()).flatten()
    }

    /// Takes out the next write in turn, of an object without another write under way.
    pub fn take_next(&mut self) -> Option<Write> {
        let Self {
            length: _,
            wakes,
            acts,
            pods,
            tells,
            events,
            writing,
            turn,
        } = self;
        let held: HashSet<&ObjectRef> = writing.iter().map(|(_, object)| object).collect();
        let found = wakes.next(&held).or_else(|| {
            *turn += 1;
            // Each of the two that tell is the first at every second of their turns.
            let [one, other] = if (*turn / TURN).is_multiple_of(2) == (*turn).is_multiple_of(2) {
                [tells, events]
            } else {
                [events, tells]
            };
            let order = if turn.is_multiple_of(TURN) {
                [one, other, acts, pods]
            } else {
                [acts, pods, one, other]
            };
            order.into_iter().find_map(|lane| lane.next(&held))
        });
        drop(held);
        if let Some(write) = &found {
            let place = (WritePriority::of(write.purpose), write.target.clone());
            self.writing.insert(place);
        }
        found
    }

    /// Takes note that a write is over.
    pub fn done(&mut self, write: &Write) {
        let place = (WritePriority::of(write.purpose), write.target.clone());
        self.writing.remove(&place);
    }
}

/// The namespace of an object; `None` for those of the cluster.
type ObjectNamespace = Option<String>;

/// The place of a write in its namespace: the larger gap first, then the older.
type Rank = (Reverse<u32>, u64);

#[derive(Debug, Default)]
struct WaitingWrites {
    namespaces: HashMap<ObjectNamespace, InNamespace>,
    turns: VecDeque<ObjectNamespace>,
    length: usize,
    came: u64,
}

#[derive(Debug, Default)]
struct InNamespace {
    writes: BTreeMap<Rank, Write>,
    ranks: HashMap<ObjectRef, Rank>,
}

impl WaitingWrites {
    fn put(&mut self, write: Write) {
        let namespace = &write.target.namespace;
        if !self.namespaces.contains_key(namespace) {
            self.turns.push_back(namespace.clone());
        }
        let inside = self.namespaces.entry(namespace.clone()).or_default();
        let before = inside.ranks.get(&write.target).copied();
        let age = if let Some(rank) = before {
            inside.writes.remove(&rank);
            rank.1
        } else {
            self.came += 1;
            self.length += 1;
            self.came
        };
        let rank = (Reverse(write.gap), age);
        inside.ranks.insert(write.target.clone(), rank);
        inside.writes.insert(rank, write);
    }

    fn next(&mut self, held: &HashSet<&ObjectRef>) -> Option<Write> {
        for _ in 0..self.turns.len() {
            let namespace = self.turns.pop_front()?;
            let inside = self.namespaces.get(&namespace);
            let free = inside.and_then(|inside| {
                let mut writes = inside.writes.iter();
                let (rank, _) = writes.find(|(_, write)| !held.contains(&write.target))?;
                Some(*rank)
            });
            let taken = free.and_then(|rank| self.take(&namespace, rank));
            if self.namespaces.contains_key(&namespace) {
                self.turns.push_back(namespace);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Takes out the last write of the namespace with most of them.
    fn shed(&mut self) -> Option<Write> {
        let sizes = self.namespaces.iter();
        let largest = sizes.max_by_key(|(namespace, inside)| (inside.writes.len(), *namespace));
        let (namespace, inside) = largest?;
        let (namespace, (rank, _)) = (namespace.clone(), inside.writes.last_key_value()?);
        let rank = *rank;
        let shed = self.take(&namespace, rank);
        if !self.namespaces.contains_key(&namespace) {
            self.turns.retain(|turn| *turn != namespace);
        }
        shed
    }

    /// Takes out one write, and its namespace after the last; the caller handles the turn.
    fn take(&mut self, namespace: &ObjectNamespace, rank: Rank) -> Option<Write> {
        let inside = self.namespaces.get_mut(namespace)?;
        let write = inside.writes.remove(&rank)?;
        inside.ranks.remove(&write.target);
        self.length -= 1;
        if inside.writes.is_empty() {
            self.namespaces.remove(namespace);
        }
        Some(write)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Kind;
    use crate::plan::WriteOperation;

    fn write(purpose: Purpose, namespace: &str, name: &str, gap: u32) -> Write {
        let target = ObjectRef::in_namespace(Kind::HorizontalPodAutoscaler, namespace, name);
        let operation = WriteOperation::Merge(json!({}));
        Write {
            gap,
            ..Write::new(purpose, target, operation)
        }
    }

    fn floor(namespace: &str, name: &str, gap: u32) -> Write {
        write(Purpose::ScalingBounds, namespace, name, gap)
    }

    /// The names of the next writes, each made at once.
    fn order(lanes: &mut Lanes, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            let Some(next) = lanes.take_next() else { break };
            lanes.done(&next);
            names.push(next.target.name);
        }
        names
    }

    #[test]
    fn the_largest_gap_of_each_namespace_goes_first_and_namespaces_take_turns() {
        let mut lanes = Lanes::new(100);
        for (namespace, name, gap) in [
            ("a", "a1", 1),
            ("a", "a9", 9),
            ("a", "a5", 5),
            ("b", "b2", 2),
            ("b", "b3", 3),
            ("c", "c0", 0),
        ] {
            assert_eq!(lanes.put(floor(namespace, name, gap)), None);
        }
        assert_eq!(order(&mut lanes, 9), ["a9", "b3", "c0", "a5", "b2", "a1"]);
        assert!(lanes.acts.namespaces.is_empty() && lanes.acts.turns.is_empty());
    }

    #[test]
    fn a_newer_plan_takes_the_place_of_the_older_with_its_own_gap() {
        let mut lanes = Lanes::new(100);
        for (name, gap) in [("one", 1), ("two", 1), ("one", 0), ("two", 1)] {
            lanes.put(floor("a", name, gap));
        }
        assert_eq!(lanes.acts.length, 2);
        assert_eq!(order(&mut lanes, 9), ["two", "one"]);
    }

    #[test]
    fn a_thousand_writes_in_one_namespace_delay_nobody() {
        let mut lanes = Lanes::new(1000);
        for number in 0..1000 {
            lanes.put(floor("tenant", &format!("forged-{number:04}"), 1_000_000));
        }
        // Their namespace gives its room.
        let shed = lanes
            .put(floor("shop", "web", 1))
            .expect("the lane is full");
        assert_eq!(shed.target.name, "forged-0999");
        lanes.put(write(Purpose::ScalingStatus, "shop", "status", 0));
        lanes.put(write(Purpose::ScalingEvent, "shop", "event", 0));
        lanes.put(write(Purpose::WakePods, "system", "wake", 0));
        let first = order(&mut lanes, 2 * 8 + 1);
        let place = |name: &str| first.iter().position(|one| one == name);
        assert_eq!(place("wake"), Some(0));
        assert_eq!(place("web"), Some(2), "after one of the other namespace");
        assert!(
            place("status").is_some() && place("event").is_some(),
            "{first:?}"
        );
    }

    #[test]
    fn thousands_of_costs_take_neither_turn_nor_room_of_a_lowering() {
        let mut lanes = Lanes::new(1000);
        for number in 0..1000 {
            let cost = write(
                Purpose::DeletionCost,
                "shop",
                &format!("web-{number:04}"),
                0,
            );
            assert_eq!(lanes.put(cost), None);
        }
        assert_eq!(lanes.put(floor("shop", "web", 0)), None, "it has room");
        assert_eq!(order(&mut lanes, 2), ["web", "web-0000"]);
    }

    #[test]
    fn a_small_namespace_finds_room_and_a_large_one_sheds_its_smallest_gap() {
        let mut lanes = Lanes::new(3);
        for (name, gap) in [("a", 3), ("b", 1), ("c", 2)] {
            lanes.put(floor("large", name, gap));
        }
        let shed = |lanes: &mut Lanes, write| lanes.put(write).map(|shed| shed.target.name);
        assert_eq!(
            shed(&mut lanes, floor("large", "d", 4)).as_deref(),
            Some("b")
        );
        assert_eq!(
            shed(&mut lanes, floor("large", "e", 0)).as_deref(),
            Some("e")
        );
        assert_eq!(
            shed(&mut lanes, floor("small", "f", 0)).as_deref(),
            Some("c")
        );
        assert_eq!(order(&mut lanes, 9), ["d", "f", "a"]);
    }

    #[test]
    fn an_object_is_written_once_at_a_time() {
        let mut lanes = Lanes::new(9);
        lanes.put(floor("a", "web", 5));
        lanes.put(write(Purpose::ScalingStatus, "a", "web", 0));
        let first = lanes.take_next().unwrap();
        assert_eq!(first.purpose, Purpose::ScalingBounds);
        assert_eq!(lanes.take_next(), None, "its status waits");
        assert_eq!(lanes.put(floor("a", "web", 6)), None);
        lanes.done(&first);
        let second = lanes.take_next().unwrap();
        assert_eq!(second.purpose, Purpose::ScalingStatus);
        lanes.done(&second);
        assert_eq!(
            lanes.take_next(),
            None,
            "a plan on what was being changed is no plan"
        );
    }
}
