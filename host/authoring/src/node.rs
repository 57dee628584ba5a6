//! The version of Node.js on this machine, which the SDK for JavaScript depends on.

use std::process::{Command, Stdio};

/// The oldest minor version of each major version that the packages of the SDK run on. All minor
/// versions of a later major version are new enough.
const OLDEST: [(u64, u64); 2] = [(20, 19), (22, 12)];

/// A sentence that names the software to install before the SDK for JavaScript runs here. `None` if
/// nothing is missing.
pub(crate) fn missing() -> Option<String> {
    let output = Command::new("node").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let version = output.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let found = match version {
        Some(version) if is_new_enough(&version) => return None,
        Some(version) if version.starts_with('v') => format!("this machine has {}", version.trim_start_matches('v')),
        _ => "this machine has none in its PATH".to_owned(),
    };
    Some(format!(
        "The SDK for JavaScript needs Node.js 20.19, 22.12 or later, and {found}. Debian 13 has one (`apt install nodejs npm`); for \
         other systems, including Debian 12: https://nodejs.org/en/download"
    ))
}

/// Returns `true` if the SDK runs on this version, such as `v20.19.0`.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u64>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    match OLDEST.iter().find(|(known, _)| *known == major) {
        Some((_, oldest)) => minor >= *oldest,
        None => OLDEST.iter().all(|(known, _)| major > *known),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_the_packages_run_on_are_new_enough() {
        for version in ["v20.19.0", "v20.20.2", "v22.12.1", "v23.0.0", "v24.1.0"] {
            assert!(is_new_enough(version), "{version}");
        }
        for version in ["v18.20.4", "v20.18.3", "v21.7.0", "v22.11.0", "", "v", "node"] {
            assert!(!is_new_enough(version), "{version}");
        }
    }
}
