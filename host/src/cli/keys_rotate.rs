//! The command `keys rotate-master`.

use std::io::{self, Write};

use super::keys::KeysError;
use crate::config::Config;
use store::Store;
use store::vault::{self, RotationProgress, RotationReport};

/// Characters of the bar.
const BAR: u64 = 40;

/// Where there is no terminal a line is written each time another of so many parts is done.
const LINES: u64 = 10;

/// Exchanges the keys, and says how far it is: on one line that is written over where `is_terminal`, else line by line.
///
/// # Errors
/// When it is not done; then it can be run again, and every secret can still be opened.
pub async fn run(
    finish: bool,
    config: &Config,
    store: &Store,
    remarks: &mut (impl Write + Send),
    is_terminal: bool,
) -> Result<(), KeysError> {
    // The gateways on a SQLite file are all on this machine, and read the same master key file.
    let finish = finish || config.database_url.is_none();
    let mut display = Display { remarks, is_terminal, shown: None };
    let outcome =
        vault::rotate(&config.master_key_path(), store, finish, &mut |progress| display.show(progress)).await?;
    display.end()?;
    conclude(&outcome, config, remarks)?;
    Ok(())
}

fn conclude(outcome: &RotationReport, config: &Config, remarks: &mut impl Write) -> io::Result<()> {
    let file = config.master_key_path();
    let file = file.display();
    if outcome.resumed {
        writeln!(remarks, "went on with a rotation that was not finished")?;
    }
    writeln!(remarks, "sealed {} secrets under a new key", outcome.resealed)?;
    if outcome.unreadable > 0 {
        writeln!(
            remarks,
            "{} secrets do not open and were left as they are: their users have to connect again",
            outcome.unreadable
        )?;
    }
    if outcome.finished {
        return writeln!(
            remarks,
            "the new master key is in {file}; keep a copy of it where the database's backups are not"
        );
    }
    writeln!(remarks, "the new master key is in {file} beside the former one, which gateways can still start with")?;
    writeln!(
        remarks,
        "copy the file to every gateway, then run `connector-gateway keys rotate-master --finish` to forget the former one"
    )
}

/// What a person sees of the progress.
struct Display<'a, W> {
    remarks: &'a mut W,
    is_terminal: bool,
    /// The part that was shown last.
    shown: Option<u64>,
}

impl<W: Write> Display<'_, W> {
    /// What cannot be written is not shown; the work goes on.
    fn show(&mut self, RotationProgress { done, total }: RotationProgress) {
        let parts = if self.is_terminal { BAR } else { LINES };
        let part = (done * parts).checked_div(total).unwrap_or(parts);
        if self.is_terminal {
            let bar: String = (0..BAR).map(|place| if place < part { '#' } else { '.' }).collect();
            let _ = write!(self.remarks, "\rsealing anew [{bar}] {done} of {total}");
            let _ = self.remarks.flush();
        } else if self.shown != Some(part) {
            let _ = writeln!(self.remarks, "sealing anew: {done} of {total}");
        }
        self.shown = Some(part);
    }

    fn end(self) -> io::Result<()> {
        if self.is_terminal { writeln!(self.remarks) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, progress: &[(u64, u64)]) -> String {
        let mut remarks = Vec::new();
        let mut display = Display { remarks: &mut remarks, is_terminal, shown: None };
        for &(done, total) in progress {
            display.show(RotationProgress { done, total });
        }
        display.end().unwrap();
        String::from_utf8(remarks).unwrap()
    }

    #[test]
    fn a_terminal_sees_a_bar_and_a_log_sees_few_lines() {
        let bar = shown(true, &[(0, 200), (100, 200), (200, 200)]);
        assert!(bar.contains("\rsealing anew [####################....................] 100 of 200"), "{bar}");
        let lines = shown(false, &[(0, 1000), (10, 1000), (20, 1000), (100, 1000), (1000, 1000)]);
        assert_eq!(lines, "sealing anew: 0 of 1000\nsealing anew: 100 of 1000\nsealing anew: 1000 of 1000\n");
        assert_eq!(shown(false, &[(0, 0)]), "sealing anew: 0 of 0\n");
    }

    fn concluded(outcome: RotationReport) -> String {
        let mut remarks = Vec::new();
        conclude(&outcome, &Config::default(), &mut remarks).unwrap();
        String::from_utf8(remarks).unwrap()
    }

    #[test]
    fn in_the_end_it_says_what_is_left_to_do() {
        let outcome = RotationReport { resealed: 3, finished: true, ..RotationReport::default() };
        assert_eq!(
            concluded(outcome),
            "sealed 3 secrets under a new key\n\
             the new master key is in data/master.key; keep a copy of it where the database's backups are not\n"
        );
        let said = concluded(RotationReport { resumed: true, unreadable: 2, finished: false, ..outcome });
        assert!(said.starts_with("went on with a rotation that was not finished\n"), "{said}");
        assert!(said.contains("2 secrets do not open and were left as they are"), "{said}");
        assert!(said.ends_with("then run `connector-gateway keys rotate-master --finish` to forget the former one\n"));
    }
}
