//! The manifest, built from the table when the gateway loads the connector.

use crate::auth::{ApiKey, Auth, ClientAuthentication, KeyPlacement, OAuth2, Revocation};
use crate::bindings::gateway::connector::manifest as wit;
use crate::table::{Connector, Operation, RateLimit, Upstream};

/// The manifest of a connector.
pub(crate) fn describe(connector: &Connector) -> wit::Manifest {
    wit::Manifest {
        identifier: connector.identifier.to_owned(),
        version: connector.version.to_owned(),
        title: connector.title.to_owned(),
        description: connector.description.to_owned(),
        auth: auth(&connector.auth),
        upstreams: connector.upstreams.iter().map(upstream).collect(),
        rate_limits: connector.rate_limits.iter().map(rate_limit).collect(),
        operations: connector.operations.iter().map(operation).collect(),
    }
}

fn upstream(upstream: &Upstream) -> wit::Upstream {
    wit::Upstream {
        name: upstream.name.to_owned(),
        base_url: upstream.base_url.to_owned(),
        redirect_hosts: strings(upstream.redirect_hosts),
        pacing: upstream.pacing.map(|pacing| wit::Pacing {
            interval_ms: pacing.interval_ms,
            concurrency: pacing.concurrency,
            max_wait_ms: pacing.max_wait_ms,
        }),
    }
}

fn rate_limit(limit: &RateLimit) -> wit::RateLimit {
    wit::RateLimit { name: limit.name.to_owned(), requests: limit.requests, period_seconds: limit.period_seconds }
}

fn operation(operation: &Operation) -> wit::Operation {
    let about = operation.about;
    wit::Operation {
        path: operation.path.to_owned(),
        summary: about.summary.to_owned(),
        description: about.description.to_owned(),
        input_schema: about.input_schema.to_owned(),
        example: about.example.map(str::to_owned),
        envelope: about.envelope,
        effect: about.effect,
        background: about.background,
        immediate: about.immediate,
        rate_limit: about.rate_limit.map(str::to_owned),
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
        client_authentication: match client.client_authentication {
            ClientAuthentication::Body => wit::ClientAuthentication::Body,
            ClientAuthentication::Basic => wit::ClientAuthentication::Basic,
        },
        token_pointer: client.token_pointer.to_owned(),
        default_lifetime_seconds: client.default_lifetime_seconds,
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
        check: key.check.map(str::to_owned),
    }
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn pairs(items: &[(&str, &str)]) -> Vec<(String, String)> {
    items.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
