//! The messages for mistakes in a table. Each `.rs` file in `ui` is a table with mistakes of one
//! kind. The `.stderr` file of the same name has the compiler's messages.
//! `TRYBUILD=overwrite cargo test -p connector-gateway-sdk --test messages` writes these files
//! anew.

#[test]
#[ignore = "make test-authors"]
fn every_mistake_has_a_message_that_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
