//! The statements on modules.

use database::connection::{Connection, Durability};
use database::value::values;

use super::types::{LiveModule, ModuleChange, ModuleCondition, ModuleOutcome, NewModule, StoredModule};
use crate::handles::Modules;
use crate::{Acting, Stored, changes, grants};

/// Maximum number of modules of a connector whose bytes are kept, with the live one.
const MAX_MODULES: i64 = 10;

/// The present state of connectors.
const LIVE: &str = "SELECT live_modules.connector, live_modules.generation, live_modules.digest, version, signature, \
    replaces_shipped, changed_at, changed_by FROM live_modules LEFT JOIN module_versions \
    ON module_versions.connector = live_modules.connector AND module_versions.digest = live_modules.digest";

impl Modules<'_> {
    /// Changes the module of a connector, together with the history and the grants. A change that
    /// is made gets the next generation.
    pub async fn change(self, change: ModuleChange) -> Stored<ModuleOutcome> {
        let (keeps_bytes, by) = (self.0.database.is_shared(), changes::actor(&change.entry));
        self.0.write(Durability::PowerLoss, move |connection| change_on(connection, &by, &change, keeps_bytes)).await
    }

    /// The present state of all connectors that ever changed, also of those that were removed.
    pub async fn live(self) -> Stored<Vec<LiveModule>> {
        self.0.read_all(format!("{LIVE} ORDER BY live_modules.connector"), &[]).await
    }

    /// The present state of one connector. `None` if it never changed.
    pub async fn live_of(self, connector: &str) -> Stored<Option<LiveModule>> {
        self.0.read_optional(format!("{LIVE} WHERE live_modules.connector = $1"), values![connector]).await
    }

    /// Returns whether the connector ever had the module with this digest.
    pub async fn has_had(self, connector: &str, digest: &str) -> Stored<bool> {
        let (connector, digest) = (connector.to_owned(), digest.to_owned());
        self.0.read(move |connection| has_had(connection, &connector, &digest)).await
    }

    /// The bytes of a module. `None` if they are not stored. The caller checks the digest.
    pub async fn bytes(self, digest: &str) -> Stored<Option<Vec<u8>>> {
        self.0.read_optional("SELECT bytes FROM modules WHERE digest = $1", values![digest]).await
    }

    /// The modules of a connector whose bytes are stored. The one that was live last is first.
    pub async fn stored(self, connector: &str) -> Stored<Vec<StoredModule>> {
        let stored = "SELECT digest, signature, live_at FROM module_versions WHERE connector = $1 AND \
             digest IN (SELECT digest FROM modules) ORDER BY generation DESC";
        self.0.read_all(stored, values![connector]).await
    }

    /// Returns a number that grows when a module changes.
    pub async fn revision(self) -> Stored<i64> {
        self.0.read_one("SELECT number FROM revisions WHERE subject = 'modules'", &[]).await
    }
}

fn change_on(
    connection: &mut dyn Connection,
    by: &Acting,
    change: &ModuleChange,
    keeps_bytes: bool,
) -> Stored<ModuleOutcome> {
    let ModuleChange { connector, module, condition, entry, is_noticed, grants } = change;
    connection.lock(&format!("module {connector}"))?;
    let present: Option<(i64, Option<String>)> =
        connection.optional("SELECT generation, digest FROM live_modules WHERE connector = $1", values![connector])?;
    let (generation, live) = present.unwrap_or_default();
    let digest = module.as_ref().map(|module| &module.digest);
    let holds = match condition {
        ModuleCondition::Always => true,
        ModuleCondition::Generation(expected) => *expected == generation,
        ModuleCondition::OtherModule => digest != live.as_ref(),
        ModuleCondition::NewModule => match digest {
            Some(digest) => !has_had(connection, connector, digest)?,
            None => true,
        },
    };
    if !holds {
        return Ok(ModuleOutcome::Unchanged(generation));
    }
    let generation = generation + 1;
    if let Some(module) = module {
        add_version(connection, connector, module, generation, keeps_bytes)?;
    }
    let replaces_shipped = module.as_ref().is_some_and(|module| module.replaces_shipped);
    connection.execute(
        "INSERT INTO live_modules (connector, generation, digest, replaces_shipped, changed_at, changed_by) \
         VALUES ($1, $2, $3, $4, now_ms(), $5) ON CONFLICT (connector) DO UPDATE SET generation = excluded.generation, \
         digest = excluded.digest, replaces_shipped = excluded.replaces_shipped, changed_at = excluded.changed_at, \
         changed_by = excluded.changed_by",
        values![connector, generation, digest, replaces_shipped, &entry.actor],
    )?;
    connection.execute(
        "DELETE FROM modules WHERE digest IN (SELECT digest FROM module_versions WHERE connector = $1) \
         AND digest NOT IN (SELECT digest FROM module_versions WHERE connector = $1 ORDER BY generation DESC LIMIT $2) \
         AND digest NOT IN (SELECT digest FROM live_modules WHERE digest IS NOT NULL)",
        values![connector, MAX_MODULES],
    )?;
    if !*is_noticed || !changes::is_known(connection, entry)? {
        changes::insert_and_trim(connection, by, entry)?;
    }
    grants::step_on(connection, connector, grants)?;
    connection.execute("UPDATE revisions SET number = number + 1 WHERE subject = 'modules'", &[])?;
    Ok(ModuleOutcome::Changed(generation))
}

fn add_version(
    connection: &mut dyn Connection,
    connector: &str,
    module: &NewModule,
    generation: i64,
    keeps_bytes: bool,
) -> Stored<()> {
    let NewModule { digest, version, bytes, signature, .. } = module;
    if keeps_bytes {
        // Bytes that were damaged in the database are replaced.
        connection.execute(
            "INSERT INTO modules (digest, bytes) VALUES ($1, $2) ON CONFLICT (digest) DO UPDATE SET \
             bytes = excluded.bytes",
            values![digest, &**bytes],
        )?;
    }
    connection.run(
        "INSERT INTO module_versions (connector, digest, version, signature, generation, live_at) \
         VALUES ($1, $2, $3, $4, $5, now_ms()) ON CONFLICT (connector, digest) DO UPDATE SET \
         signature = excluded.signature, generation = excluded.generation, live_at = excluded.live_at",
        values![connector, digest, version, signature, generation],
    )
}

fn has_had(connection: &mut dyn Connection, connector: &str, digest: &str) -> Stored<bool> {
    let found: Option<i64> = connection.optional(
        "SELECT generation FROM module_versions WHERE connector = $1 AND digest = $2",
        values![connector, digest],
    )?;
    Ok(found.is_some())
}
