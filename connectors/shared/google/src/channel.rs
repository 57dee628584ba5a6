//! Channels: how the services of Google notify of changes. A channel cannot be renewed. Another one
//! replaces it before it ends.

use connector_sdk::http::{self, Error, Request};
use connector_sdk::json::quoted;
use connector_sdk::triggers::{Check, Inbox, Place, Subscription, Unsubscribe, Value};
use connector_sdk::{Document, Fault, UpstreamFault, clock, random};

/// Google's reason for refusing an address whose domain the application does not own.
const UNVERIFIED: &str = "push.webhookUrlUnauthorized";

/// A channel has an address and a token. Its notifications have no body, and only say that
/// something has changed.
pub const INBOXES: &[Inbox] = &[Inbox {
    name: "channel",
    checks: &[Check::Token(Place::Header("X-Goog-Channel-Token"))],
    id: &[Place::Header("X-Goog-Channel-ID"), Place::Header("X-Goog-Message-Number")],
    kind: &[Place::Header("X-Goog-Resource-State")],
    // The first notification of a channel, which says that it is open.
    ignored: &["sync"],
    max_body: 64 << 10,
    ..Inbox::SUBSCRIPTION
}];

/// Opens a channel. `request` is the request of a method `watch`, without a body. `seconds` is the
/// life of the channel, which Google may shorten.
///
/// # Errors
/// Google's own refusal, but the status 403 if Google refuses the address. [`Error::BadAnswer`] if the
/// response has no `resourceId`.
pub fn open(request: Request, seconds: u64) -> Result<Subscription, Fault> {
    let id = random::uuid();
    let expiration = clock::now().saturating_add(seconds.saturating_mul(1000));
    let body = format!(
        r#"{{"id":"{id}","type":"web_hook","address":"{{{{hook.url}}}}","token":"{{{{hook.secret}}}}","expiration":"{expiration}"}}"#
    );
    let channel = http::send(request.json(body))?.successful().map_err(of_address)?.document()?;
    let Some(resource) = channel.string("/resourceId") else {
        return Err(Error::BadAnswer("Google's channel has no `resourceId`".to_owned()).into());
    };
    let expiration = channel.pointer("/expiration");
    let milliseconds = expiration.and_then(|time| time.as_string().unwrap_or_else(|| time.text()).parse().ok());
    Ok(Subscription {
        expires_at: milliseconds.map(clock::rfc3339),
        state: Some(Value(format!(r#"{{"resource":{}}}"#, quoted(&resource)))),
        ..Subscription::new(id)
    })
}

/// Google answers 401 for an address that it does not notify. The gateway would take this for the
/// user's credential, ask the user to connect an account that works, and not read meanwhile.
fn of_address(fault: Fault) -> Fault {
    match fault {
        Fault::Upstream(fault) if fault.status == 401 && names_address(fault.body.as_deref()) => {
            let detail =
                format!("Google does not notify this address ({UNVERIFIED}). Verify the domain of the public URL.");
            Fault::Upstream(UpstreamFault { status: 403, detail, ..fault })
        }
        other => other,
    }
}

/// Returns `true` for a refusal of the address.
fn names_address(body: Option<&str>) -> bool {
    let body = body.and_then(|body| Document::parse(body).ok());
    body.and_then(|body| body.string("/error/errors/0/reason")).as_deref() == Some(UNVERIFIED)
}

/// Closes a channel. `request` is the request of the method `channels.stop`, without a body. A
/// channel that has ended is no error.
///
/// # Errors
/// Google's own refusal.
pub fn close(request: Request, channel: &Unsubscribe) -> Result<(), Fault> {
    let Unsubscribe { upstream_id, state, .. } = channel;
    let resource: Option<String> = state.as_ref().map(|state| state.required("resource")).transpose()?;
    let body = format!(r#"{{"id":{},"resourceId":{}}}"#, quoted(upstream_id), quoted(&resource.unwrap_or_default()));
    let response = http::send(request.json(body))?;
    if response.status() != 404 {
        response.successful()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use connector_sdk::Fault;
    use connector_sdk::http::{Body, Request};
    use connector_sdk::testing::{Answer, Gateway};
    use connector_sdk::triggers::{Subscription, Unsubscribe, Value};

    use super::{close, open};

    fn body(request: &Request) -> &str {
        match &request.body {
            Some(Body::Json(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    fn watch() -> Result<Subscription, Fault> {
        open(Request::post("api", "/watch"), 604_800)
    }

    fn stop() -> Result<(), Fault> {
        let channel = Unsubscribe {
            upstream_id: "c-1".to_owned(),
            state: Some(Value(r#"{"resource":"r-1"}"#.to_owned())),
            parameters: Value("{}".to_owned()),
        };
        close(Request::post("api", "/channels/stop"), &channel)
    }

    fn status(result: Result<impl std::fmt::Debug, Fault>) -> u16 {
        match result {
            Err(Fault::Upstream(refusal)) => refusal.status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_channel_has_a_new_id_and_ends_when_google_says() {
        let channel = r#"{"kind":"api#channel","resourceId":"r-1","expiration":"1767409445000"}"#;
        let gateway = Gateway::new().now(1_767_323_045_000);
        let gateway = gateway.answer(Answer::json(200, channel)).answer(Answer::json(200, channel));
        let opened = watch().expect("a channel");
        assert_eq!(opened.expires_at.as_deref(), Some("2026-01-03T03:04:05Z"));
        assert_eq!(opened.state, Some(Value(r#"{"resource":"r-1"}"#.to_owned())));
        assert_ne!(watch().expect("another one").upstream_id, opened.upstream_id);
        let request = &gateway.requests()[0];
        assert_eq!(
            body(request),
            format!(
                r#"{{"id":"{}","type":"web_hook","address":"{{{{hook.url}}}}","token":"{{{{hook.secret}}}}","expiration":"1767927845000"}}"#,
                opened.upstream_id
            )
        );
    }

    #[test]
    fn a_channel_is_closed_by_both_ids_and_may_have_ended() {
        let gateway = Gateway::new()
            .answer(Answer::new(204, ""))
            .answer(Answer::json(404, r#"{"error":{"code":404}}"#))
            .answer(Answer::json(401, r#"{"error":{"code":401}}"#));
        assert!(stop().is_ok() && stop().is_ok());
        assert_eq!(status(stop()), 401);
        assert_eq!(body(&gateway.requests()[0]), r#"{"id":"c-1","resourceId":"r-1"}"#);
    }

    #[test]
    fn a_refused_address_is_no_refused_credential() {
        let refusal = |reason: &str| {
            format!(
                r#"{{"error":{{"code":401,"message":"No.","errors":[{{"domain":"global","reason":"{reason}","message":"No."}}]}}}}"#
            )
        };
        let (address, credential) = (refusal("push.webhookUrlUnauthorized"), refusal("authError"));
        let _gateway = Gateway::new().answer(Answer::json(401, &address)).answer(Answer::json(401, &credential));
        let Err(Fault::Upstream(refused)) = watch() else { panic!("a refusal") };
        assert_eq!((refused.status, refused.body.as_deref()), (403, Some(address.as_str())));
        assert!(refused.detail.contains("push.webhookUrlUnauthorized"), "{}", refused.detail);
        assert_eq!(status(watch()), 401);
    }

    #[test]
    fn a_refusal_to_open_a_channel_is_passed_on() {
        let refusal = Answer::json(403, r#"{"error":{"code":403}}"#);
        let _gateway = Gateway::new().answer(refusal).answer(Answer::json(200, "{}"));
        assert_eq!(status(watch()), 403);
        assert!(matches!(watch(), Err(Fault::Http(_))), "a channel without a resource");
    }
}
