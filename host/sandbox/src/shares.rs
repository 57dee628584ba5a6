//! Permits that modules share, so that no module takes all of them.
//!
//! Half of the permits are reserved for the modules, in equal shares. Any module may take the other
//! half. A module can therefore take its share whatever the other modules do.

use std::sync::Arc;

use parking_lot::Mutex;

/// The permits. Clones share them.
#[derive(Clone)]
pub(super) struct SharedPermits(Arc<Mutex<State>>);

struct State {
    total: u32,
    free: u32,
    /// The number of permits that are reserved for each module.
    share: u32,
    /// The number of permits that each module holds. `None` if the module is gone.
    held: Vec<Option<u32>>,
    /// The permits of all shares that are still free.
    reserved: u32,
}

/// The share of one module.
pub(super) struct Share {
    permits: SharedPermits,
    index: usize,
}

/// Permits that a module holds until this is dropped.
pub(super) struct Permits {
    share: Arc<Share>,
    count: u32,
}

impl SharedPermits {
    pub(super) fn new(total: u32) -> Self {
        Self(Arc::new(Mutex::new(State { total, free: total, share: 0, held: Vec::new(), reserved: 0 })))
    }

    /// Gives a module its share, which makes the shares of the others smaller.
    pub(super) fn join(&self) -> Arc<Share> {
        let mut state = self.0.lock();
        let index = state.held.iter().position(Option::is_none).unwrap_or(state.held.len());
        match state.held.get_mut(index) {
            Some(unused) => *unused = Some(0),
            None => state.held.push(Some(0)),
        }
        state.divide();
        Arc::new(Share { permits: self.clone(), index })
    }
}

impl State {
    /// Divides the reserved half among the present modules.
    fn divide(&mut self) {
        let modules = u32::try_from(self.held.iter().flatten().count()).unwrap_or(u32::MAX);
        self.share = self.total / 2 / modules.max(1);
        self.reserved = self.held.iter().flatten().map(|held| self.share.saturating_sub(*held)).sum();
    }

    /// Changes the number of permits that a module holds.
    fn set(&mut self, index: usize, count: u32) {
        let Some(Some(held)) = self.held.get_mut(index) else { return };
        let (before, after) = (self.share.saturating_sub(*held), self.share.saturating_sub(count));
        self.reserved = (self.reserved + after).saturating_sub(before);
        self.free = (self.free + *held).saturating_sub(count);
        *held = count;
    }

    fn held(&self, index: usize) -> u32 {
        self.held.get(index).copied().flatten().unwrap_or_default()
    }
}

impl Share {
    /// Takes permits. `None` if the module holds its share, and the other permits are taken or
    /// reserved.
    pub(super) fn take(self: &Arc<Self>, count: u32) -> Option<Permits> {
        let mut state = self.permits.0.lock();
        let count = count.min(state.total);
        let held = state.held(self.index);
        let of_own_share = state.share.saturating_sub(held).min(count);
        let remaining = state.free.checked_sub(count)?;
        if count > of_own_share && remaining < state.reserved.saturating_sub(of_own_share) {
            return None;
        }
        state.set(self.index, held + count);
        Some(Permits { share: Arc::clone(self), count })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = self.permits.0.lock();
        if let Some(held) = state.held.get_mut(self.index) {
            *held = None;
        }
        state.divide();
    }
}

impl Drop for Permits {
    fn drop(&mut self) {
        let mut state = self.share.permits.0.lock();
        let held = state.held(self.share.index);
        state.set(self.share.index, held - self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes single permits until no more is given.
    fn take_all(share: &Arc<Share>) -> Vec<Permits> {
        std::iter::from_fn(|| share.take(1)).collect()
    }

    #[test]
    fn a_module_alone_takes_all_permits() {
        let permits = SharedPermits::new(8);
        assert_eq!(take_all(&permits.join()).len(), 8);
    }

    #[test]
    fn each_module_can_take_its_share_of_the_reserved_half() {
        let permits = SharedPermits::new(16);
        let modules: Vec<_> = (0..4).map(|_| permits.join()).collect();
        let first = take_all(&modules[0]);
        assert_eq!(first.len(), 10, "2 of its share and 8 of the other half");
        for module in &modules[1..] {
            assert_eq!(take_all(module).len(), 2);
        }
        let others: Vec<_> = modules[1..].iter().flat_map(take_all).collect();
        assert_eq!(others.len(), 6);
        assert!(modules[0].take(1).is_none());
        drop(first);
        assert_eq!(take_all(&modules[3]).len(), 8, "the share of the first module stays reserved");
        assert_eq!(take_all(&modules[0]).len(), 10);
    }

    #[test]
    fn a_module_that_takes_several_permits_in_one_step_leaves_the_share_of_another() {
        let permits = SharedPermits::new(16);
        let (large, small) = (permits.join(), permits.join());
        let taken: Vec<_> = std::iter::from_fn(|| large.take(3)).collect();
        assert_eq!(taken.len(), 4, "12 permits; 4 are reserved for the other module");
        assert_eq!(take_all(&small).len(), 4);
        drop(taken);
        assert!(large.take(100).is_none(), "the share of the other module is reserved");
    }

    #[test]
    fn permits_come_back_when_modules_leave() {
        let permits = SharedPermits::new(8);
        let (stays, leaves) = (permits.join(), permits.join());
        let taken = leaves.take(4).unwrap();
        drop(leaves);
        assert_eq!(take_all(&stays).len(), 4, "a module that is replaced holds its permits until its last call ends");
        drop(taken);
        assert_eq!(take_all(&stays).len(), 8);
        let late = permits.join();
        let before = take_all(&stays);
        assert_eq!((before.len(), take_all(&late).len()), (6, 2));
    }

    #[test]
    fn permits_that_were_taken_before_a_module_joined_are_not_taken_away() {
        let permits = SharedPermits::new(8);
        let first = permits.join();
        let mut all = take_all(&first);
        let second = permits.join();
        assert!(second.take(1).is_none());
        all.truncate(7);
        assert!(first.take(1).is_none(), "the free permit is reserved for the second module");
        assert_eq!(take_all(&second).len(), 1);
    }
}
