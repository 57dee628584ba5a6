//! The gateway of the configuration.

use std::sync::Arc;

use connector_gateway::{
    Config, DoctorReport, Examined, Registry, ServeError, examine_certificates, examine_connectors, examine_database,
    examine_machine, open_registry, open_scratch_registry,
};
use egress::{Egress, Settings};
use store::Store;
use tempfile::TempDir;

const CHECK: &str = "connectors";

/// Examines the gateway of the configuration.
pub(super) async fn examine(config: Config, report: &mut DoctorReport) {
    let config = Arc::new(config);
    examine_machine(&config, report);
    examine_certificates(&config, report);
    let Some(examined) = examine_database(&config, None, report).await else { return };
    let opened = match &examined {
        Examined::Used(store) => open_registry(&config, store.clone(), None).await.map(|registry| (registry, None)),
        Examined::New => open_scratch(&config).await,
    };
    // The temporary folder lives as long as the registry.
    let (registry, _folder) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            report.problem(CHECK, error.to_string(), "Solve this, and run `connector-gateway doctor` again");
            return;
        }
    };
    if let Err(error) = registry.load_folders().await {
        report.problem(
            CHECK,
            format!("the folders of modules cannot be read: {error}"),
            "Give this user access to them",
        );
        return;
    }
    let store = match &examined {
        Examined::Used(store) => Some(store),
        Examined::New => None,
    };
    match Egress::new(&Settings::default()) {
        Ok(egress) => examine_connectors(&config, &registry, store, &egress, report).await,
        Err(error) => report.problem("hosts", error.to_string(), "Run `connector-gateway doctor` again"),
    }
}

/// The registry of a gateway that has not served yet. Nothing that it stores is kept.
async fn open_scratch(config: &Config) -> Result<(Arc<Registry>, Option<TempDir>), ServeError> {
    let folder = TempDir::new()?;
    let store = Store::open(folder.path()).await?;
    let config = Arc::new(Config { data_dir: folder.path().to_owned(), ..config.clone() });
    Ok((open_scratch_registry(&config, store, None)?, Some(folder)))
}
