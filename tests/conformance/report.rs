//! The result: a table by connector, the operations that were not checked, and what is wrong.

use crate::check::{Checked, Extent, Violation, check};
use crate::deviations::{DEVIATIONS, UNCHECKED};
use crate::lanes::Sent;
use crate::operations::Connector;
use crate::table;

const HEAD: [&str; 8] =
    ["connector", "operations", "checked", "in part", "unchecked", "requests", "known deviations", "violations"];

/// Checks everything that was sent, prints the tables, and returns what is wrong, each as a
/// sentence.
pub(crate) fn report(connectors: &[Connector], sent: &[Vec<Vec<Sent>>]) -> Vec<String> {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    let mut reasons = Vec::new();
    let mut violations = Vec::new();
    for (connector, sent) in connectors.iter().zip(sent) {
        let operations = connector.operations.iter().zip(sent);
        let checked: Vec<Checked> = operations.map(|(operation, sent)| check(&connector.id, operation, sent)).collect();
        rows.push(row(connector, sent, &checked));
        for (operation, one) in connector.operations.iter().zip(checked) {
            let subject = format!("{}/{}", connector.id, operation.path);
            reasons.extend(one.reasons.into_iter().map(|why| vec![subject.clone(), why]));
            violations.extend(one.violations);
        }
    }
    table::print("Requests to upstreams, against the specifications of the providers", &rows);
    table::print("Operations that were not checked, or not all of them", &reasons);
    let known = DEVIATIONS.iter().map(|one| [one.operation, one.place, one.why].map(str::to_owned).to_vec());
    table::print("Known deviations, and why they are right", &known.collect::<Vec<_>>());
    let mut wrong = wrong(connectors, &violations);
    wrong.extend(surprises(connectors, &reasons));
    wrong
}

/// A connector's row.
fn row(connector: &Connector, sent: &[Vec<Sent>], checked: &[Checked]) -> Vec<String> {
    let extents = [Extent::Whole, Extent::InPart, Extent::Nothing]
        .map(|extent| checked.iter().filter(|one| one.extent == extent).count());
    let requests: usize = sent.iter().flatten().map(|call| call.requests.len()).sum();
    let found: Vec<&Violation> = checked.iter().flat_map(|one| &one.violations).collect();
    let known = found.iter().filter(|violation| is_known(violation)).count();
    let counts = [checked.len()].into_iter().chain(extents).chain([requests, known, found.len() - known]);
    [connector.id.clone()].into_iter().chain(counts.map(|count| count.to_string())).collect()
}

fn is_known(violation: &Violation) -> bool {
    DEVIATIONS.iter().any(|deviation| deviation.is(violation))
}

/// Operations that were not checked although they can be, and those that were checked although they
/// are said not to be.
fn surprises(connectors: &[Connector], reasons: &[Vec<String>]) -> Vec<String> {
    let unknown = reasons.iter().filter(|reason| !UNCHECKED.iter().any(|known| reason[0].starts_with(known)));
    let unknown = unknown.map(|reason| format!("{}: it was not checked, or not all of it: {}", reason[0], reason[1]));
    let gone = UNCHECKED
        .iter()
        .filter(|known| is_live(connectors, known) && !reasons.iter().any(|reason| reason[0].starts_with(**known)));
    let gone = gone.map(|known| format!("{known}: it was checked, remove it from the operations that cannot be"));
    unknown.chain(gone).collect()
}

/// Returns `true` if the connector of an operation is live.
fn is_live(connectors: &[Connector], operation: &str) -> bool {
    connectors.iter().any(|connector| operation.split('/').next() == Some(&connector.id))
}

/// The violations that are not known, and the known deviations that are gone.
fn wrong(connectors: &[Connector], violations: &[Violation]) -> Vec<String> {
    let unknown = violations.iter().filter(|violation| !is_known(violation)).map(|violation| {
        format!("{} {}: {}\n    {}", violation.operation, violation.place, violation.detail, violation.example)
    });
    let gone = DEVIATIONS.iter().filter(|deviation| {
        is_live(connectors, deviation.operation) && !violations.iter().any(|violation| deviation.is(violation))
    });
    let gone = gone.map(|deviation| {
        format!(
            "{} {}: no longer different, remove it from the deviations ({})",
            deviation.operation, deviation.place, deviation.why
        )
    });
    unknown.chain(gone).collect()
}
