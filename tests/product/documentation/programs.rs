//! Programs that pages call, and that `make` installs below `target` and not on the machine.

use std::os::unix::fs::symlink;
use std::path::Path;

use support::{module, process, programs};

const COMPILER: &str = "clang-19";
const BINDINGS: &str = "wit-bindgen";

/// Adds the programs to a folder that is in the `PATH`. Those of the machine are used if `make`
/// could not install them.
pub(super) fn add(folder: &Path) {
    let target = module::root().canonicalize().unwrap().join("target");
    let bindings = target.join(BINDINGS).join("bin").join(BINDINGS);
    if bindings.is_file() {
        symlink(bindings, folder.join(BINDINGS)).unwrap();
    }
    let command = programs::debian("languages", COMPILER);
    let unpacked = target.join("debian/languages/usr");
    if Path::new(command.get_program()).is_file() {
        let libraries = command.get_envs().find_map(|(_, value)| value).unwrap_or_default().display();
        // An installed compiler finds its linker in the `PATH`, and the C library below `/usr`.
        let script = format!(
            "#!/bin/sh\nexport LD_LIBRARY_PATH='{libraries}' PATH='{root}/bin':\"$PATH\"\nexec {COMPILER} --sysroot='{root}' \"$@\"\n",
            root = unpacked.display()
        );
        process::write_program(&folder.join(COMPILER), &script);
    }
}
