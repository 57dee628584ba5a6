//! All rules of a manifest.

use contract_rules::manifest as rules;
use contract_rules::manifest::Violation;

use crate::site;
use crate::{
    ApiKey, AuthScheme, CredentialUse, KeyPlacement, Manifest, NextPage, Oauth2, Operation, Pagination, Revocation,
    Setting, Upstream,
};

/// Checks a manifest against the rules that `wit/connector.wit` states. Returns every rule that it breaks. Schemas are not
/// compiled here.
pub fn check(manifest: &Manifest) -> Vec<Violation> {
    let borrowed = borrow(manifest);
    let mut violations = rules::check(&borrowed);
    violations.extend(rules::check_schemas(&borrowed));
    for upstream in &manifest.upstreams {
        for host in upstream.link_hosts.iter().filter(|host| contract_rules::address::link_host(host).is_ok()) {
            if let Err(broken) = site::link_host(host) {
                let part = format!("upstream `{}`, link host `{host}`", upstream.name);
                violations.push(Violation { part, broken });
            }
        }
    }
    violations
}

/// The parts of a manifest that rules are about.
fn borrow(manifest: &Manifest) -> rules::Manifest<'_> {
    rules::Manifest {
        identifier: &manifest.identifier,
        version: &manifest.version,
        title: &manifest.title,
        description: &manifest.description,
        imprint: rules::Imprint {
            license: &manifest.imprint.license,
            homepage: manifest.imprint.homepage.as_deref(),
            author: manifest.imprint.author.as_deref(),
            icon: manifest.imprint.icon.as_deref(),
        },
        auth: match &manifest.auth {
            AuthScheme::None => rules::Auth::None,
            AuthScheme::Oauth2(scheme) => rules::Auth::Oauth2(oauth2(scheme)),
            AuthScheme::ApiKey(key) => rules::Auth::ApiKey(api_key(key)),
        },
        upstreams: manifest.upstreams.iter().map(upstream).collect(),
        rate_limits: manifest
            .rate_limits
            .iter()
            .map(|limit| rules::RateLimit {
                name: &limit.name,
                requests: limit.requests,
                period_seconds: limit.period_seconds,
            })
            .collect(),
        settings: manifest.settings.iter().map(setting).collect(),
        operations: manifest.operations.iter().map(operation).collect(),
    }
}

fn upstream(upstream: &Upstream) -> rules::Upstream<'_> {
    rules::Upstream {
        name: &upstream.name,
        base_url: &upstream.base_url,
        credential_in_form: upstream.credential == CredentialUse::FormField,
        link_hosts: upstream.link_hosts.iter().map(String::as_str).collect(),
        concurrency: upstream.pacing.map(|pacing| pacing.concurrency),
    }
}

fn setting(setting: &Setting) -> rules::Setting<'_> {
    rules::Setting {
        name: &setting.name,
        schema: &setting.schema,
        default: setting.default.as_deref(),
        documentation: &setting.documentation,
    }
}

fn operation(operation: &Operation) -> rules::Operation<'_> {
    rules::Operation {
        path: &operation.path,
        summary: &operation.summary,
        description: &operation.description,
        input_schema: &operation.input_schema,
        example: operation.example.as_deref(),
        envelope: operation.envelope,
        answer_schema: operation.answer_schema.as_deref(),
        pagination: operation.pagination.as_ref().map(pagination),
        rate_limit: operation.rate_limit.as_deref(),
    }
}

fn pagination(pagination: &Pagination) -> rules::Pagination<'_> {
    rules::Pagination {
        items: &pagination.items,
        next: match &pagination.next {
            NextPage::Cursor(pointer) => Some(pointer),
            NextPage::Link(link) => Some(&link.pointer),
            NextPage::PageNumber(_) | NextPage::Offset => None,
        },
        input: &pagination.input,
    }
}

fn oauth2(scheme: &Oauth2) -> rules::Oauth2<'_> {
    rules::Oauth2 {
        provider: &scheme.provider,
        authorization_url: &scheme.authorization_url,
        token_url: &scheme.token_url,
        refresh_url: scheme.refresh_url.as_deref(),
        revocation_url: scheme.revocation.as_ref().map(|revocation| match revocation {
            Revocation::Form(url) | Revocation::Bearer(url) | Revocation::Delete(url) => url.as_str(),
        }),
        scope_separator: &scheme.scope_separator,
        token_pointer: &scheme.token_pointer,
        form_field: scheme.form_field.as_deref(),
        identity: scheme.identity.as_ref().map(|identity| rules::Identity {
            operation: &identity.operation,
            pointers: [Some(&identity.id), identity.email.as_ref(), identity.name.as_ref()]
                .into_iter()
                .flatten()
                .map(String::as_str)
                .collect(),
        }),
    }
}

