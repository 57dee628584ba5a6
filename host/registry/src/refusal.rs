//! Why a module does not become a live connector.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use config::Problem;
use sandbox::compile::CompileError;
use sandbox::{InvocationError, LoadError, TrialError};
use store::StoreError;

/// Maximum length of a reason. It may contain texts that the module chose.
const MAX_REASON_BYTES: usize = 4 << 10;

/// Why a module is refused.
#[derive(Debug)]
pub enum Refusal {
    /// The module or its manifest breaks a rule. The text is a sentence without a full stop.
    Module(String),
    /// The operator's settings for the connector are wrong.
    Settings(Vec<Problem>),
    /// The grants of the connector cannot be read from the store.
    Store(StoreError),
    /// The module could not be checked now. The text is a sentence without a full stop.
    Temporary(String),
}

impl Refusal {
    /// Returns `true` if the reason is not in the module. The same module may be accepted later.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Temporary(_))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(reason) | Self::Temporary(reason) => formatter.write_str(reason),
            Self::Store(error) => write!(formatter, "its grants cannot be read: {error}"),
            Self::Settings(problems) => {
                formatter.write_str("the configuration does not fit it: ")?;
                for (index, problem) in problems.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(formatter, "{separator}{problem}")?;
                }
                Ok(())
            }
        }
    }
}

/// The refusal of a module that the sandbox did not load.
impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Io(_) | LoadError::Compile(CompileError::Io(_)) => Self::Temporary(error.to_string()),
            _ => error.to_string().into(),
        }
    }
}

/// The refusal of a module whose schemas did not pass their trial.
impl From<TrialError> for Refusal {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Io(_) => Self::Temporary(error.to_string()),
            _ => error.to_string().into(),
        }
    }
}

/// The refusal of a module that did not describe itself.
impl From<InvocationError> for Refusal {
    fn from(error: InvocationError) -> Self {
        let reason = format!("`describe` failed: {error}");
        match error {
            InvocationError::Busy | InvocationError::NoMemory | InvocationError::TimedOut(_) => Self::Temporary(reason),
            InvocationError::Limit(_) | InvocationError::Trapped(_) => reason.into(),
        }
    }
}

impl From<String> for Refusal {
    fn from(mut reason: String) -> Self {
        let length = reason.len();
        if length > MAX_REASON_BYTES {
            reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
            reason.push_str(&format!("… (cut from {length} bytes)"));
        }
        Self::Module(reason)
    }
}

/// A file of a folder of modules that did not become a live connector.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The name of the file.
    pub file: String,
    /// The path of the file.
    pub(super) path: PathBuf,
    /// SHA-256 of the content in hexadecimal digits. Empty if the file could not be read.
    pub digest: String,
    /// The reason in a sentence.
    pub reason: String,
    /// The operator's wrong settings, if they are the reason.
    pub wrong_settings: Vec<Problem>,
    /// The time of the refusal.
    pub at: SystemTime,
    /// SHA-256 of the version that is live instead, if one is.
    pub serving: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut() {
        assert_eq!(Refusal::from("short".to_owned()).to_string(), "short");
        let long = Refusal::from("é".repeat(1 << 20)).to_string();
        assert!(
            long.len() < MAX_REASON_BYTES + 50 && long.ends_with("(cut from 2097152 bytes)"),
            "{} bytes",
            long.len()
        );
    }
}
