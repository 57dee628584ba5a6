//! Why a module does not become a live connector.

use std::fmt;
use std::time::SystemTime;

use crate::config::Problem;

/// Why a module is refused.
#[derive(Debug)]
pub enum Refusal {
    /// The module or its manifest breaks a rule. The text is a sentence without a full stop.
    Module(String),
    /// The operator's settings for the connector are wrong.
    Settings(Vec<Problem>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module(reason) => formatter.write_str(reason),
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

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Module(reason)
    }
}

/// A file of the modules folder that did not become a live connector.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The name of the file.
    pub file: String,
    /// SHA-256 of the content in hexadecimal digits; empty if the file could not be read.
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
