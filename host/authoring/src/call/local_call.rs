//! A connector that its author calls without a server: the real registry, sandbox, pipeline and
//! egress, in a folder that is removed afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use connector_gateway::{AuthorAccount, AuthorSettings, Config, Connector, LocalCalls, LocalFailure, RefusedPart};
use serde_json::Value;
use tokio::sync::watch;

use super::CallError;
use crate::module_file::{RefusedModule, read};
use crate::output::remark;
use crate::recordings::{End, Json};
use crate::scratch_registry::{ScratchError, ScratchRegistry};
use contract::words::{nearest, shortened};
use egress::{Credential, Transport};
use store::AccountAddress;

/// A connector that is ready to be called by its author.
pub(crate) struct LocalCall {
    scratch: ScratchRegistry,
    file: PathBuf,
    module: Vec<u8>,
    connector: Arc<Connector>,
    calls: LocalCalls,
    /// The parts of the address of the author's account. Parts that it lacks have example values.
    address: AccountAddress,
}

/// The end of a call.
pub(crate) enum Outcome {
    /// The body of the answer.
    Answer(Bytes),
    /// The problem document.
    Problem(Value),
}

impl LocalCall {
    /// Loads a module. All hosts that it names are granted.
    ///
    /// # Errors
    /// `Refused` if the gateway would refuse the module, `Upstream` if the settings have an
    /// upstream that the connector does not have, and the errors of the folder.
    pub(crate) async fn open(file: &Path, config: &Config, settings: &AuthorSettings) -> Result<Self, CallError> {
        let module = read(file)?;
        let scratch = ScratchRegistry::without_grants(config).await?;
        scratch.announce(&module);
        let connector = load(&scratch, file, &module, settings).await?;
        let calls = LocalCalls::new(&scratch.config, Arc::clone(&scratch.registry), scratch.store.clone());
        let calls = calls.await.map_err(ScratchError::Start)?;
        let address = AccountAddress::new();
        Ok(Self { file: file.to_owned(), module, connector, calls, address, scratch })
    }

    /// Loads the module again with other settings. It is not compiled again.
    ///
    /// # Errors
    /// See [`LocalCall::open`].
    pub(crate) async fn configure(&mut self, settings: &AuthorSettings) -> Result<(), CallError> {
        self.connector = load(&self.scratch, &self.file, &self.module, settings).await?;
        Ok(())
    }

    /// Sets the address of the author's account.
    ///
    /// # Errors
    /// `Address` if the address has no value, or a wrong one, for a part that the connector needs.
    pub(crate) fn set_address(&mut self, address: AccountAddress) -> Result<(), CallError> {
        let known = |name: &String| self.connector.address_parts().iter().any(|part| part.name == *name);
        if let Some(name) = address.keys().find(|name| !known(name)) {
            return Err(CallError::Address(format!("no URL that is called has a part `{name}`")));
        }
        self.connector.check_address(&address).map_err(|RefusedPart { name, detail }| {
            CallError::Address(format!("{detail} Give it with `--address {name}=VALUE`"))
        })?;
        self.address = address;
        Ok(())
    }

    /// The connector.
    pub(crate) fn connector(&self) -> &Arc<Connector> {
        &self.connector
    }

    /// Checks that the connector has an operation that is to be replayed.
    ///
    /// # Errors
    /// `NoOperation` with the nearest name.
    pub(crate) fn check_operation(&self, operation: &str) -> Result<(), CallError> {
        let connector = &self.connector;
        if connector.operation(operation).or_else(|| connector.internal_operation(operation)).is_some() {
            return Ok(());
        }
        let known = nearest(operation, connector.operations().map(|known| known.manifest.path.as_str()));
        let known = known.map(|known| format!("such as `{known}`"));
        Err(CallError::NoOperation {
            connector: connector.name().to_string(),
            operation: shortened(operation).into_owned(),
            known: known.unwrap_or_else(|| "which `connectors check` lists".to_owned()),
        })
    }

    /// Runs an operation. `transport` takes its requests. Reports of progress and of a trap go to
    /// standard error.
    pub(crate) async fn run(
        &self,
        operation: &str,
        input: &[u8],
        credential: Option<Credential>,
        transport: Arc<dyn Transport>,
    ) -> Outcome {
        let (progress, mut reports) = watch::channel(None);
        let account = AuthorAccount { credential, address: self.connector.example_address(&self.address) };
        let running = self.calls.call(&self.connector, operation, input, account, transport, progress);
        tokio::pin!(running);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut running => break result,
                Ok(()) = reports.changed() => {
                    if let Some(report) = &*reports.borrow_and_update() {
                        remark(format_args!("{:3.0} % {}", report.fraction * 100.0, report.message));
                    }
                }
                else => {}
            }
        };
        match result {
            Ok(body) => Outcome::Answer(body),
            Err(LocalFailure { problem, trap }) => {
                trap.iter().for_each(remark);
                Outcome::Problem(problem)
            }
        }
    }
}

async fn load(
    scratch: &ScratchRegistry,
    file: &Path,
    module: &[u8],
    settings: &AuthorSettings,
) -> Result<Arc<Connector>, CallError> {
    let connector = scratch.registry.try_out(module, settings).await;
    let connector = connector
        .map_err(|refusal| RefusedModule { module: file.display().to_string(), reason: refusal.to_string() })?;
    let names = || connector.services().iter().map(|service| service.name.as_str());
    if let Some(unknown) = settings.upstreams.keys().find(|name| !names().any(|known| known == *name)) {
        let known = nearest(unknown, names()).map(str::to_owned);
        let known = known.unwrap_or_else(|| names().collect::<Vec<_>>().join(", "));
        return Err(CallError::Upstream { name: unknown.clone(), known });
    }
    Ok(Arc::new(connector))
}

impl Outcome {
    /// The end of the call as a recording has it.
    ///
    /// # Errors
    /// If the answer is not JSON.
    pub(crate) fn end(&self) -> Result<End, String> {
        match self {
            Self::Answer(body) => {
                Json::parse(body).map(End::Answer).map_err(|error| format!("the answer is not JSON: {error}"))
            }
            Self::Problem(problem) => {
                let mut problem = problem.clone();
                if let Value::Object(members) = &mut problem {
                    members.remove("instance");
                }
                Ok(End::Problem(Json::from(&problem)))
            }
        }
    }
}
