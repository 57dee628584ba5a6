//! The command `keys rotate-master`.

use std::io::{self, Write};

use connector_gateway::Config;
use serde_json::{Value, json};

use super::error::KeysError;
use super::remote::write_record;
use store::Store;
use store::vault::{self, RotationEnd, RotationProgress, RotationReport};

/// Width of the progress bar, in characters.
const BAR: u64 = 40;

/// Lines of progress if there is no terminal.
const LINES: u64 = 10;

/// Replaces the master key, and shows the progress: as a bar on a terminal, else as lines.
///
/// # Errors
/// If the rotation was not completed. Every secret can still be unsealed, and the command can be
/// run again.
pub(crate) async fn run(
    finish: bool,
    as_json: bool,
    config: &Config,
    store: &Store,
    output: &mut impl Write,
    remarks: &mut (impl Write + Send),
    progress: Option<impl Write + Send>,
) -> Result<(), KeysError> {
    let end = match (finish, &config.database_url) {
        (true, _) => RotationEnd::ForgetPreviousOfUnfinished,
        // All gateways of a SQLite file run on this machine and read the same master key file.
        (false, None) => RotationEnd::ForgetPrevious,
        (false, Some(_)) => RotationEnd::KeepPrevious,
    };
    let mut display = Display { remarks, terminal: progress, shown: None };
    let outcome = vault::rotate(&config.master_key_path(), store, end, &mut |progress| display.show(progress)).await?;
    if as_json {
        write_record(output, &record(outcome.as_ref()), true)?;
    }
    let Some(outcome) = outcome else {
        writeln!(
            remarks,
            "no rotation is in progress, so nothing was changed; `connector-gateway keys rotate-master` begins one"
        )?;
        return Ok(());
    };
    display.end()?;
    conclude(&outcome, config, remarks)?;
    Ok(())
}

/// The result for programs.
fn record(outcome: Option<&RotationReport>) -> Value {
    let Some(RotationReport { resumed, resealed, unreadable, finished }) = outcome else {
        return json!({"rotated": false});
    };
    json!({"rotated": true, "resumed": resumed, "resealed": resealed, "unreadable": unreadable, "finished": finished})
}

fn conclude(outcome: &RotationReport, config: &Config, remarks: &mut impl Write) -> io::Result<()> {
    let file = config.master_key_path();
    let file = file.display();
    if outcome.resumed {
        writeln!(remarks, "resumed a rotation that was not finished")?;
    }
    writeln!(remarks, "sealed {} secrets under a new key", outcome.resealed)?;
    if outcome.unreadable > 0 {
        writeln!(
            remarks,
            "{} secrets could not be unsealed and were left unchanged; their users have to connect their accounts again",
            outcome.unreadable
        )?;
    }
    if outcome.finished {
        return writeln!(
            remarks,
            "the new master key is in {file}; keep a copy of it, apart from the backups of the database"
        );
    }
    writeln!(
        remarks,
        "{file} contains the new master key and the previous one, so that gateways can start with either"
    )?;
    writeln!(
        remarks,
        "copy the file to every gateway, then run `connector-gateway keys rotate-master --finish` to delete the previous key"
    )
}

/// The display of the progress.
struct Display<'a, W, T> {
    remarks: &'a mut W,
    /// Shows a bar in one line. `None` if no terminal shows it.
    terminal: Option<T>,
    /// The step that was shown last, so that no line is repeated.
    shown: Option<u64>,
}

impl<W: Write, T: Write> Display<'_, W, T> {
    /// Shows the progress. A failed write is ignored, because the rotation is more important.
    fn show(&mut self, RotationProgress { done, total }: RotationProgress) {
        let steps = if self.terminal.is_some() { BAR } else { LINES };
        let step = (done * steps).checked_div(total).unwrap_or(steps);
        if let Some(terminal) = &mut self.terminal {
            let bar: String = (0..BAR).map(|position| if position < step { '#' } else { '.' }).collect();
            let _ = write!(terminal, "\rsealing again [{bar}] {done} of {total}");
            let _ = terminal.flush();
        } else if self.shown != Some(step) {
            let _ = writeln!(self.remarks, "sealing again: {done} of {total}");
        }
        self.shown = Some(step);
    }

    fn end(self) -> io::Result<()> {
        self.terminal.map_or(Ok(()), |mut terminal| writeln!(terminal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, progress: &[(u64, u64)]) -> String {
        let (mut remarks, mut terminal) = (Vec::new(), Vec::new());
        let mut display =
            Display { remarks: &mut remarks, terminal: is_terminal.then_some(&mut terminal), shown: None };
        for &(done, total) in progress {
            display.show(RotationProgress { done, total });
        }
        display.end().unwrap();
        String::from_utf8(if is_terminal { terminal } else { remarks }).unwrap()
    }

    #[test]
    fn a_terminal_gets_a_bar_and_a_log_gets_few_lines() {
        let bar = shown(true, &[(0, 200), (100, 200), (200, 200)]);
        assert!(bar.contains("\rsealing again [####################....................] 100 of 200"), "{bar}");
        let lines = shown(false, &[(0, 1000), (10, 1000), (20, 1000), (100, 1000), (1000, 1000)]);
        assert_eq!(lines, "sealing again: 0 of 1000\nsealing again: 100 of 1000\nsealing again: 1000 of 1000\n");
        assert_eq!(shown(false, &[(0, 0)]), "sealing again: 0 of 0\n");
    }

    fn concluded(outcome: RotationReport) -> String {
        let mut remarks = Vec::new();
        conclude(&outcome, &Config::default(), &mut remarks).unwrap();
        String::from_utf8(remarks).unwrap()
    }

    #[test]
    fn the_remarks_at_the_end_say_what_is_left_to_do() {
        let outcome = RotationReport { resealed: 3, finished: true, ..RotationReport::default() };
        assert_eq!(
            concluded(outcome),
            "sealed 3 secrets under a new key\n\
             the new master key is in data/master.key; keep a copy of it, apart from the backups of the database\n"
        );
        let remarks = concluded(RotationReport { resumed: true, unreadable: 2, finished: false, ..outcome });
        assert!(remarks.starts_with("resumed a rotation that was not finished\n"), "{remarks}");
        assert!(remarks.contains("2 secrets could not be unsealed and were left unchanged"), "{remarks}");
        assert!(
            remarks.ends_with("then run `connector-gateway keys rotate-master --finish` to delete the previous key\n")
        );
    }
}
