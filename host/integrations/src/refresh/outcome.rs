//! The outcome of a refresh, as the metrics count it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Refreshed,
    /// Another process or the user replaced the tokens first, or the integration is gone.
    Superseded,
    /// Too little of the lease was left to call the provider.
    Late,
    Refused,
    Misconfigured,
    Unavailable,
    NotUnderstood,
    /// The database failed.
    StoreFailed,
    /// The disk has no room for new tokens.
    NoRoom,
    /// The gateway itself failed.
    Failed,
}

impl Outcome {
    /// The label of the metric.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Refreshed => "refreshed",
            Self::Superseded => "superseded",
            Self::Late => "late",
            Self::Refused => "refused",
            Self::Misconfigured => "misconfigured",
            Self::Unavailable => "unavailable",
            Self::NotUnderstood => "not_understood",
            Self::StoreFailed | Self::NoRoom | Self::Failed => "failed",
        }
    }
}
