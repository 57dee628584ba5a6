//! The machine: descriptors, memory, the folders of the gateway with their modes, and the space on
//! the disk.

use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, access, statvfs};
use rustix::process::{Resource, getrlimit};

use super::report::Report;
use crate::exposure::{Exposure, open_data_folder};
use config::Config;
use memory::MemoryBudget;

/// With fewer descriptors, a few hundred callers use them up.
const ENOUGH_DESCRIPTORS: u64 = 4096;

/// The part of the memory, as a divisor, that must be left for all but the budget of calls: code,
/// instances, the database.
const LEFT: u64 = 4;

/// The part of the disk, as a divisor, that must be free. Of a large disk, [`ENOUGH_SPACE`] is
/// enough.
const FREE: u64 = 10;

/// Bytes that are enough for some days of records, and for the files of new modules.
const ENOUGH_SPACE: u64 = 1 << 30;

/// The permission of other users to write.
const OTHERS_WRITE: u32 = 0o002;

/// Examines the machine. Reads the metadata of files.
pub fn examine(config: &Config, report: &mut Report) {
    descriptors(config, report);
    memory(config, report);
    data_folder(config, report);
    disk(config, report);
    module_folder(&config.modules_dir, "modules_dir", report);
    if let Some(shipped) = &config.shipped_dir {
        module_folder(shipped, "shipped_dir", report);
    }
    master_key_mode(config, report);
}

fn descriptors(config: &Config, report: &mut Report) {
    const CHECK: &str = "descriptors";
    // The gateway raises its limit to the hard limit. `None` is no limit.
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let action = "Raise the hard limit of open files: `LimitNOFILE` of the systemd unit, `--ulimit nofile` of the container, \
                  or `ulimit -Hn`";
    if limit < ENOUGH_DESCRIPTORS {
        report.problem(CHECK, format!("the gateway may open {limit} files, fewer than {ENOUGH_DESCRIPTORS}"), action);
    } else if let Some(connections) =
        config.max_connections.filter(|&connections| connections as u64 > limit - limit / 4)
    {
        report.problem(
            CHECK,
            format!("`max_connections` is {connections}, but the gateway may open {limit} files, and needs a quarter of them"),
            format!("{action}. Or lower `max_connections`"),
        );
    } else {
        report.ok(CHECK, format!("the gateway may open {limit} files"));
    }
}

fn memory(config: &Config, report: &mut Report) {
    const CHECK: &str = "memory";
    let budget = config.memory_bytes >> 20;
    let Some(available) = MemoryBudget::available() else {
        report.note(CHECK, "the operating system does not say how much memory there is", "Set `memory_mb`");
        return;
    };
    let most = (available - available / LEFT) >> 20;
    let available = available >> 20;
    if budget > most {
        report.problem(
            CHECK,
            format!("calls may take {budget} MiB, but the machine or its control group has {available} MiB in total"),
            format!("Set `memory_mb` to {most} or less, or give the gateway more memory"),
        );
    } else {
        report.ok(CHECK, format!("calls may take {budget} of {available} MiB"));
    }
}

fn data_folder(config: &Config, report: &mut Report) {
    const CHECK: &str = "folders";
    let path = &config.data_dir;
    let shown = path.display();
    if !path.exists() {
        report.note(CHECK, format!("`data_dir` {shown} does not exist"), "The first start makes it");
        return;
    }
    if let Some(Exposure::OpenDataFolder { mode, .. }) = open_data_folder(config) {
        report.problem(
            CHECK,
            format!("all users of this machine can enter `data_dir` {shown} (mode {mode:03o})"),
            format!("Run `chmod 700 {shown}`"),
        );
    } else if access(path, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        report.problem(
            CHECK,
            format!("this user cannot write to `data_dir` {shown}"),
            "Run the command as the user of the gateway, or give this user access to the folder",
        );
    } else {
        report.ok(CHECK, format!("`data_dir` {shown} is private and can be written"));
    }
}

fn disk(config: &Config, report: &mut Report) {
    // Without the folder, its check has a note.
    let Ok(disk) = statvfs(&config.data_dir) else { return };
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    judge_disk(&config.data_dir, bytes(disk.f_bavail), bytes(disk.f_blocks), report);
}

/// `free` has the bytes that this user can still write, `total` the bytes of the disk.
fn judge_disk(data_dir: &Path, free: u64, total: u64, report: &mut Report) {
    const CHECK: &str = "disk";
    let (shown, free_mib, total_mib) = (data_dir.display(), free >> 20, total >> 20);
    // Some file systems do not say how large they are.
    if total == 0 {
        return;
    }
    if free < ENOUGH_SPACE.min(total / FREE) {
        report.problem(
            CHECK,
            format!("the disk with `data_dir` {shown} is nearly full: {free_mib} of {total_mib} MiB are free"),
            "Free some space, or move `data_dir` to a larger disk. On a full disk, the gateway cannot store new tokens and \
             records",
        );
    } else {
        report.ok(CHECK, format!("the disk with `data_dir` {shown} has {free_mib} MiB of free space"));
    }
}

fn module_folder(path: &Path, key: &str, report: &mut Report) {
    const CHECK: &str = "folders";
    let shown = path.display();
    match fs::metadata(path).as_ref().map(Metadata::is_dir) {
        Ok(true) => {}
        // The gateway makes the default folder.
        Err(_) if *path == Config::default().modules_dir => return,
        _ => {
            report.problem(
                CHECK,
                format!("`{key}` {shown} is no folder"),
                format!("Make the folder, or set `{key}` to the folder of the modules"),
            );
            return;
        }
    }
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & OTHERS_WRITE != 0 {
        report.problem(
            CHECK,
            format!("all users of this machine can add modules to `{key}` {shown} (mode {:03o})", mode & 0o777),
            format!("Run `chmod o-w {shown}`"),
        );
    } else if access(path, Access::READ_OK | Access::EXEC_OK).is_err() {
        report.problem(
            CHECK,
            format!("this user cannot read `{key}` {shown}"),
            "Run the command as the user of the gateway, or give this user access to the folder",
        );
    } else {
        report.ok(CHECK, format!("`{key}` {shown} can be read"));
    }
}

/// The permission bits of a file that other users can read or change. `None` if there are none, or
/// no file.
pub(super) fn exposed_mode(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

fn master_key_mode(config: &Config, report: &mut Report) {
    let path = config.master_key_path();
    let Some(mode) = exposed_mode(&path) else { return };
    report.problem(
        "master key",
        format!("other users can read the master key {} (mode {mode:03o})", path.display()),
        format!(
            "Run `chmod 600 {}`, and this command again for the connectors. If others may have read the key, replace it \
             with `connector-gateway keys rotate-master`",
            path.display()
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    #[test]
    fn a_disk_is_nearly_full_with_little_space_in_bytes_and_in_parts() {
        const GIB: u64 = 1 << 30;
        let level = |free, total| {
            let mut report = Report::default();
            judge_disk(Path::new("data"), free, total, &mut report);
            report.findings().first().map(|finding| finding.level)
        };
        assert_eq!(level(GIB - 1, 100 * GIB), Some(Level::Problem));
        assert_eq!(level(GIB, 100 * GIB), Some(Level::Ok));
        assert_eq!(level(GIB / 10, GIB), Some(Level::Ok), "a small disk");
        assert_eq!(level(GIB / 10 - 1, GIB), Some(Level::Problem));
        assert_eq!(level(0, 0), None, "a file system without a size");
    }
}
