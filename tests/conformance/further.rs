//! Inputs for calls that a generated input hardly ever leads to.

use serde_json::{Value, json};

/// Size of an attachment that makes a message larger than the 5 MB up to which Gmail takes it as a
/// part of JSON.
const LARGE: usize = 6 << 20;

/// Further inputs of an operation.
pub(crate) fn inputs(operation: &str) -> Option<Value> {
    let message = || json!({"to": "kim@example.com", "subject": "Plans", "attachments": [attachment()]});
    match operation {
        "workspace_mail/create_draft" | "workspace_mail/messages_send" => Some(message()),
        "workspace_mail/update_draft" => {
            let mut message = message();
            message["draft_id"] = json!("r-1");
            Some(message)
        }
        _ => None,
    }
}

fn attachment() -> Value {
    // Four characters of base64 are three bytes.
    json!({"file_name": "plans.bin", "content_base64": "AAAA".repeat(LARGE / 3)})
}
