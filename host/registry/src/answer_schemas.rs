//! The schemas of answers that a module has next to its manifest. The gateway checks them when it
//! loads the module, and holds none of them: it reads the file of the module again when they are
//! asked for.

use std::io::{BufReader, Cursor};

use super::refusal::Refusal;
use super::{Connector, Registry};
use contract::{AnswerSchemas, Manifest};
use sandbox::answer_schemas::{self, SectionError};

/// Reads and checks the schemas of a module. `None` if it has none.
///
/// # Errors
/// If they break a rule or do not belong to the manifest.
pub(super) fn of_module(module: &[u8], manifest: &Manifest) -> Result<Option<AnswerSchemas>, Refusal> {
    let Some(schemas) = answer_schemas::read(&mut Cursor::new(module)).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    schemas.check(manifest).map_err(|error| error.to_string())?;
    Ok(Some(schemas))
}

impl Registry {
    /// The schemas of answers of a live connector that are not in its manifest. Reads the file of its
    /// module, which blocks. Empty if it has none, or if the file cannot be read.
    pub fn answer_schemas(&self, connector: &Connector) -> AnswerSchemas {
        if !connector.has_answer_schemas() {
            return AnswerSchemas::default();
        }
        let file = self.versions.file(connector.name(), connector.origin(), connector.digest());
        let opened = files::open_regular(&file).map_err(SectionError::from);
        let found = opened.and_then(|file| answer_schemas::read(&mut BufReader::new(file)));
        found.map(Option::unwrap_or_default).unwrap_or_else(|error| {
            let (connector, file) = (connector.name(), file.display());
            tracing::warn!(%connector, %file, %error, "the schemas of its answers cannot be read");
            AnswerSchemas::default()
        })
    }
}
