//! Errors of the configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why the configuration cannot be used. The message names each problem, its location, and what is
/// expected.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The named file cannot be read.
    #[error("cannot read the configuration file {}: {source}; name another one with --config or GATEWAY_CONFIG", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{}:{line}: this is not TOML: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// Keys or values are wrong.
    #[error("{}", ProblemList(problems))]
    Invalid {
        /// All problems: first the problems of the file in its order, then the problems of
        /// variables.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    pub(super) fn is_missing_file(&self) -> bool {
        matches!(self, Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// A wrong key or value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The location to change.
    pub location: Location,
    /// The key, with the names of its sections: `compile.memory_mb`.
    pub key: String,
    /// The fault and the expected value, to be read after the key. It never contains a secret.
    pub message: String,
}

/// The location of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// A file, and a line counted from one.
    File(PathBuf, usize),
    /// The environment variable of this name.
    Variable(String),
    /// The option of this name.
    Option(&'static str),
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, line) => write!(formatter, "{}:{line}", path.display()),
            Self::Variable(name) => formatter.write_str(name),
            Self::Option(name) => formatter.write_str(name),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: `{}` {}", self.location, self.key, self.message)
    }
}

/// Shows one problem on one line, and several problems on one line each.
struct ProblemList<'a>(&'a [Problem]);

impl fmt::Display for ProblemList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.0 {
            return write!(formatter, "the configuration is wrong: {problem}");
        }
        write!(formatter, "the configuration is wrong in {} places:", self.0.len())?;
        for problem in self.0 {
            write!(formatter, "\n  {problem}")?;
        }
        Ok(())
    }
}
