//! The random numbers that decide a schedule: splitmix64.

use std::time::Duration;

/// A sequence of numbers that follows from a seed.
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "an iterator would have an end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A separate sequence.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// A number of the range, its end excluded.
    pub fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// Returns `true` in this many of 1000 cases.
    pub fn permille(&mut self, chance: u64) -> bool {
        self.within(0..1000) < chance
    }

    /// A duration of this range of milliseconds.
    pub fn ms(&mut self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }
}
