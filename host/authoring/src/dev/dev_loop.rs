//! Builds a project and swaps the module into a gateway, whenever the author saves a source. Tries
//! the recordings of notifications with it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use connector_gateway::{AuthorSettings, Config, Connector, Installation};
use tempfile::TempDir;

use super::arguments::DevArguments;
use super::pushes::Pushes;
use super::watch::{Saved, Sources};
use super::{DevError, print_line, temporary_gateway};
use crate::build;
use crate::compile_cache;
use crate::gateway::{AddError, Gateway};
use crate::project::Project;

/// A module that was built, and the times of its build.
pub(super) struct Built {
    module: Vec<u8>,
    saved: Instant,
    build: Duration,
    /// The time of its compilation, if it is compiled already.
    compile: Option<Duration>,
}

/// The first module that the gateway would accept.
pub(super) struct FirstModule {
    pub(super) built: Built,
    pub(super) connector: Connector,
}

/// A project that is built again whenever its author saves.
pub(super) struct DevLoop {
    project: Arc<Project>,
    sources: Sources,
    /// The file that modules are built into. The project's own file is for modules that its author
    /// builds.
    output: PathBuf,
    /// The gateway is the temporary one of the command, which accepts whatever the module asks for.
    is_temporary: bool,
    /// A version was swapped in.
    is_live: bool,
    /// The recordings of notifications. `None` for another gateway, whose settings are not known
    /// here.
    pushes: Option<Pushes>,
}

impl DevLoop {
    /// Finds the project, and begins to watch its sources. Modules are built into `folder`.
    ///
    /// # Errors
    /// If there is no project, or it cannot be watched.
    pub(super) fn open(arguments: &DevArguments, folder: &TempDir) -> Result<Self, DevError> {
        let project = Arc::new(Project::find(&arguments.folder)?);
        let sources = Sources::watch(project.folder(), project.target_folder())
            .map_err(|source| DevError::Watch { folder: project.folder().to_owned(), source })?;
        let is_temporary = arguments.url.is_none();
        let output = folder.path().join("module.wasm");
        Ok(Self { project, sources, output, is_temporary, is_live: false, pushes: None })
    }

    /// Builds until the registry of the temporary gateway accepts a module.
    ///
    /// # Errors
    /// If the registry does not start, or the settings have an unknown upstream.
    pub(super) async fn first(&mut self, config: &Config, settings: &AuthorSettings) -> Result<FirstModule, DevError> {
        let mut saved = Instant::now();
        let compiled = compile_cache::open();
        let compiled = compiled.as_ref();
        loop {
            if let Some(mut built) = self.build(saved).await {
                let registry = temporary_gateway::registry(config, compiled).await?;
                match registry.try_out(&built.module, settings).await {
                    Ok(connector) => {
                        check_upstreams(&connector, settings)?;
                        built.compile = connector.compiled().took;
                        self.pushes = Some(Pushes::new(self.project.folder(), config, settings));
                        return Ok(FirstModule { built, connector });
                    }
                    Err(refusal) => self.print_failure(&refusal),
                }
            }
            saved = self.saved().await;
        }
    }

    /// Swaps each version that the author saves into the gateway, and tries the recordings of
    /// notifications that are new or changed.
    ///
    /// # Errors
    /// If hosts cannot be granted.
    pub(super) async fn follow(&mut self, gateway: &Gateway) -> Result<(), DevError> {
        loop {
            if let Some(pushes) = &mut self.pushes {
                pushes.try_changed().await;
            }
            if self.sources.changed().await == Saved::Source {
                self.deliver(gateway, Instant::now()).await?;
            }
        }
    }

    /// Builds the present sources, and swaps the module into the gateway.
    ///
    /// # Errors
    /// If hosts cannot be granted.
    pub(super) async fn deliver(&mut self, gateway: &Gateway, saved: Instant) -> Result<(), DevError> {
        match self.build(saved).await {
            Some(built) => self.add(gateway, built).await,
            None => Ok(()),
        }
    }

