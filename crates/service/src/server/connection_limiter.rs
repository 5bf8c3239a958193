//! The choice of open connections: every newcomer gets one, at the price of the client with the
//! least use for its own.
//!
//! A listener that stops accepting when it is full can be blocked by silent connections. This one
//! always accepts and closes one of its connections. The API server shows no certificate, so
//! connections are judged by their behaviour:
//!
//! * Connections with a good answer are set apart from those without. While more than a quarter are
//!   without, one of these goes. So neither idle connections of callers nor a newcomer's handshake
//!   can be crowded out by the other kind.
//! * The peer with the most of them loses one: the least recently used, if possible without a
//!   request under way. A peer is an IPv4 address or an IPv6 network of 64 bits. A NAT may put the
//!   API server and an attacker behind one address. So a peer at its bound is not refused but loses
//!   one of its own.
//! * A connection of kube-scheduler moves to slots of its own.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::settings::ConnectionBounds;

/// The slots of a listener; clones share them.
#[derive(Debug, Clone)]
pub(super) struct ConnectionLimiter(Arc<ConnectionTable>);

#[derive(Debug)]
struct ConnectionTable {
    bounds: ConnectionBounds,
    /// Numbers connections, and orders their uses.
    count: AtomicU64,
    open: Mutex<HashMap<u64, ConnectionEntry>>,
}

#[derive(Debug)]
struct ConnectionEntry {
    peer: IpAddr,
    activity: Activity,
    is_scheduler: bool,
    crowded_out: CancellationToken,
}

/// A connection's slot, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    id: u64,
    slots: ConnectionLimiter,
    activity: Activity,
    crowded_out: CancellationToken,
}

impl ConnectionLimiter {
    pub(super) fn new(bounds: ConnectionBounds) -> Self {
        Self(Arc::new(ConnectionTable {
            bounds,
            count: AtomicU64::new(1),
            open: Mutex::default(),
        }))
    }

    /// A slot for a connection from `address`; if none is free, another connection loses its own.
    pub(super) fn admit(&self, address: IpAddr) -> Slot {
        let ConnectionBounds {
            total,
            per_peer,
            scheduler: _,
        } = self.0.bounds;
        let peer = peer(address);
        let mut open = self.open();
        let others = || open.iter().filter(|(_, entry)| !entry.is_scheduler);
        let of_peer = || others().filter(|(_, entry)| entry.peer == peer);
        let victim = if of_peer().count() >= per_peer.get() {
            least_useful(of_peer())
        } else if others().count() >= total.get() {
            least_useful(others())
        } else {
            None
        };
        close(&mut open, victim);
        let id = self.next();
        let (activity, crowded_out) = (Activity::default(), CancellationToken::new());
        let entry = ConnectionEntry {
            peer,
            activity: activity.clone(),
            is_scheduler: false,
            crowded_out: crowded_out.clone(),
        };
        open.insert(id, entry);
        Slot {
            id,
            slots: self.clone(),
            activity,
            crowded_out,
        }
    }

