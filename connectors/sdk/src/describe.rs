//! The manifest, built from the table when the gateway loads the connector.

use crate::auth::{ApiKey, Auth, Identity, KeyPlacement, OAuth2 as Oauth2, Revocation};
use crate::bindings::gateway::connector::manifest as wit;
use crate::declared::{Declared, records, same, variants};
use crate::table::{Connector, CredentialUse, Imprint, NextPage, Operation, Pages, RateLimit, Setting, Upstream};
use crate::texts::{self, Texts};

/// The manifest of a connector.
pub(crate) fn describe(connector: &Connector) -> wit::Manifest {
    let upstreams = connector.upstreams.iter().enumerate();
    wit::Manifest {
        identifier: connector.identifier.to_owned(),
        version: connector.version.to_owned(),
        title: connector.title.to_owned(),
        description: connector.description.to_owned(),
        imprint: imprint(&connector.imprint),
        auth: auth(&connector.auth),
        upstreams: upstreams.map(|(index, found)| upstream(found, index == 0, &connector.auth)).collect(),
        rate_limits: connector.rate_limits.declared(),
        settings: connector.settings.declared(),
        operations: connector.operations.iter().zip(texts::of(connector)).map(operation).collect(),
    }
}

/// Cargo separates authors by colons. A key that Cargo.toml does not have is an empty text.
fn imprint(imprint: &Imprint) -> wit::Imprint {
    let given = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
    wit::Imprint {
        license: imprint.license.to_owned(),
        homepage: given(imprint.homepage),
        author: given(imprint.authors).map(|authors| authors.replace(':', ", ")),
        icon: imprint.icon.map(str::to_owned),
    }
}

fn upstream(upstream: &Upstream, first: bool, auth: &Auth) -> wit::Upstream {
    let by_default = match auth {
        Auth::OAuth2(_) | Auth::ApiKey(_) if first => CredentialUse::Standard,
        _ => CredentialUse::None,
    };
    wit::Upstream {
        name: upstream.name.to_owned(),
        base_url: upstream.base_url.to_owned(),
        credential: upstream.credential.unwrap_or(by_default),
        link_hosts: upstream.link_hosts.declared(),
        pacing: upstream.pacing,
    }
}

fn operation((operation, texts): (&Operation, Texts)) -> wit::Operation {
    let about = operation.about;
    wit::Operation {
        path: operation.path.to_owned(),
        summary: texts.summary,
        description: texts.description,
        input_schema: texts.input_schema,
        example: texts.example,
        envelope: about.envelope,
        effect: about.effect,
        answer: about.answer,
        answer_schema: texts.answer_schema,
        answer_example: texts.answer_example,
        pagination: about.pages.map(pagination),
        background: about.background,
        immediate: about.immediate,
        rate_limit: about.rate_limit.map(str::to_owned),
    }
}

fn pagination(pages: Pages) -> wit::Pagination {
    wit::Pagination {
        items: pages.items.to_owned(),
        next: match pages.next {
            // `page-additions` says that the pointer leads from the last item.
            NextPage::Cursor(pointer) | NextPage::LastItem { pointer, .. } => wit::NextPage::Cursor(pointer.to_owned()),
            NextPage::Link { pointer, parameter } => {
                wit::NextPage::Link(wit::NextLink { pointer: pointer.to_owned(), parameter: parameter.to_owned() })
            }
            NextPage::PageNumber(first) => wit::NextPage::PageNumber(first),
            NextPage::Offset => wit::NextPage::Offset,
        },
        input: pages.input.to_owned(),
    }
}

fn auth(auth: &Auth) -> wit::AuthScheme {
    match auth {
        Auth::None => wit::AuthScheme::None,
        Auth::OAuth2(client) => wit::AuthScheme::Oauth2(client.declared()),
        Auth::ApiKey(key) => wit::AuthScheme::ApiKey(key.declared()),
    }
}

impl Declared for KeyPlacement {
    type Contract = wit::KeyPlacement;

    fn declared(&self) -> wit::KeyPlacement {
        match self {
            Self::Header { name, prefix } => {
                wit::KeyPlacement::Header(wit::KeyHeader { name: name.declared(), prefix: prefix.declared() })
            }
            Self::Query(name) => wit::KeyPlacement::Query(name.declared()),
            Self::Basic => wit::KeyPlacement::Basic,
        }
    }
}

same!(wit::ClientAuthentication);

records! {
    RateLimit { name, requests, period_seconds }
    Setting { name, schema, default, documentation }
    Oauth2 {
        provider, authorization_url, token_url, refresh_url, revocation, scopes, scope_separator, scope_parameter,
        authorization_parameters, token_parameters, pkce, client_authentication, token_pointer,
        default_lifetime_seconds, form_field, revokes_replaced_grants, identity,
    }
    Identity { operation, id, email, name }
    ApiKey { placement, form_field, check }
}

variants! {
    Revocation { Form(url), Bearer(url), Delete(url) }
}
