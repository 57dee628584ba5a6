//! The manifest of a connector as the rules see it.

/// Defines `fn view`, which borrows the parts of a manifest that rules need. The SDK and the
/// gateway have different types for the same manifest, both generated from the contract. The
/// argument is the name of the module with these types.
#[macro_export]
macro_rules! manifest_view {
    ($wit:ident) => {
        /// The manifest in the form that the rules take.
        fn view(manifest: &$wit::Manifest) -> $crate::manifest::Manifest<'_> {
            // The records are taken apart, so that a new member does not compile until the rules
            // have it or leave it out here.
            let $wit::Manifest {
                identifier: _,
                version: _,
                title: _,
                description: _,
                imprint,
                auth: _,
                upstreams: _,
                rate_limits: _,
                settings: _,
                operations: _,
            } = manifest;
            let $wit::Imprint { license: _, homepage: _, author: _, icon: _ } = imprint;
            $crate::manifest::Manifest {
                identifier: &manifest.identifier,
                version: &manifest.version,
                title: &manifest.title,
                description: &manifest.description,
                imprint: $crate::manifest::Imprint {
                    license: &imprint.license,
                    homepage: imprint.homepage.as_deref(),
                    author: imprint.author.as_deref(),
                    icon: imprint.icon.as_deref(),
                },
                auth: auth(&manifest.auth),
                upstreams: manifest.upstreams.iter().map(upstream).collect(),
                rate_limits: manifest.rate_limits.iter().map(rate_limit).collect(),
                settings: manifest.settings.iter().map(setting).collect(),
                operations: manifest.operations.iter().map(operation).collect(),
                // The caller adds what `describe` has declared.
                upstream_additions: $crate::manifest::UpstreamAdditions::default(),
            }
        }

        fn upstream(upstream: &$wit::Upstream) -> $crate::manifest::Upstream<'_> {
            let $wit::Upstream { name: _, base_url: _, credential: _, link_hosts: _, pacing: _ } = upstream;
            $crate::manifest::Upstream {
                name: &upstream.name,
                base_url: &upstream.base_url,
                credential_in_form: upstream.credential == $wit::CredentialUse::FormField,
                link_hosts: upstream.link_hosts.iter().map(String::as_str).collect(),
                concurrency: upstream.pacing.map(|pacing| pacing.concurrency),
            }
        }

        fn rate_limit(limit: &$wit::RateLimit) -> $crate::manifest::RateLimit<'_> {
            $crate::manifest::RateLimit {
                name: &limit.name,
                requests: limit.requests,
                period_seconds: limit.period_seconds,
            }
        }

        fn setting(setting: &$wit::Setting) -> $crate::manifest::Setting<'_> {
            let $wit::Setting { name: _, schema: _, default: _, documentation: _ } = setting;
            $crate::manifest::Setting {
                name: &setting.name,
                schema: &setting.schema,
                default: setting.default.as_deref(),
                documentation: &setting.documentation,
            }
        }

        fn operation(operation: &$wit::Operation) -> $crate::manifest::Operation<'_> {
            let $wit::Operation {
                path: _,
                summary: _,
                description: _,
                input_schema: _,
                example: _,
                envelope: _,
                effect: _,
                answer: _,
                answer_schema: _,
                answer_example: _,
                pagination: _,
                background: _,
                immediate: _,
                rate_limit: _,
            } = operation;
            $crate::manifest::Operation {
                path: &operation.path,
                summary: &operation.summary,
                description: &operation.description,
                input_schema: &operation.input_schema,
                example: operation.example.as_deref(),
                envelope: operation.envelope,
                answers_json: operation.answer == $wit::Answer::Json,
                answer_schema: operation.answer_schema.as_deref(),
                answer_example: operation.answer_example.as_deref(),
                pagination: operation.pagination.as_ref().map(|pages| $crate::manifest::Pagination {
                    items: &pages.items,
                    next: match &pages.next {
                        $wit::NextPage::Cursor(pointer) => Some(pointer),
                        $wit::NextPage::Link(link) => Some(&link.pointer),
                        $wit::NextPage::PageNumber(_) | $wit::NextPage::Offset => None,
                    },
                    parameter: match &pages.next {
                        $wit::NextPage::Link(link) => Some(&link.parameter),
                        $wit::NextPage::Cursor(_) | $wit::NextPage::PageNumber(_) | $wit::NextPage::Offset => None,
                    },
                    input: &pages.input,
                }),
                background: operation.background,
                rate_limit: operation.rate_limit.as_deref(),
            }
        }

        fn auth(auth: &$wit::AuthScheme) -> $crate::manifest::Auth<'_> {
            match auth {
                $wit::AuthScheme::None => $crate::manifest::Auth::None,
                $wit::AuthScheme::Oauth2(client) => $crate::manifest::Auth::Oauth2(oauth2(client)),
                $wit::AuthScheme::ApiKey(key) => $crate::manifest::Auth::ApiKey($crate::manifest::ApiKey {
                    header: if let $wit::KeyPlacement::Header(header) = &key.placement {
                        Some(&header.name)
                    } else {
                        None
                    },
                    prefix: if let $wit::KeyPlacement::Header(header) = &key.placement {
                        Some(&header.prefix)
                    } else {
                        None
                    },
                    query: if let $wit::KeyPlacement::Query(name) = &key.placement { Some(name) } else { None },
                    form_field: key.form_field.as_deref(),
                    check: key.check.as_deref(),
                }),
            }
        }

        fn oauth2(client: &$wit::Oauth2) -> $crate::manifest::Oauth2<'_> {
            let $wit::Oauth2 {
                provider: _,
                authorization_url: _,
                token_url: _,
                refresh_url: _,
                revocation: _,
                scopes: _,
                scope_separator: _,
                scope_parameter: _,
                authorization_parameters: _,
                token_parameters: _,
                pkce: _,
                client_authentication: _,
                token_pointer: _,
                default_lifetime_seconds: _,
                form_field: _,
                revokes_replaced_grants: _,
                identity: _,
            } = client;
            fn pairs(list: &[(String, String)]) -> Vec<(&str, &str)> {
                list.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
            }
            $crate::manifest::Oauth2 {
                provider: &client.provider,
                authorization_url: &client.authorization_url,
                token_url: &client.token_url,
                refresh_url: client.refresh_url.as_deref(),
                revocation_url: client.revocation.as_ref().map(|revocation| match revocation {
                    $wit::Revocation::Form(url) | $wit::Revocation::Bearer(url) | $wit::Revocation::Delete(url) => {
                        url.as_str()
                    }
                }),
                scopes: client.scopes.iter().map(String::as_str).collect(),
                scope_separator: &client.scope_separator,
                scope_parameter: &client.scope_parameter,
                authorization_parameters: pairs(&client.authorization_parameters),
                token_parameters: pairs(&client.token_parameters),
                token_pointer: &client.token_pointer,
                form_field: client.form_field.as_deref(),
                identity: client.identity.as_ref().map(|identity| $crate::manifest::Identity {
                    operation: &identity.operation,
                    pointers: [Some(&identity.id), identity.email.as_ref(), identity.name.as_ref()]
                        .into_iter()
                        .flatten()
                        .map(String::as_str)
                        .collect(),
                }),
            }
        }
    };
}
