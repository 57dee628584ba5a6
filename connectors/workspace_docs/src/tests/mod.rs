//! Tests of the rows and of the documents that they make. [`simulation`] stands in for Google Docs,
//! and [`sample`] makes the documents that it answers.

mod comments;
mod copy;
mod copy_properties;
mod markdown;
mod operations;
mod sample;
mod simulation;
mod triggers;
