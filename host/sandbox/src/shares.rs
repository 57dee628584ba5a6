//! A number of places that modules share, so that none of them takes all.
//!
//! Half of the places are kept for the modules, in equal parts. Any module may take the other half. So a module finds its
//! part free whatever the others do.

use std::sync::Arc;

use parking_lot::Mutex;

/// The places. Clones share them.
#[derive(Clone)]
pub(super) struct Shares(Arc<Mutex<State>>);

struct State {
    total: u32,
    free: u32,
    /// The number of places that are kept for each module.
    part: u32,
    /// The number of places that each module has. `None` if the module is gone.
    taken: Vec<Option<u32>>,
    /// The sum of what the modules have not taken of their parts.
    kept: u32,
}

/// The right of one module to take places.
pub(super) struct Share {
    shares: Shares,
    index: usize,
}

/// Places that a module has until this is dropped.
pub(super) struct Taken {
    share: Arc<Share>,
    places: u32,
}

impl Shares {
    pub(super) fn new(total: u32) -> Self {
        Self(Arc::new(Mutex::new(State { total, free: total, part: 0, taken: Vec::new(), kept: 0 })))
    }

    /// Gives a module its part, which makes the parts of the others smaller.
    pub(super) fn join(&self) -> Arc<Share> {
        let mut state = self.0.lock();
        let index = state.taken.iter().position(Option::is_none).unwrap_or(state.taken.len());
        match state.taken.get_mut(index) {
            Some(former) => *former = Some(0),
            None => state.taken.push(Some(0)),
        }
        state.divide();
        Arc::new(Share { shares: self.clone(), index })
    }
}

impl State {
    /// Divides the kept half among the modules there are now.
    fn divide(&mut self) {
        let modules = u32::try_from(self.taken.iter().flatten().count()).unwrap_or(u32::MAX);
        self.part = self.total / 2 / modules.max(1);
        self.kept = self.taken.iter().flatten().map(|taken| self.part.saturating_sub(*taken)).sum();
    }

    /// Changes the number of places that a module has.
    fn set(&mut self, index: usize, places: u32) {
        let Some(Some(taken)) = self.taken.get_mut(index) else { return };
        self.kept = (self.kept + self.part.saturating_sub(places)).saturating_sub(self.part.saturating_sub(*taken));
        self.free = (self.free + *taken).saturating_sub(places);
        *taken = places;
    }

    fn taken(&self, index: usize) -> u32 {
        self.taken.get(index).copied().flatten().unwrap_or_default()
    }
}

impl Share {
    /// Takes places. `None` if the module has its part, and the others are taken or kept.
    pub(super) fn take(self: &Arc<Self>, places: u32) -> Option<Taken> {
        let mut state = self.shares.0.lock();
        let places = places.min(state.total);
        let taken = state.taken(self.index);
        let of_own_part = state.part.saturating_sub(taken).min(places);
        let left = state.free.checked_sub(places)?;
        if places > of_own_part && left < state.kept.saturating_sub(of_own_part) {
            return None;
        }
        state.set(self.index, taken + places);
        Some(Taken { share: Arc::clone(self), places })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = self.shares.0.lock();
        if let Some(taken) = state.taken.get_mut(self.index) {
            *taken = None;
        }
        state.divide();
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut state = self.share.shares.0.lock();
        let taken = state.taken(self.share.index);
        state.set(self.share.index, taken - self.places);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes single places until no more is given.
    fn take_all(share: &Arc<Share>) -> Vec<Taken> {
        std::iter::from_fn(|| share.take(1)).collect()
    }

    #[test]
    fn a_module_alone_takes_all_places() {
        let shares = Shares::new(8);
        assert_eq!(take_all(&shares.join()).len(), 8);
    }

    #[test]
    fn each_module_finds_its_part_of_the_kept_half() {
        let shares = Shares::new(16);
        let modules: Vec<_> = (0..4).map(|_| shares.join()).collect();
        let first = take_all(&modules[0]);
        assert_eq!(first.len(), 10, "2 of its own and 8 of all");
        for module in &modules[1..] {
            assert_eq!(take_all(module).len(), 2);
        }
        let others: Vec<_> = modules[1..].iter().flat_map(take_all).collect();
        assert_eq!(others.len(), 6);
        assert!(modules[0].take(1).is_none());
        drop(first);
        assert_eq!(take_all(&modules[3]).len(), 8, "the part of the first module stays kept");
        assert_eq!(take_all(&modules[0]).len(), 10);
    }

    #[test]
    fn a_module_that_needs_many_places_gets_them_rarely() {
        let shares = Shares::new(16);
        let (large, small) = (shares.join(), shares.join());
        let taken: Vec<_> = std::iter::from_fn(|| large.take(3)).collect();
        assert_eq!(taken.len(), 4, "12 places; 4 are kept for the other");
        assert_eq!(take_all(&small).len(), 4);
        drop(taken);
        assert!(large.take(100).is_none(), "a part of the other is kept");
    }

    #[test]
    fn places_come_back_when_modules_leave() {
        let shares = Shares::new(8);
        let (stays, leaves) = (shares.join(), shares.join());
        let taken = leaves.take(4).unwrap();
        drop(leaves);
        assert_eq!(take_all(&stays).len(), 4, "a module that is replaced has its places until its last call ends");
        drop(taken);
        assert_eq!(take_all(&stays).len(), 8);
        let late = shares.join();
        let before = take_all(&stays);
        assert_eq!((before.len(), take_all(&late).len()), (6, 2));
    }

    #[test]
    fn places_that_were_taken_before_a_module_joined_are_not_taken_away() {
        let shares = Shares::new(8);
        let first = shares.join();
        let mut all = take_all(&first);
        let second = shares.join();
        assert!(second.take(1).is_none());
        all.truncate(7);
        assert!(first.take(1).is_none(), "the free place is kept for the second one");
        assert_eq!(take_all(&second).len(), 1);
    }
}
