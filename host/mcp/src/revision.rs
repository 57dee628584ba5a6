//! The revisions of the protocol.

/// A revision of the protocol, from the oldest to the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

impl Revision {
    /// Every revision that the gateway speaks, the newest first.
    pub const ALL: [Self; 4] = [Self::V2026_07_28, Self::V2025_11_25, Self::V2025_06_18, Self::V2025_03_26];

    /// The newest revision that begins with `initialize`.
    pub const NEWEST_WITH_INITIALIZE: Self = Self::V2025_11_25;

    /// The name in messages and in the header `MCP-Protocol-Version`.
    pub fn name(self) -> &'static str {
        match self {
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of this name, if the gateway speaks it.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Returns `true` if each request says what the client can do, and there is no `initialize`.
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// The answer to a client that asks for this revision in `initialize`.
    pub fn negotiated(requested: &str) -> Self {
        Self::of(requested).filter(|revision| !revision.is_stateless()).unwrap_or(Self::NEWEST_WITH_INITIALIZE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialize_agrees_on_a_revision_that_has_it() {
        for (requested, agreed) in [
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("2024-11-05", "2025-11-25"),
            ("", "2025-11-25"),
        ] {
            assert_eq!(Revision::negotiated(requested).name(), agreed, "{requested}");
        }
    }
}
