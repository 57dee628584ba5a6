//! Commands that leave nothing behind if a signal ends them.

use std::io;

use connector_gateway::Stop;

/// Does work until its end, or until SIGINT, SIGTERM or SIGHUP. Then the work is dropped, so that
/// it removes its temporary files.
///
/// # Errors
/// The error of the work, and [`io::ErrorKind::Interrupted`] after a signal.
pub(crate) async fn unless_stopped<T, E: From<io::Error>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let mut stop = Stop::new()?;
    tokio::select! {
        done = work => done,
        () = stop.wait() => Err(io::Error::new(io::ErrorKind::Interrupted, "a signal has stopped the command").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use rustix::process::{Signal, getpid, kill_process};
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn a_signal_ends_the_work_and_its_temporary_files() {
        let folder = TempDir::new().unwrap();
        let work = async {
            let _scratch = TempDir::new_in(folder.path())?;
            // The handler is there before the work begins.
            kill_process(getpid(), Signal::TERM)?;
            pending::<io::Result<()>>().await
        };
        assert_eq!(unless_stopped(work).await.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
        assert_eq!(unless_stopped(async { Ok::<_, io::Error>(7) }).await.unwrap(), 7);
    }
}
