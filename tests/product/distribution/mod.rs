//! Modules travel through a registry, signed by their authors.

mod registry;
mod trust;
