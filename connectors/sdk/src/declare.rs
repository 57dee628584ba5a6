//! The declarations that a component makes before it returns its manifest. The code that
//! `connector!` makes calls this, so that a connector without declarations does not import their
//! interfaces.

use std::borrow::Cow;

use contract_rules::signature::{Encoding, Hash, Region, SecretForm, TextPart, TimestampForm};

use rows::{BodyEncoding, Declaration, Field, Lists, Location, Method};

use crate::auth::{AuthAddition, AwsSignature, HmacSignature};
use crate::bindings::gateway::connector::{
    auth_additions as wit, http, page_additions, row_additions, trigger_additions,
};
use crate::table::{Connector, NextPage, Pages};
use crate::triggers::{inbox_of, trigger_of};

/// Declares further ways in which accounts get access tokens, and signatures of requests. Codes of
/// ended grants are left out, because gateways for contract 1.1 have no function for them.
pub fn auth_additions(additions: &[AuthAddition]) {
    for addition in additions {
        match addition {
            AuthAddition::ClientCredentials => wit::client_credentials(),
            AuthAddition::ServiceAccount(account) => wit::service_account(&wit::ServiceAccountDeclaration {
                audience: account.audience.map(str::to_owned),
                subject: account.subject,
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
            AuthAddition::EndedCodes(_) => {}
        }
    }
}

/// Declares the provider's own codes for a grant that has ended.
pub fn ended_codes(additions: &[AuthAddition]) {
    for addition in additions {
        if let AuthAddition::EndedCodes(codes) = addition {
            let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();
            wit::ended_codes(&codes);
        }
    }
}

/// Declares the operations that are one request.
pub fn rows(connector: &Connector) {
    for operation in connector.operations {
        if let Some(row) = operation.row {
            row_additions::declare_row(operation.path, &of_row(Declaration::from(row)));
        }
    }
}

/// Declares the operations whose next page is found from the last item of a page.
pub fn last_items(connector: &Connector) {
    for operation in connector.operations {
        if let Some(Pages { next: NextPage::LastItem { more, .. }, .. }) = operation.about.pages {
            page_additions::declare_last_item(operation.path, more);
        }
    }
}

/// Declares the inboxes.
pub fn inboxes(connector: &Connector) {
    for inbox in connector.inboxes {
        trigger_additions::declare_inbox(&inbox_of(inbox));
    }
}

/// Declares the types of events.
pub fn triggers(connector: &Connector) {
    for trigger in connector.triggers {
        trigger_additions::declare_trigger(&trigger_of(trigger));
    }
}

fn of_row(row: Declaration) -> row_additions::Row {
    let Declaration { method, upstream, path, fields, default_query, headers, fixed_body, encoding } = row;
    row_additions::Row {
        method: match method {
            Method::Get => http::Method::Get,
            Method::Head => http::Method::Head,
            Method::Post => http::Method::Post,
            Method::Put => http::Method::Put,
            Method::Patch => http::Method::Patch,
            Method::Delete => http::Method::Delete,
        },
        upstream,
        path,
        fields: fields.into_iter().map(field).collect(),
        default_query: default_query
            .into_iter()
            .map(|default| row_additions::DefaultQuery {
                parameter: default.parameter.into_owned(),
                unless: default.unless.iter().map(|name| name.clone().into_owned()).collect(),
            })
            .collect(),
        headers: headers
            .into_iter()
            .map(|header| row_additions::Header {
                name: header.name,
                value: header.value,
                when: header
                    .when
                    .into_iter()
                    .map(|trigger| row_additions::Trigger {
                        parameter: trigger.parameter.into_owned(),
                        unless: trigger.unless.map(Cow::into_owned),
                    })
                    .collect(),
            })
            .collect(),
        fixed_body,
        encoding: match encoding {
            BodyEncoding::Json => row_additions::BodyEncoding::Json,
            BodyEncoding::Form => row_additions::BodyEncoding::Form,
            BodyEncoding::Multipart => row_additions::BodyEncoding::Multipart,
        },
    }
}

fn field(field: Field) -> row_additions::Field {
    let Field { name, location, required, integer, lists, max_bytes, default, nullable } = field;
    row_additions::Field {
        name: name.into_owned(),
        location: match location {
            Location::Path(encoding) => row_additions::Location::Path(match encoding {
                rows::Encoding::Segment => row_additions::PathEncoding::Segment,
                rows::Encoding::Path => row_additions::PathEncoding::Path,
                rows::Encoding::ODataString => row_additions::PathEncoding::OdataString,
            }),
            Location::Query(name) => row_additions::Location::Query(name.into_owned()),
            Location::QueryEntries => row_additions::Location::QueryEntries,
            Location::Body(steps) => {
                row_additions::Location::Body(steps.iter().map(|step| step.clone().into_owned()).collect())
            }
            Location::WholeBody => row_additions::Location::WholeBody,
            Location::File(name) => row_additions::Location::File(name.into_owned()),
            Location::Header(name) => row_additions::Location::Header(name.into_owned()),
            Location::HeaderEntries => row_additions::Location::HeaderEntries,
        },
        required,
        integer,
        lists: match lists {
            Lists::AsTheyAre => row_additions::Lists::AsTheyAre,
            Lists::Joined(separator) => row_additions::Lists::Joined(separator.into_owned()),
            Lists::Repeated => row_additions::Lists::Repeated,
        },
        max_bytes: max_bytes.and_then(|bytes| u32::try_from(bytes).ok()),
        default: default.map(Cow::into_owned),
        nullable,
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
