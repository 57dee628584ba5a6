//! The declarations that the document names in `additions`, a list of objects with the member `is`.

use serde_json::Value;

use crate::bindings::gateway::connector::auth_additions::{
    self, AppInstallationDeclaration, DeviceCodeDeclaration, ServiceAccountDeclaration, Subject,
};
use crate::text;

/// Declares them.
pub(crate) fn declare(service: &Value) {
    for addition in service["additions"].as_array().into_iter().flatten() {
        match text(addition, "is") {
            "client_credentials" => auth_additions::client_credentials(),
            "service_account" => auth_additions::service_account(&ServiceAccountDeclaration {
                audience: addition["audience"].as_str().map(str::to_owned),
                subject: if addition["subject"] == "required" { Subject::Required } else { Subject::Optional },
            }),
            "device_code" => auth_additions::device_code(&DeviceCodeDeclaration {
                device_authorization_url: text(addition, "url").to_owned(),
            }),
            _ => auth_additions::app_installation(&AppInstallationDeclaration {
                upstream: text(addition, "upstream").to_owned(),
                path: text(addition, "path").to_owned(),
            }),
        }
    }
}
