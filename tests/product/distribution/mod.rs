//! Modules travel through a registry, signed by their authors.

mod page;
mod registry;
mod trust;
