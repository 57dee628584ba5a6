//! The `storage` interface: a small key-value store for connectors.

use std::time::Duration;

use super::bindings::gateway::connector::storage::{Error, Host};
pub use super::call::Scope;
use super::guest::Guest;
use super::limits::Awaited;
use store::{StorageError, StorageScope};

impl Scope {
    fn key_space(&self) -> StorageScope {
        StorageScope { connector: self.connector.to_string(), partition: self.partition.to_string() }
    }
}

impl Guest {
    fn storage(&self) -> Result<Scope, Error> {
        self.call.storage.clone().ok_or_else(|| {
            Error::Unavailable(
                "there is no storage while a module describes itself, or while a user connects an account".to_owned(),
            )
        })
    }
}

fn to_guest(error: StorageError) -> Error {
    match error {
        StorageError::Invalid(detail) => Error::Invalid(detail),
        StorageError::Full => Error::Full,
        StorageError::Store(error) => Error::Unavailable(error.to_string()),
        StorageError::Vault(error) => Error::Unavailable(error.to_string()),
    }
}

impl Host for Guest {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        let scope = match self.storage() {
            Ok(scope) => scope,
            Err(error) => return Ok(Err(error)),
        };
        let _waiting = self.wait_for(Awaited::Store);
        Ok(scope.store.storage().get(&scope.vault, &scope.key_space(), &key).await.map_err(to_guest))
    }

    async fn set(
        &mut self,
        key: String,
        value: Vec<u8>,
        time_to_live_seconds: Option<u32>,
    ) -> wasmtime::Result<Result<(), Error>> {
        let scope = match self.storage() {
            Ok(scope) => scope,
            Err(error) => return Ok(Err(error)),
        };
        let time_to_live = time_to_live_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        let _waiting = self.wait_for(Awaited::Store);
        Ok(scope
            .store
            .storage()
            .set(&scope.vault, &scope.key_space(), &key, value, time_to_live)
            .await
            .map_err(to_guest))
    }

    async fn delete(&mut self, key: String) -> wasmtime::Result<Result<(), Error>> {
        let scope = match self.storage() {
            Ok(scope) => scope,
            Err(error) => return Ok(Err(error)),
        };
        let _waiting = self.wait_for(Awaited::Store);
        Ok(scope.store.storage().delete(&scope.key_space(), &key).await.map_err(to_guest))
    }
}