fn api_key(key: &ApiKey) -> rules::ApiKey<'_> {
    let (header, query) = match &key.placement {
        KeyPlacement::Header(header) => (Some(header.name.as_str()), None),
        KeyPlacement::Query(name) => (None, Some(name.as_str())),
        KeyPlacement::Basic => (None, None),
    };
    rules::ApiKey { header, query, form_field: key.form_field.as_deref(), check: key.check.as_deref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Effect, Imprint, KeyHeader, NextLink};

    fn manifest() -> Manifest {
        Manifest {
            identifier: "example".to_owned(),
            version: "1.0.0".to_owned(),
            title: "Example".to_owned(),
            description: String::new(),
            imprint: Imprint { license: "MIT".to_owned(), homepage: None, author: None, icon: None },
            auth: AuthScheme::ApiKey(ApiKey {
                placement: KeyPlacement::Query("key".to_owned()),
                form_field: Some("token".to_owned()),
                check: None,
            }),
            upstreams: vec![Upstream {
                name: "api".to_owned(),
                base_url: "https://api.example.com".to_owned(),
                credential: CredentialUse::FormField,
                link_hosts: vec!["*.example.com".to_owned()],
                pacing: None,
            }],
            rate_limits: Vec::new(),
            settings: Vec::new(),
            operations: vec![Operation {
                path: "list".to_owned(),
                summary: String::new(),
                description: String::new(),
                input_schema: r#"{"type":"object","properties":{"page":{}},"additionalProperties":false}"#.to_owned(),
                example: None,
                envelope: true,
                effect: Effect::Read,
                answer: Answer::Json,
                answer_schema: None,
                pagination: Some(Pagination {
                    items: "/items".to_owned(),
                    next: NextPage::Link(NextLink { pointer: "/next".to_owned(), parameter: "page".to_owned() }),
                    input: "/page".to_owned(),
                }),
                background: false,
                immediate: true,
                rate_limit: None,
            }],
        }
    }

    #[track_caller]
    fn only(change: impl FnOnce(&mut Manifest), words: &str) {
        let mut manifest = manifest();
        change(&mut manifest);
        let found = check(&manifest);
        let [violation] = found.as_slice() else { panic!("{found:?}") };
        assert!(violation.to_string().contains(words), "{violation}");
    }

    #[test]
    fn a_manifest_that_keeps_the_rules_breaks_none() {
        assert_eq!(check(&manifest()), []);
    }

    #[test]
    fn every_part_of_a_manifest_is_checked() {
        only(|manifest| manifest.identifier = "Example".to_owned(), "identifier");
        only(|manifest| manifest.imprint.homepage = Some("http://example.com".to_owned()), "imprint.homepage");
        only(|manifest| manifest.imprint.icon = Some("gif".to_owned()), "imprint.icon");
        only(|manifest| manifest.upstreams[0].link_hosts = vec!["*.".to_owned()], "link host");
        only(|manifest| manifest.operations[0].rate_limit = Some("slow".to_owned()), "no rate limit `slow`");
        only(|manifest| manifest.operations[0].answer_schema = Some("{".to_owned()), "schema of the answer");
        let next = NextPage::Cursor("next".to_owned());
        only(|manifest| manifest.operations[0].pagination.as_mut().unwrap().next = next, "pagination `next`");
        let input = "/pages".to_owned();
        only(|manifest| manifest.operations[0].pagination.as_mut().unwrap().input = input, "`/pages`");
        let placement = KeyPlacement::Header(KeyHeader { name: "Host".to_owned(), prefix: String::new() });
        let key = ApiKey { placement, form_field: Some("token".to_owned()), check: None };
        only(|manifest| manifest.auth = AuthScheme::ApiKey(key), "cannot hold a key");
        only(|manifest| manifest.auth = AuthScheme::None, "form-field");
        let setting =
            Setting { name: "Size".to_owned(), schema: "{}".to_owned(), default: None, documentation: String::new() };
        only(|manifest| manifest.settings.push(setting), "setting `Size`");
    }

    #[test]
    fn an_input_schema_that_accepts_any_member_is_refused_with_the_words_to_add() {
        let open = r#"{"type":"object","properties":{"page":{}}}"#.to_owned();
        only(|manifest| manifest.operations[0].input_schema = open, r#"`"additionalProperties": false`"#);
    }

    #[test]
    fn a_wildcard_link_host_is_not_below_a_public_suffix() {
        for host in ["*.co.uk", "*.herokuapp.com"] {
            only(|manifest| manifest.upstreams[0].link_hosts = vec![host.to_owned()], "public suffix");
        }
    }
}