    /// Waits until the author saves a source.
    async fn saved(&mut self) -> Instant {
        while self.sources.changed().await != Saved::Source {}
        Instant::now()
    }

    /// Builds the module. The tools print their messages. `None` if they fail.
    async fn build(&self, saved: Instant) -> Option<Built> {
        print_line("Building …");
        let (project, output) = (Arc::clone(&self.project), self.output.clone());
        let building = tokio::task::spawn_blocking(move || build::component(&project, &output));
        let result = match building.await {
            Ok(result) => result,
            Err(error) => Err(io::Error::other(error).into()),
        };
        match result {
            Ok(module) => Some(Built { module, saved, build: saved.elapsed(), compile: None }),
            Err(error) => {
                self.print_failure(&error);
                None
            }
        }
    }

    /// Prints why a version is not live.
    fn print_failure(&self, reason: &dyn fmt::Display) {
        let then = if self.is_live { "The previous version stays live." } else { "The next save builds it again." };
        print_line(format_args!("Not live: {reason}. {then}"));
    }

    /// Swaps a module into the gateway.
    ///
    /// # Errors
    /// If hosts cannot be granted.
    pub(super) async fn add(&mut self, gateway: &Gateway, built: Built) -> Result<(), DevError> {
        let Built { module, saved, build, compile } = built;
        let began = Instant::now();
        let tried = self.pushes.is_some().then(|| module.clone());
        let installation = Installation { accepts: self.is_temporary, ..Installation::default() };
        let live = match gateway.add(module, installation, None).await {
            Ok(installed) => installed,
            Err(AddError::AsksForMore(more)) => {
                more.iter().for_each(|ask| print_line(format_args!("  + {ask}")));
                print_line(
                    "The module asks for more than the previous version, which stays live; add it once with `connectors add --accept`.",
                );
                return Ok(());
            }
            Err(AddError::Other(error)) => {
                self.print_failure(&error);
                return Ok(());
            }
        };
        let swap = began.elapsed();
        let compiled = live.compiled_in_ms.map(Duration::from_millis);
        let live = live.connector;
        let is_first = !std::mem::replace(&mut self.is_live, true);
        if let Some((pushes, module)) = self.pushes.as_mut().zip(tried) {
            pushes.set_live(module);
        }
        let missing = &live.hosts.missing;
        if self.is_temporary && !missing.is_empty() {
            gateway.grant(&live.connector, missing).await?;
        }
        let total = saved.elapsed();
        let swap = swap.saturating_sub(compiled.unwrap_or_default());
        let compile = compile.or(compiled);
        let mut times = vec![seconds("build", build)];
        times.push(compile.map_or("already compiled".to_owned(), |compile| seconds("compile", compile)));
        if is_first && self.is_temporary {
            let others = build + compile.unwrap_or_default() + swap;
            times.push(seconds("start of the gateway", total.saturating_sub(others)));
        }
        times.push(seconds("check and swap", swap));
        let total = total.as_secs_f64();
        print_line(format_args!(
            "{} {} is live after {total:.1} s ({})",
            live.connector,
            live.version,
            times.join(", ")
        ));
        if !self.is_temporary && !missing.is_empty() {
            print_line(format_args!("  not granted: {}", missing.join(" ")));
        }
        Ok(())
    }
}

/// A part of the time until a version is live.
fn seconds(what: &str, time: Duration) -> String {
    format!("{what} {:.1} s", time.as_secs_f64())
}

/// Checks the names of replaced upstreams.
fn check_upstreams(connector: &Connector, settings: &AuthorSettings) -> Result<(), DevError> {
    let known: Vec<&str> = connector.services().iter().map(|service| service.name.as_str()).collect();
    match settings.upstreams.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(DevError::Upstream { name: name.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}
