//! The manifest, built from the table when the gateway loads the connector.

use crate::auth::{ApiKey, Auth, KeyPlacement, OAuth2, Revocation};
use crate::bindings::gateway::connector::manifest as wit;
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
        rate_limits: connector.rate_limits.iter().map(rate_limit).collect(),
        settings: connector.settings.iter().map(setting).collect(),
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
        link_hosts: strings(upstream.link_hosts),
        pacing: upstream.pacing,
    }
}

fn rate_limit(limit: &RateLimit) -> wit::RateLimit {
    wit::RateLimit { name: limit.name.to_owned(), requests: limit.requests, period_seconds: limit.period_seconds }
}

fn setting(setting: &Setting) -> wit::Setting {
    wit::Setting {
        name: setting.name.to_owned(),
        schema: setting.schema.to_owned(),
        default: setting.default.map(str::to_owned),
        documentation: setting.documentation.to_owned(),
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
        Auth::OAuth2(client) => wit::AuthScheme::Oauth2(oauth2(client)),
        Auth::ApiKey(key) => wit::AuthScheme::ApiKey(api_key(key)),
    }
}

fn oauth2(client: &OAuth2) -> wit::Oauth2 {
    wit::Oauth2 {
        provider: client.provider.to_owned(),
        authorization_url: client.authorization_url.to_owned(),
        token_url: client.token_url.to_owned(),
        refresh_url: client.refresh_url.map(str::to_owned),
        revocation: client.revocation.map(|revocation| match revocation {
            Revocation::Form(url) => wit::Revocation::Form(url.to_owned()),
            Revocation::Bearer(url) => wit::Revocation::Bearer(url.to_owned()),
            Revocation::Delete(url) => wit::Revocation::Delete(url.to_owned()),
        }),
        scopes: strings(client.scopes),
        scope_separator: client.scope_separator.to_owned(),
        scope_parameter: client.scope_parameter.to_owned(),
        authorization_parameters: pairs(client.authorization_parameters),
        token_parameters: pairs(client.token_parameters),
        pkce: client.pkce,
        client_authentication: client.client_authentication,
        token_pointer: client.token_pointer.to_owned(),
        default_lifetime_seconds: client.default_lifetime_seconds,
        form_field: client.form_field.map(str::to_owned),
        revokes_replaced_grants: client.revokes_replaced_grants,
        identity: client.identity.map(|identity| wit::Identity {
            operation: identity.operation.to_owned(),
            id: identity.id.to_owned(),
            email: identity.email.map(str::to_owned),
            name: identity.name.map(str::to_owned),
        }),
    }
}

fn api_key(key: &ApiKey) -> wit::ApiKey {
    wit::ApiKey {
        placement: match key.placement {
            KeyPlacement::Header { name, prefix } => {
                wit::KeyPlacement::Header(wit::KeyHeader { name: name.to_owned(), prefix: prefix.to_owned() })
            }
            KeyPlacement::Query(name) => wit::KeyPlacement::Query(name.to_owned()),
            KeyPlacement::Basic => wit::KeyPlacement::Basic,
        },
        form_field: key.form_field.map(str::to_owned),
        check: key.check.map(str::to_owned),
    }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn pairs(items: &[(&str, &str)]) -> Vec<(String, String)> {
    items.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
