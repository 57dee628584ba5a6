//! Random numbers for crates that take them from the crate `getrandom`, such as `uuid` and `rand`.
//!
//! The target of components has no operating system. `getrandom` therefore calls functions with
//! agreed names, if the build sets `getrandom_backend="custom"`. `connectors build` sets it for
//! connectors that depend on `getrandom`. Other modules do not import the interface `random` because
//! of it.

#![expect(unsafe_code, reason = "the functions have agreed names and take raw memory")]

use std::slice;

use crate::random;

getrandom_02::register_custom_getrandom!(fill);

#[expect(clippy::unnecessary_wraps, reason = "the macro above demands this type")]
fn fill(bytes: &mut [u8]) -> Result<(), getrandom_02::Error> {
    random::fill(bytes);
    Ok(())
}

/// The function that the versions 0.3 and 0.4 of `getrandom` call.
///
/// # Safety
/// `start` begins `length` bytes that may be written. They may be uninitialized.
#[expect(clippy::unnecessary_wraps, reason = "the crate `getrandom` demands this type")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(start: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: the caller promises that the memory may be written. It is initialized before it is
    // used as a slice.
    let bytes = unsafe {
        start.write_bytes(0, length);
        slice::from_raw_parts_mut(start, length)
    };
    random::fill(bytes);
    Ok(())
}
