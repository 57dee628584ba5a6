//! The declarations that a component makes before it returns its manifest. The code that
//! `connector!` makes calls this, so that a connector without declarations does not import the
//! interface `auth-additions`.

use contract_rules::signature::{Encoding, Hash, Region, SecretForm, TextPart, TimestampForm};

use crate::auth::{AuthAddition, AwsSignature, HmacSignature, Subject};
use crate::bindings::gateway::connector::auth_additions as wit;

/// Declares further ways in which accounts get access tokens, and signatures of requests.
pub fn auth_additions(additions: &[AuthAddition]) {
    for addition in additions {
        match addition {
            AuthAddition::ClientCredentials => wit::client_credentials(),
            AuthAddition::ServiceAccount(account) => wit::service_account(&wit::ServiceAccountDeclaration {
                audience: account.audience.map(str::to_owned),
                subject: match account.subject {
                    Subject::Required => wit::Subject::Required,
                    Subject::Optional => wit::Subject::Optional,
                },
            }),
            AuthAddition::AppInstallation(app) => wit::app_installation(&wit::AppInstallationDeclaration {
                upstream: app.upstream.to_owned(),
                path: app.path.to_owned(),
            }),
            AuthAddition::DeviceCode(device) => wit::device_code(&wit::DeviceCodeDeclaration {
                device_authorization_url: device.device_authorization_url.to_owned(),
            }),
            AuthAddition::AwsSignature(declared) => wit::aws_signature_v4(&aws(declared)),
            AuthAddition::HmacSignature(declared) => wit::hmac_signature(&hmac(declared)),
        }
    }
}

fn aws(declared: &AwsSignature) -> wit::AwsSignatureDeclaration {
    wit::AwsSignatureDeclaration {
        service: declared.service.to_owned(),
        region: match declared.region {
            Region::Fixed(region) => wit::SignatureRegion::Fixed(region.to_owned()),
            Region::Part(part) => wit::SignatureRegion::AddressPart(part.to_owned()),
        },
    }
}

fn hmac(declared: &HmacSignature) -> wit::HmacDeclaration {
    wit::HmacDeclaration {
        hash: match declared.hash {
            Hash::Sha1 => wit::SignatureHash::Sha1,
            Hash::Sha256 => wit::SignatureHash::Sha256,
            Hash::Sha512 => wit::SignatureHash::Sha512,
        },
        secret: match declared.secret {
            SecretForm::Text => wit::SecretForm::Text,
            SecretForm::Base64 => wit::SecretForm::Base64,
        },
        encoding: match declared.encoding {
            Encoding::Hex => wit::SignatureEncoding::Hex,
            Encoding::Base64 => wit::SignatureEncoding::Base64,
        },
        text: declared.text.iter().map(text_part).collect(),
        separator: declared.separator.to_owned(),
        timestamp: declared.timestamp.as_ref().map(|timestamp| wit::TimestampHeader {
            header: timestamp.header.to_owned(),
            form: match timestamp.form {
                TimestampForm::Seconds => wit::TimestampForm::Seconds,
                TimestampForm::Milliseconds => wit::TimestampForm::Milliseconds,
                TimestampForm::Rfc3339 => wit::TimestampForm::Rfc3339,
            },
        }),
        key_header: declared.key_header.map(str::to_owned),
    }
}

fn text_part(part: &TextPart<&'static str>) -> wit::TextPart {
    match part {
        TextPart::Method => wit::TextPart::Method,
        TextPart::Host => wit::TextPart::Host,
        TextPart::Path => wit::TextPart::Path,
        TextPart::Query => wit::TextPart::Query,
        TextPart::Target => wit::TextPart::Target,
        TextPart::Timestamp => wit::TextPart::Timestamp,
        TextPart::KeyId => wit::TextPart::KeyId,
        TextPart::Body => wit::TextPart::Body,
        TextPart::BodyHash => wit::TextPart::BodyHash,
        TextPart::Literal(text) => wit::TextPart::Literal((*text).to_owned()),
    }
}
