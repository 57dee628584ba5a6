//! Every operation while its service fails: the caller gets a problem that says so, and never a
//! part of an answer as the whole.

use serde_json::Value;
use support::{Answer, Gate};

use crate::lanes::Lanes;
use crate::operations::Connector;
use crate::upstream::Condition;

/// Operations that send no request.
const LOCAL: [&str; 1] = ["preprint_archive/get_categories"];

/// Operations that answer with any file, so also with a page of HTML.
const FILES: [&str; 4] = [
    "workspace_docs/export_document",
    "office_sites/download_item",
    "kb_office_sites/download_item",
    "office_drive/download_item",
];

/// Calls every operation at once, with the catalogue's example, while all services are in the same
/// condition. Returns what is wrong, each as a sentence. The calls must end at their deadline.
pub(crate) fn wrong(lanes: &Lanes, connectors: &[Connector]) -> Vec<String> {
    let gate = Gate::default();
    let mut wrong = Vec::new();
    for condition in [Condition::Page, Condition::CutOff, Condition::Silent(gate.clone())] {
        *lanes.services.write() = condition.clone();
        let operations = connectors
            .iter()
            .flat_map(|connector| connector.operations.iter().map(|operation| (&connector.id, operation)));
        let begun: Vec<_> = operations
            .map(|(id, operation)| {
                let call = lanes.begin(id, &operation.path, &operation.inputs[0]);
                (format!("{id}/{}", operation.path), call)
            })
            .collect();
        for (operation, call) in begun {
            let answer = call.try_wait().ok();
            if !is_right(&operation, &condition, answer.as_ref()) {
                wrong.push(format!("{operation}: {condition:?} gets {}", shown(answer.as_ref())));
            }
        }
    }
    gate.open();
    wrong
}

/// Returns `true` if an operation may answer like this. There is no answer if it broke off.
fn is_right(operation: &str, condition: &Condition, answer: Option<&Answer>) -> bool {
    let status = answer.map(|answer| answer.status);
    if LOCAL.contains(&operation) {
        return status == Some(200);
    }
    match condition {
        Condition::Sound => status == Some(200),
        Condition::Page if FILES.contains(&operation) => status == Some(200),
        Condition::Page => status == Some(502),
        // An answer that is passed on breaks off for the caller too.
        Condition::CutOff => matches!(status, None | Some(502)),
        Condition::Silent(_) => status == Some(504),
    }
}

/// The status and the name of the problem.
fn shown(answer: Option<&Answer>) -> String {
    let Some(answer) = answer else { return "an answer that broke off".to_owned() };
    let problem = serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    format!("{} {}", answer.status, problem["type"])
}
