//! The declarations that the document names in `additions`, a list of objects with the member `is`.

use serde_json::Value;

use crate::bindings::gateway::connector::auth_additions::{
    self, AppInstallationDeclaration, AwsSignatureDeclaration, DeviceCodeDeclaration, HmacDeclaration, SecretForm,
    ServiceAccountDeclaration, SignatureEncoding, SignatureHash, SignatureRegion, Subject, TextPart, TimestampForm,
    TimestampHeader,
};
use crate::{scheme, text};

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
            "aws_signature" => auth_additions::aws_signature_v4(&AwsSignatureDeclaration {
                service: text(addition, "service").to_owned(),
                region: match addition["region"].as_str() {
                    Some(region) => SignatureRegion::Fixed(region.to_owned()),
                    None => SignatureRegion::AddressPart(text(addition, "part").to_owned()),
                },
            }),
            "hmac_signature" => auth_additions::hmac_signature(&hmac()),
            "ended_codes" => auth_additions::ended_codes(&scheme::texts(&addition["codes"])),
            _ => auth_additions::app_installation(&AppInstallationDeclaration {
                upstream: text(addition, "upstream").to_owned(),
                path: text(addition, "path").to_owned(),
            }),
        }
    }
}

/// A signature over everything that a text can have.
fn hmac() -> HmacDeclaration {
    HmacDeclaration {
        hash: SignatureHash::Sha512,
        secret: SecretForm::Text,
        encoding: SignatureEncoding::Base64,
        text: vec![
            TextPart::Timestamp,
            TextPart::Method,
            TextPart::Host,
            TextPart::Target,
            TextPart::KeyId,
            TextPart::BodyHash,
            TextPart::Literal("end".to_owned()),
        ],
        separator: "\n".to_owned(),
        timestamp: Some(TimestampHeader { header: "X-Time".to_owned(), form: TimestampForm::Milliseconds }),
        key_header: Some("X-Key".to_owned()),
    }
}
