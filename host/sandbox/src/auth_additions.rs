//! The `auth-additions` interface: `describe` declares ways to authorize, which are collected next
//! to the manifest.

use std::fmt::Debug;

use contract::{AppInstallation, AuthAdditions, AwsSignature, DeviceCode, HmacSignature, ServiceAccount, Signature};
use contract_rules::limit::ENDED_CODES;
use contract_rules::signature::{Encoding, Hash, Region, SecretForm, TextPart, Timestamp, TimestampForm};

use super::bindings::gateway::connector::auth_additions as wit;
use super::guest::Guest;

impl Guest {
    /// See [`Guest::declarations`].
    fn auth(&mut self, function: &str, declaration: &impl Debug) -> wasmtime::Result<&mut AuthAdditions> {
        Ok(&mut self.declarations(function, declaration)?.auth)
    }

    /// Takes the declaration of a signature.
    ///
    /// # Errors
    /// A trap if there is one already: a connector declares one kind of signature.
    fn signature(&mut self, function: &str, declared: Signature) -> wasmtime::Result<()> {
        let earlier = self.auth(function, &declared)?.signature.replace(declared);
        wasmtime::ensure!(
            earlier.is_none(),
            "it called `{function}` after it had declared a signature; a connector declares one kind, once"
        );
        Ok(())
    }
}

/// # Errors
/// A trap if the function was called before.
fn once(was_called: bool, function: &str) -> wasmtime::Result<()> {
    wasmtime::ensure!(!was_called, "it called `{function}` twice; `describe` calls it once");
    Ok(())
}

impl wit::Host for Guest {
    fn client_credentials(&mut self) -> wasmtime::Result<()> {
        const NAME: &str = "auth-additions.client-credentials";
        once(std::mem::replace(&mut self.auth(NAME, &())?.client_credentials, true), NAME)
    }

    fn service_account(&mut self, declaration: wit::ServiceAccountDeclaration) -> wasmtime::Result<()> {
        const NAME: &str = "auth-additions.service-account";
        let wit::ServiceAccountDeclaration { audience, subject } = declaration;
        let needs_subject = match subject {
            wit::Subject::Required => true,
            wit::Subject::Optional => false,
        };
        let declared = ServiceAccount { audience, needs_subject };
        once(self.auth(NAME, &declared)?.service_account.replace(declared).is_some(), NAME)
    }

    fn app_installation(&mut self, declaration: wit::AppInstallationDeclaration) -> wasmtime::Result<()> {
        const NAME: &str = "auth-additions.app-installation";
        let wit::AppInstallationDeclaration { upstream, path } = declaration;
        let declared = AppInstallation { upstream, path };
        once(self.auth(NAME, &declared)?.app_installation.replace(declared).is_some(), NAME)
    }

    fn device_code(&mut self, declaration: wit::DeviceCodeDeclaration) -> wasmtime::Result<()> {
        const NAME: &str = "auth-additions.device-code";
        let wit::DeviceCodeDeclaration { device_authorization_url } = declaration;
        let declared = DeviceCode { device_authorization_url };
        once(self.auth(NAME, &declared)?.device_code.replace(declared).is_some(), NAME)
    }

    fn aws_signature_v4(&mut self, declaration: wit::AwsSignatureDeclaration) -> wasmtime::Result<()> {
        let wit::AwsSignatureDeclaration { service, region } = declaration;
        let region = match region {
            wit::SignatureRegion::Fixed(region) => Region::Fixed(region),
            wit::SignatureRegion::AddressPart(part) => Region::Part(part),
        };
        self.signature("auth-additions.aws-signature-v4", Signature::Aws(AwsSignature { service, region }))
    }

    fn hmac_signature(&mut self, declaration: wit::HmacDeclaration) -> wasmtime::Result<()> {
        let wit::HmacDeclaration { hash, secret, encoding, text, separator, timestamp, key_header } = declaration;
        let declared = HmacSignature {
            hash: match hash {
                wit::SignatureHash::Sha1 => Hash::Sha1,
                wit::SignatureHash::Sha256 => Hash::Sha256,
                wit::SignatureHash::Sha512 => Hash::Sha512,
            },
            secret: match secret {
                wit::SecretForm::Text => SecretForm::Text,
                wit::SecretForm::Base64 => SecretForm::Base64,
            },
            encoding: match encoding {
                wit::SignatureEncoding::Hex => Encoding::Hex,
                wit::SignatureEncoding::Base64 => Encoding::Base64,
            },
            text: text.into_iter().map(text_part).collect(),
            separator,
            timestamp: timestamp.map(|wit::TimestampHeader { header, form }| Timestamp {
                header,
                form: match form {
                    wit::TimestampForm::Seconds => TimestampForm::Seconds,
                    wit::TimestampForm::Milliseconds => TimestampForm::Milliseconds,
                    wit::TimestampForm::Rfc3339 => TimestampForm::Rfc3339,
                },
            }),
            key_header,
        };
        self.signature("auth-additions.hmac-signature", Signature::Hmac(declared))
    }

    fn ended_codes(&mut self, mut codes: Vec<String>) -> wasmtime::Result<()> {
        const NAME: &str = "auth-additions.ended-codes";
        // The rules of the manifest refuse one more than the limit. More are not kept.
        codes.truncate(ENDED_CODES + 1);
        let earlier = std::mem::replace(&mut self.auth(NAME, &codes)?.ended_codes, codes);
        once(!earlier.is_empty(), NAME)
    }
}

fn text_part(part: wit::TextPart) -> TextPart<String> {
    match part {
        wit::TextPart::Method => TextPart::Method,
        wit::TextPart::Host => TextPart::Host,
        wit::TextPart::Path => TextPart::Path,
        wit::TextPart::Query => TextPart::Query,
        wit::TextPart::Target => TextPart::Target,
        wit::TextPart::Timestamp => TextPart::Timestamp,
        wit::TextPart::KeyId => TextPart::KeyId,
        wit::TextPart::Body => TextPart::Body,
        wit::TextPart::BodyHash => TextPart::BodyHash,
        wit::TextPart::Literal(text) => TextPart::Literal(text),
    }
}
