//! The simulation is the test of this crate. Cargo takes no package without a library, so this one
//! is empty.
