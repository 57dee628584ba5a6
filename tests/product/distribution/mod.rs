//! Modules travel through a registry, signed by their authors.

mod hostile_registry;
mod registry;
mod trust;
