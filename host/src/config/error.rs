//! What is wrong with a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why there is no configuration. The text names each fault, its location, and what is expected instead.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file was named and cannot be read.
    #[error("cannot read the configuration file {}: {source}; name another one with --config or GATEWAY_CONFIG", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no TOML.
    #[error("{}:{line}: this is no TOML: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// What the parser stumbled over.
        message: String,
    },
    /// Keys or values are wrong.
    #[error("{}", List(problems))]
    Invalid {
        /// All of them, in the order of the file, then of the variables.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    pub(super) fn is_missing_file(&self) -> bool {
        matches!(self, Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it stands.
    pub location: Location,
    /// The key, with its section's name: `compile.memory_mb`.
    pub key: String,
    /// What is wrong and what is expected, to follow the key. Never a secret.
    pub message: String,
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// In a file, on a line counted from one.
    File(PathBuf, usize),
    /// In an environment variable of this name.
    Variable(String),
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, line) => write!(formatter, "{}:{line}", path.display()),
            Self::Variable(name) => formatter.write_str(name),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: `{}` {}", self.location, self.key, self.message)
    }
}

/// One problem on the line it is told on, several below it.
struct List<'a>(&'a [Problem]);

impl fmt::Display for List<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [problem] = self.0 {
            return write!(formatter, "the configuration is wrong: {problem}");
        }
        write!(formatter, "the configuration is wrong in {} locations:", self.0.len())?;
        for problem in self.0 {
            write!(formatter, "\n  {problem}")?;
        }
        Ok(())
    }
}
