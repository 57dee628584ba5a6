//! The proofs that a notification comes from the service.

use std::collections::HashSet;

use super::super::shorten;
use super::super::violations::Violations;
use super::{About, few, given, is_outside_of_body, maybe_empty, place, setting};
use crate::limit::{CHECK_PARTS, ISSUERS, TOLERANCE_SECONDS, TRIGGER_ITEMS};
use crate::trigger::{Check, CheckPart, Claim, HmacCheck, JwtAudience, JwtCheck, Place};
use crate::{Broken, address, ensure, header};

pub(super) fn check(about: &About<'_>, part: &str, declared: &Check, found: &mut Violations) {
    match declared {
        Check::Hmac(hmac) => check_hmac(&format!("{part} `hmac`"), hmac, found),
        Check::Token(token) => {
            let is_value =
                ensure(*token != Place::BodyHash, "the token is a value of the notification, and no hash of it");
            found.add(format!("{part} `token`"), is_value.and_then(|()| place(token)));
        }
        Check::Jwt(jwt) => check_jwt(about, &format!("{part} `jwt`"), jwt, found),
    }
}

fn check_hmac(part: &str, declared: &HmacCheck, found: &mut Violations) {
    let HmacCheck {
        hash: _,
        secret: _,
        encoding: _,
        text,
        separator,
        signature,
        prefix,
        list_separator,
        timestamp,
        tolerance_seconds,
    } = declared;
    found.add(part, ensure((1..=CHECK_PARTS).contains(&text.len()), "the text has 1 to 16 parts"));
    let count = |part: &CheckPart| text.iter().filter(|known| *known == part).count();
    found.add(part, ensure(count(&CheckPart::Body) == 1, "the text has the part `body` once"));
    let has_time = count(&CheckPart::Timestamp) > 0;
    found.add(
        part,
        ensure(
            has_time == timestamp.is_some(),
            "`timestamp` is set if, and only if, the text has the part `timestamp`",
        ),
    );
    for known in text.iter().take(CHECK_PARTS) {
        found.add(part, check_part(known));
    }
    found.add(format!("{part}, separator"), maybe_empty_lines(separator));
    let in_header = matches!(signature, Place::Header(_) | Place::HeaderField(_));
    let in_header = ensure(in_header, "the signature is in a header or in a field of one");
    found.add(format!("{part}, signature"), in_header.and_then(|()| place(signature)));
    found.add(format!("{part}, prefix"), maybe_empty(prefix));
    found.add(format!("{part}, list-separator"), list_separator.as_deref().map_or(Ok(()), given));
    if let Some(timestamp) = timestamp {
        let outside = ensure(is_outside_of_body(timestamp), "the timestamp is in a header or in the query");
        found.add(format!("{part}, timestamp"), outside.and_then(|()| place(timestamp)));
    }
    let tolerance = (1..=TOLERANCE_SECONDS).contains(tolerance_seconds);
    found.add(format!("{part}, tolerance-seconds"), ensure(tolerance, "the tolerance is 1 to 3600 seconds"));
}

fn check_part(declared: &CheckPart) -> Result<(), Broken> {
    match declared {
        CheckPart::Body | CheckPart::Timestamp => Ok(()),
        CheckPart::Header(name) => maybe_empty(name).and_then(|()| header::read(name)),
        CheckPart::Literal(text) => maybe_empty_lines(text),
    }
}

/// A text between parts, which may be a line break.
fn maybe_empty_lines(text: &str) -> Result<(), Broken> {
    maybe_empty(&text.replace('\n', " "))
}

fn check_jwt(about: &About<'_>, part: &str, declared: &JwtCheck, found: &mut Violations) {
    let JwtCheck { place: token, issuers, jwks_url, audience, claims } = declared;
    let outside = ensure(is_outside_of_body(token), "the token is in a header or in the query");
    found.add(format!("{part}, place"), outside.and_then(|()| place(token)));
    found.add(format!("{part}, issuers"), ensure((1..=ISSUERS).contains(&issuers.len()), "a token has 1 to 4 issuers"));
    for issuer in issuers.iter().take(ISSUERS) {
        found.add(format!("{part}, issuer `{}`", shorten(issuer)), given(issuer));
    }
    let url = given(jwks_url).and_then(|()| address::secret_url(jwks_url));
    found.add(format!("{part}, jwks-url `{}`", shorten(jwks_url)), url);
    if let JwtAudience::Setting(name) = audience {
        found.add(format!("{part}, audience"), setting(about, name));
    }
    found.add(format!("{part}, claims"), few(claims));
    let mut seen = HashSet::new();
    for (name, claim) in claims.iter().take(TRIGGER_ITEMS) {
        let of_claim = || format!("{part}, claim `{}`", shorten(name));
        found.add(of_claim(), given(name));
        found.add(of_claim(), ensure(seen.insert(name), "it is there twice"));
        let value = match claim {
            Claim::Literal(text) => given(text),
            Claim::Setting(name) => setting(about, name),
        };
        found.add(of_claim(), value);
    }
}
