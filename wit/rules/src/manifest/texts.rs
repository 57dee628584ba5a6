//! The characters of all texts of a manifest.
//!
//! The records are taken apart without `..`, so that a new text does not compile until it is
//! checked here. A text that is left out has a form that permits no such character.

use super::violations::Violations;
use super::{
    ApiKey, Auth, Identity, Imprint, Manifest, Oauth2, Operation, Pagination, RateLimit, Setting, Upstream, shorten,
};
use crate::text::{self, line, lines};

/// Checks that no text has control or format characters.
pub(super) fn check(manifest: &Manifest<'_>, found: &mut Violations) {
    let Manifest {
        identifier: _,
        version,
        title,
        description,
        imprint: Imprint { license, homepage, author, icon },
        auth,
        upstreams,
        rate_limits,
        settings,
        operations,
        // It is checked with the other rules about it.
        upstream_additions: _,
    } = manifest;
    found.add("version", line(version));
    found.add("title", line(title));
    found.add("description", lines(description));
    found.add("imprint.license", line(license));
    found.add("imprint.homepage", line(homepage.unwrap_or_default()));
    found.add("imprint.author", line(author.unwrap_or_default()));
    // A byte order mark is a part of the file.
    found.add("imprint.icon", lines(icon.unwrap_or_default().trim_start_matches('\u{feff}')));
    match auth {
        Auth::None => {}
        Auth::Oauth2(scheme) => check_oauth2(scheme, found),
        Auth::ApiKey(ApiKey { header: _, prefix, query, form_field, check: _ }) => {
            found.add("api-key, header prefix", line(prefix.unwrap_or_default()));
            found.add("api-key, query", line(query.unwrap_or_default()));
            found.add("auth.form-field", line(form_field.unwrap_or_default()));
        }
    }
    for Upstream { name, base_url, credential_in_form: _, link_hosts: _, concurrency: _ } in upstreams {
        found.add(format!("upstream `{}`, base-url", shorten(name)), line(base_url));
    }
    for RateLimit { name: _, requests: _, period_seconds: _ } in rate_limits {}
    for Setting { name, schema, default, documentation } in settings {
        let part = || format!("setting `{}`", shorten(name));
        found.add(part(), text::schema(schema));
        for text in [default.unwrap_or_default(), documentation] {
            found.add(part(), lines(text));
        }
    }
    for operation in operations {
        check_operation(operation, found);
    }
}

fn check_oauth2(scheme: &Oauth2<'_>, found: &mut Violations) {
    let Oauth2 {
        provider,
        authorization_url,
        token_url,
        refresh_url,
        revocation_url,
        scopes,
        scope_separator: _,
        scope_parameter,
        authorization_parameters,
        token_parameters,
        token_pointer,
        form_field,
        identity,
    } = scheme;
    for (key, text) in [
        ("provider", Some(*provider)),
        ("authorization-url", Some(*authorization_url)),
        ("token-url", Some(*token_url)),
        ("refresh-url", *refresh_url),
        ("revocation", *revocation_url),
        ("scope-parameter", Some(*scope_parameter)),
        ("token-pointer", Some(*token_pointer)),
    ] {
        found.add(format!("oauth2.{key}"), line(text.unwrap_or_default()));
    }
    found.add("auth.form-field", line(form_field.unwrap_or_default()));
    for scope in scopes {
        found.add(format!("scope `{}`", shorten(scope)), line(scope));
    }
    for (name, value) in authorization_parameters.iter().chain(token_parameters) {
        for text in [name, value] {
            found.add(format!("oauth2, parameter `{}`", shorten(name)), line(text));
        }
    }
    if let Some(Identity { operation: _, pointers }) = identity {
        for pointer in pointers {
            found.add(format!("oauth2.identity, pointer `{}`", shorten(pointer)), line(pointer));
        }
    }
}

fn check_operation(operation: &Operation<'_>, found: &mut Violations) {
    let Operation {
        path,
        summary,
        description,
        input_schema,
        example,
        envelope: _,
        answers_json: _,
        answer_schema,
        answer_example,
        pagination,
        background: _,
        rate_limit: _,
    } = operation;
    let part = || format!("operation `{}`", shorten(path));
    found.add(part(), line(summary));
    for text in [Some(*description), *example, *answer_example] {
        found.add(part(), lines(text.unwrap_or_default()));
    }
    for schema in [Some(*input_schema), *answer_schema] {
        found.add(part(), text::schema(schema.unwrap_or_default()));
    }
    if let Some(Pagination { items, next, parameter, input }) = pagination {
        for text in [Some(*items), *next, *parameter, Some(*input)] {
            found.add(format!("{}, pagination", part()), line(text.unwrap_or_default()));
        }
    }
}
