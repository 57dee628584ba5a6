//! One inbox.

use std::collections::HashSet;

use super::super::shorten;
use super::super::violations::Violations;
use super::{About, check, few, given, leads, maybe_empty, of_account, place, texts};
use crate::limit::{ACCOUNT_KEYS, CHECKS, HANDSHAKES, ID_PARTS, KIND_PARTS, LEAST_MAX_BODY, MAX_BODY, TRIGGER_ITEMS};
use crate::trigger::{EchoMember, Handshake, HmacQuery, Inbox, InboxScope, Place, Visibility};
use crate::{Broken, ensure, path};

pub(super) fn check(about: &About<'_>, inbox: &Inbox, found: &mut Violations) {
    let Inbox {
        name,
        scope,
        checks,
        handshakes,
        decode,
        items,
        id,
        kind,
        data,
        time,
        accounts,
        visibility,
        ignored,
        lifecycle,
        max_body,
    } = inbox;
    let part = |what: &str| format!("inbox `{}`, {what}", shorten(name));
    found.add(part("checks"), ensure((1..=CHECKS).contains(&checks.len()), "an inbox has 1 to 4 checks"));
    for declared in checks.iter().take(CHECKS) {
        check::check(about, &part("check"), declared, found);
    }
    found.add(part("handshakes"), ensure(handshakes.len() <= HANDSHAKES, "an inbox has at most 4 handshakes"));
    for declared in handshakes.iter().take(HANDSHAKES) {
        found.add(part("handshake"), handshake(*scope, declared));
    }
    for (what, text) in [("decode", decode.as_deref()), ("items", items.as_deref()), ("data", Some(data.as_str()))] {
        found.add(part(what), text.map_or(Ok(()), leads));
    }
    found.add(part("id"), ensure((1..=ID_PARTS).contains(&id.len()), "an id has 1 to 8 parts"));
    found.add(part("kind"), ensure((1..=KIND_PARTS).contains(&kind.len()), "a kind has 1 to 4 parts"));
    for declared in id.iter().take(ID_PARTS) {
        found.add(part("id"), place(declared));
    }
    for declared in kind.iter().take(KIND_PARTS) {
        found.add(part("kind"), read(declared));
    }
    found.add(part("time"), time.as_ref().map_or(Ok(()), read));
    let is_application = *scope == InboxScope::Application;
    let number = match is_application {
        true => {
            ensure((1..=ACCOUNT_KEYS).contains(&accounts.len()), "an inbox of an application has 1 to 4 account keys")
        }
        false => {
            ensure(accounts.is_empty(), "an inbox of a subscription has no account keys: its address names the account")
        }
    };
    found.add(part("accounts"), number);
    for key in accounts.iter().take(ACCOUNT_KEYS) {
        found.add(part("accounts"), read(&key.place));
        found.add(part("accounts"), of_account(about, &key.account));
    }
    if let Some(declared) = visibility {
        found.add(part("visibility"), ensure(is_application, "visibility is for an inbox of an application"));
        found.add(part("visibility"), check_visibility(about, declared));
    }
    texts(&part("ignored"), ignored, found);
    found.add(part("lifecycle"), few(lifecycle));
    let mut seen: HashSet<&str> = ignored.iter().map(String::as_str).collect();
    for (kind, _) in lifecycle.iter().take(TRIGGER_ITEMS) {
        let of_kind = || part(&format!("lifecycle `{}`", shorten(kind)));
        found.add(of_kind(), given(kind));
        found.add(of_kind(), ensure(seen.insert(kind), "the kind is there twice, or it is ignored"));
    }
    let body = ensure((LEAST_MAX_BODY..=MAX_BODY).contains(max_body), "the largest body has 1024 to 26214400 bytes");
    found.add(part("max-body"), body);
}

/// A place of a value that is told, and not only compared.
fn read(declared: &Place) -> Result<(), Broken> {
    ensure(*declared != Place::BodyHash, "the hash of the body is for ids only")?;
    place(declared)
}

fn handshake(scope: InboxScope, declared: &Handshake) -> Result<(), Broken> {
    match declared {
        Handshake::EchoQuery(parameter) => {
            ensure(
                scope == InboxScope::Subscription,
                "`echo-query` is for an inbox of a subscription: it is answered only while a subscription is being made or \
                 renewed",
            )?;
            given(parameter)
        }
        Handshake::EchoMember(EchoMember { when: (pointer, text), member }) => {
            leads(pointer)?;
            given(text)?;
            leads(member)
        }
        Handshake::HmacQuery(HmacQuery { parameter, hash: _, secret: _, encoding: _, member, prefix }) => {
            given(parameter)?;
            given(member)?;
            maybe_empty(prefix)
        }
    }
}

fn check_visibility(about: &About<'_>, declared: &Visibility) -> Result<(), Broken> {
    let Visibility { upstream, path, context, parameter, accounts, cursor: (next, next_parameter) } = declared;
    if !about.upstreams.contains(&upstream.as_str()) {
        return Err(format!("there is no upstream `{}`", shorten(upstream)).into());
    }
    given(path)?;
    ensure(!path.contains('?'), "the path has no query: the request is a form")?;
    path::check(path)?;
    for pointer in [context, accounts, next] {
        leads(pointer)?;
    }
    given(parameter)?;
    given(next_parameter)
}
