//! The two origins of a module.

/// The origin of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The module came with the gateway, in `shipped_dir`.
    Shipped,
    /// The module came from elsewhere, and its file is in `modules_dir`.
    Foreign,
}
