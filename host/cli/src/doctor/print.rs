//! Prints the findings.

use std::io;

use authoring::output::{print, print_json};
use connector_gateway::{DoctorReport, Finding};
use serde_json::json;

/// Prints a report, for people or as JSON.
///
/// # Errors
/// If it cannot be written.
pub(super) fn print_report(report: &DoctorReport, as_json: bool) -> io::Result<()> {
    if as_json {
        let findings = report.findings().iter().map(|Finding { level, check, text, action }| {
            json!({"level": level.name(), "check": check, "finding": text, "action": action})
        });
        let findings: Vec<_> = findings.collect();
        return print_json(format_args!("{:#}", json!({"problems": report.problems(), "findings": findings})));
    }
    for Finding { level, check, text, action } in report.findings() {
        print(format_args!("{:8} {check:13} {text}", level.name()))?;
        if !action.is_empty() {
            print(format_args!("{:22} To do: {action}", ""))?;
        }
    }
    Ok(())
}
