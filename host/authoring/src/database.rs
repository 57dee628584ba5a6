//! The database of the gateway that a command is about.

use std::path::absolute;

use connector_gateway::Config;

use crate::output::remark;
use store::{Store, StoreError};

/// Opens the database of the configuration. If it does not exist, it is made, and a remark says so,
/// because the command may run in the wrong folder.
///
/// # Errors
/// See [`Store::connect`].
pub async fn open(config: &Config) -> Result<Store, StoreError> {
    let settings = config.store();
    let is_new = !settings.is_there();
    let store = Store::connect(&settings).await?;
    if is_new {
        let folder = absolute(&settings.data_dir).unwrap_or(settings.data_dir);
        remark(format_args!(
            "There was no database in `{}`, so a new one was made. If that was not meant, run the command in the folder of the \
             gateway, or name its configuration with --config.",
            folder.display()
        ));
    }
    Ok(store)
}
