//! The allocator of a component: a small arena first, then the ordinary allocator.
//!
//! An invocation is short, and the gateway discards its memory as a whole. The first allocations
//! therefore only move a mark through an arena in the module's initial memory. They do not grow the
//! memory, keep no free lists, and use few pages. Only the last block of the arena can grow, shrink
//! or be freed. Blocks that do not fit, for example large answers, come from the ordinary
//! allocator. It reuses freed blocks, so that they do not count against the memory limit.

#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// In bytes. An operation that is one request needs 1 to 4 KiB. Stack, arena and data of such a
/// connector fit in one page of 64 KiB, which the gateway resets after each invocation.
const ARENA: usize = 8 * 1024;

#[global_allocator]
static ALLOCATOR: Arena = Arena { memory: UnsafeCell::new(Memory([0; ARENA])), used: Cell::new(0) };

#[repr(align(16))]
struct Memory(#[expect(dead_code, reason = "read and written through pointers")] [u8; ARENA]);

struct Arena {
    memory: UnsafeCell<Memory>,
    used: Cell<usize>,
}

// SAFETY: a component has one thread.
unsafe impl Sync for Arena {}

impl Arena {
    /// The position of a block in the arena. `None` for a block of the ordinary allocator.
    fn offset(&self, block: *mut u8) -> Option<usize> {
        let offset = (block as usize).wrapping_sub(self.memory.get() as usize);
        (offset < ARENA).then_some(offset)
    }
}

// SAFETY: blocks of the arena are between its start and `used`, do not overlap, and are aligned up
// to 16 like the arena itself. The ordinary allocator takes every other layout. Every block is
// freed by the allocator that made it.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = (self.used.get() + layout.align() - 1) & !(layout.align() - 1);
        if layout.align() <= 16 && start < ARENA && layout.size() <= ARENA - start {
            self.used.set(start + layout.size());
            // SAFETY: `start` is within the arena.
            return unsafe { self.memory.get().cast::<u8>().add(start) };
        }
        // SAFETY: the caller keeps the promises of this function, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match self.offset(block) {
            Some(start) if start + layout.size() == self.used.get() => self.used.set(start),
            Some(_) => {}
            // SAFETY: the block is not in the arena, so the ordinary allocator made it.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(start) = self.offset(block) else {
            // SAFETY: see `dealloc`.
            return unsafe { System.realloc(block, layout, size) };
        };
        let is_last = start + layout.size() == self.used.get();
        if is_last && size <= ARENA - start {
            self.used.set(start + size);
            return block;
        }
        if size <= layout.size() {
            return block;
        }
        // SAFETY: the caller promises a size that fits the alignment; both blocks hold at least the
        // bytes that are copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size());
            }
            new
        }
    }
}