    fn next(&self) -> u64 {
        self.0.count.fetch_add(1, Ordering::Relaxed)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, ConnectionEntry>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    pub(super) async fn crowded_out(&self) {
        self.crowded_out.cancelled().await;
    }

    pub(super) const fn activity(&self) -> &Activity {
        &self.activity
    }

    /// A request was answered as its client wished.
    pub(super) fn used(&self) {
        self.activity.used(self.slots.next());
    }

    /// The client has shown a certificate of the scheduler's authority.
    pub(super) fn take_scheduler_slot(&self) {
        let mut open = self.slots.open();
        let schedulers = || open.iter().filter(|(_, entry)| entry.is_scheduler);
        if schedulers().count() >= self.slots.0.bounds.scheduler.get() {
            let victim = least_useful(schedulers());
            close(&mut open, victim);
        }
        if let Some(entry) = open.get_mut(&self.id) {
            entry.is_scheduler = true;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.open().remove(&self.id);
    }
}

fn close(open: &mut HashMap<u64, ConnectionEntry>, victim: Option<u64>) {
    if let Some(entry) = victim.and_then(|id| open.remove(&id)) {
        entry.crowded_out.cancel();
    }
}

/// The connection that is missed least.
fn least_useful<'a>(among: impl Iterator<Item = (&'a u64, &'a ConnectionEntry)>) -> Option<u64> {
    let all: Vec<(u64, &ConnectionEntry)> = among.map(|(id, entry)| (*id, entry)).collect();
    let mut of_peer: HashMap<IpAddr, usize> = HashMap::new();
    for (_, entry) in &all {
        *of_peer.entry(entry.peer).or_default() += 1;
    }
    let is_new = |entry: &ConnectionEntry| entry.activity.last_use() == 0;
    let new = all.iter().filter(|(_, entry)| is_new(entry)).count();
    let takes_new = new * 4 > all.len();
    let candidates = all.iter().filter(|(_, entry)| is_new(entry) == takes_new);
    let least = candidates.min_by_key(|(id, entry)| {
        let of_peer = of_peer.get(&entry.peer).copied();
        let last = entry.activity.last_use().max(*id);
        (Reverse(of_peer), entry.activity.is_busy(), last)
    });
    least.map(|(id, _)| *id)
}

/// The addresses that count as one peer: an IPv4 address, or a 64-bit IPv6 network, in which a
/// machine may take any address.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    fn slots(total: usize, per_peer: usize, scheduler: usize) -> ConnectionLimiter {
        let count = |count| NonZeroUsize::new(count).unwrap();
        ConnectionLimiter::new(ConnectionBounds {
            total: count(total),
            per_peer: count(per_peer),
            scheduler: count(scheduler),
        })
    }

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn open(slots: &ConnectionLimiter, peer: u8, count: usize) -> Vec<Slot> {
        (0..count).map(|_| slots.admit(address(peer))).collect()
    }

    fn is_open(slot: &Slot) -> bool {
        !slot.crowded_out.is_cancelled()
    }

    fn still_open(held: &[Slot]) -> usize {
        held.iter().filter(|slot| is_open(slot)).count()
    }

    #[test]
    fn a_peer_at_its_bound_loses_its_oldest_that_was_never_used() {
        let slots = slots(100, 4, 1);
        let mut held = open(&slots, 1, 4);
        held[0].used();
        held.extend(open(&slots, 1, 2));
        let open: Vec<bool> = held.iter().map(is_open).collect();
        assert_eq!(open, [true, false, false, true, true, true]);
        assert!(is_open(&slots.admit(address(2))));
        assert_eq!(still_open(&held), 4, "another peer costs it nothing");
    }

    #[test]
    fn the_peer_with_the_most_gives_way_and_not_the_one_with_few() {
        let slots = slots(8, 100, 1);
        let few = open(&slots, 1, 2);
        let many = open(&slots, 2, 6);
        let newcomers = open(&slots, 3, 3);
        assert_eq!((still_open(&few), still_open(&many)), (2, 3));
        assert_eq!(still_open(&newcomers), 3);
    }

    #[test]
    fn a_caller_behind_the_attackers_address_keeps_what_it_uses() {
        let slots = slots(64, 8, 1);
        let caller = slots.admit(address(1));
        caller.used();
        for _ in 0..1000 {
            let attack = open(&slots, 1, 3);
            assert!(is_open(&attack[2]));
            assert!(is_open(&caller));
        }
        let held = open(&slots, 1, 20);
        assert!(is_open(&caller));
        assert_eq!(still_open(&held), 7);
    }

    #[test]
    fn connections_that_were_used_once_do_not_shut_newcomers_out() {
        let slots = slots(16, 100, 1);
        let used = open(&slots, 1, 16);
        used.iter().for_each(Slot::used);
        let new: Vec<_> = (2..8).map(|peer| slots.admit(address(peer))).collect();
        // A quarter and one, the newest, of which the newer ones take the place of the older.
        assert_eq!(still_open(&new), 5, "of those in the middle of a handshake");
        assert!(new[2..].iter().all(is_open));
        assert_eq!(still_open(&used), 11);
        assert!(used[5..].iter().all(is_open), "the longest unused went");
    }

    #[test]
    fn a_request_under_way_is_spared_as_long_as_others_are_not() {
        let slots = slots(3, 100, 1);
        let held = open(&slots, 1, 3);
        let request = held[0].activity().call();
        let newcomer = slots.admit(address(2));
        assert!(is_open(&held[0]) && !is_open(&held[1]) && is_open(&newcomer));
        drop(request);
    }

    #[test]
    fn kube_scheduler_has_slots_of_its_own() {
        let slots = slots(4, 4, 2);
        let scheduler = slots.admit(address(1));
        scheduler.take_scheduler_slot();
        let attack = open(&slots, 1, 50);
        assert!(is_open(&scheduler));
        assert_eq!(still_open(&attack), 4, "and take none of the others'");
        let second = slots.admit(address(9));
        second.take_scheduler_slot();
        second.used();
        let third = slots.admit(address(9));
        third.take_scheduler_slot();
        assert!(!is_open(&scheduler), "the one used least of its own");
        assert!(is_open(&second) && is_open(&third));
    }

    #[test]
    fn what_is_closed_leaves_its_slot() {
        let slots = slots(2, 2, 1);
        let first = slots.admit(address(1));
        drop(slots.admit(address(1)));
        let third = slots.admit(address(1));
        assert!(is_open(&first) && is_open(&third));
        assert_eq!(slots.open().len(), 2);
    }

    #[test]
    fn a_peer_is_an_address_of_ipv4_or_a_network_of_ipv6() {
        let same = |a: &str, b: &str| peer(a.parse().unwrap()) == peer(b.parse().unwrap());
        assert!(same("10.0.0.1", "::ffff:10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
        assert!(same("fd00:1:2:3::1", "fd00:1:2:3:ffff::9"));
        assert!(!same("fd00:1:2:3::1", "fd00:1:2:4::1"));
    }
}
