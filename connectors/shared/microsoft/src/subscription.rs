//! Subscriptions of Microsoft Graph: how it notifies of changes.

use connector_sdk::http::{self, Error, Method, Request};
use connector_sdk::json::quoted;
use connector_sdk::triggers::{Check, Handshake, Inbox, Lifecycle, Place, Renew, Subscription, Unsubscribe};
use connector_sdk::{Document, Fault, clock};

/// Microsoft tests the address while it makes a subscription. Each notification has the
/// subscription's secret, and only says that something has changed.
pub const INBOXES: &[Inbox] = &[Inbox {
    name: "graph",
    checks: &[Check::Token(Place::Pointer("/clientState"))],
    handshakes: &[Handshake::EchoQuery("validationToken")],
    items: Some("/value"),
    id: &[Place::Pointer("/subscriptionId"), Place::BodyHash],
    kind: &[Place::Pointer("/lifecycleEvent"), Place::Pointer("/changeType")],
    lifecycle: &[
        ("reauthorizationRequired", Lifecycle::Reauthorize),
        ("subscriptionRemoved", Lifecycle::Recreate),
        ("missed", Lifecycle::Read),
    ],
    ..Inbox::SUBSCRIPTION
}];

/// Minutes of the shortest subscription that the connectors ask for.
const SHORTEST: u32 = 60;

/// Subscribes to changes of a resource for at most this number of minutes. `changes` are kinds of
/// changes, such as `created,updated`.
///
/// # Errors
/// Microsoft's own refusal, or [`Error::BadAnswer`] if the response has no id.
pub fn subscribe(resource: &str, changes: &str, minutes: u32) -> Result<Subscription, Fault> {
    let body = |expiration: &str| {
        format!(
            r#"{{"changeType":{},"notificationUrl":"{{{{hook.url}}}}","lifecycleNotificationUrl":"{{{{hook.lifecycle-url}}}}","resource":{},"expirationDateTime":{},"clientState":"{{{{hook.secret}}}}"}}"#,
            quoted(changes),
            quoted(resource),
            quoted(expiration)
        )
    };
    let made = for_longest(minutes, |expiration| Ok(Request::post("graph", "/subscriptions").json(body(expiration))))?;
    let Some(id) = made.string("/id") else {
        return Err(Error::BadAnswer("Microsoft's subscription has no `id`".to_owned()).into());
    };
    Ok(Subscription { expires_at: made.string("/expirationDateTime"), ..Subscription::new(id) })
}

/// Makes a subscription live for at most this number of minutes from now. It also takes the new
/// access token of the account.
///
/// # Errors
/// Microsoft's own refusal, which has the status 404 if the subscription has ended.
pub fn renew(subscription: &Renew, minutes: u32) -> Result<Subscription, Fault> {
    let id = &subscription.upstream_id;
    let renewed = for_longest(minutes, |expiration| {
        let request = Request::new(Method::Patch, "graph", "/subscriptions").segment("upstream_id", id)?;
        Ok(request.json(format!(r#"{{"expirationDateTime":{}}}"#, quoted(expiration))))
    })?;
    Ok(Subscription { expires_at: renewed.string("/expirationDateTime"), ..Subscription::new(id) })
}

/// Ends a subscription. One that has ended is no error.
///
/// # Errors
/// Microsoft's own refusal.
pub fn unsubscribe(subscription: &Unsubscribe) -> Result<(), Fault> {
    let request = Request::new(Method::Delete, "graph", "/subscriptions");
    let response = http::send(request.segment("upstream_id", &subscription.upstream_id)?)?;
    if response.status() != 404 {
        response.successful()?;
    }
    Ok(())
}

/// Sends a request that asks for a time of expiration. The longest life that Microsoft grants
/// differs from the documented one, so the request is repeated with half of it after a refusal.
fn for_longest(minutes: u32, request: impl Fn(&str) -> Result<Request, Fault>) -> Result<Document, Fault> {
    let mut minutes = minutes;
    loop {
        let expiration = clock::rfc3339(clock::now().saturating_add(u64::from(minutes) * 60_000));
        let refusal = match http::send(request(&expiration)?)?.successful() {
            Ok(response) => return Ok(response.document()?),
            Err(refusal) => refusal,
        };
        if minutes <= SHORTEST || !may_be_too_long(&refusal) {
            return Err(refusal);
        }
        minutes = (minutes / 2).max(SHORTEST);
    }
}

/// Returns `true` for a refusal of the request's values. Microsoft also refuses a subscription
/// whose address did not answer. To ask again would not help then.
fn may_be_too_long(refusal: &Fault) -> bool {
    let Fault::Upstream(refusal) = refusal else { return false };
    let is_about_address = refusal.body.as_ref().is_some_and(|body| body.contains("alidation request"));
    refusal.status == 400 && !is_about_address
}

#[cfg(test)]
mod tests {
    use connector_sdk::Fault;
    use connector_sdk::http::{Body, Method, Request};
    use connector_sdk::testing::{Answer, Gateway};
    use connector_sdk::triggers::{Renew, Subscription, Unsubscribe, Value};

    use super::{renew, subscribe, unsubscribe};

    const TOO_LONG: &str =
        r#"{"error":{"code":"ErrorInvalidParameter","message":"Subscription expiration is invalid."}}"#;
    const NO_ANSWER: &str = r#"{"error":{"code":"ValidationError","message":"Subscription validation request failed. HTTP status code is 'NotFound'."}}"#;

    fn body(request: &Request) -> &str {
        match &request.body {
            Some(Body::Json(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    fn status(outcome: Result<impl std::fmt::Debug, Fault>) -> u16 {
        match outcome {
            Err(Fault::Upstream(refusal)) => refusal.status,
            other => panic!("{other:?}"),
        }
    }

    fn renewed() -> Result<Subscription, Fault> {
        let parameters = Value("{}".to_owned());
        renew(&Renew { upstream_id: "s/1".to_owned(), state: None, parameters, kinds: Vec::new() }, 4320)
    }

    fn ended() -> Result<(), Fault> {
        let parameters = Value("{}".to_owned());
        unsubscribe(&Unsubscribe { upstream_id: "s/1".to_owned(), state: None, parameters })
    }

    #[test]
    fn half_the_life_is_asked_for_after_a_refusal() {
        let gateway = Gateway::new()
            .now(1_767_323_045_000)
            .answer(Answer::json(400, TOO_LONG))
            .answer(Answer::json(201, r#"{"id":"s-1","expirationDateTime":"2026-01-05T15:04:05Z"}"#));
        let made = subscribe("me/events", "created,updated", 10_080).expect("a subscription");
        assert_eq!((made.upstream_id.as_str(), made.expires_at.as_deref()), ("s-1", Some("2026-01-05T15:04:05Z")));
        let sent = gateway.requests();
        assert_eq!((sent[0].method, sent[0].path.as_str()), (Method::Post, "/subscriptions"));
        assert_eq!(
            body(&sent[0]),
            r#"{"changeType":"created,updated","notificationUrl":"{{hook.url}}","lifecycleNotificationUrl":"{{hook.lifecycle-url}}","resource":"me/events","expirationDateTime":"2026-01-09T03:04:05Z","clientState":"{{hook.secret}}"}"#
        );
        assert!(body(&sent[1]).contains(r#""expirationDateTime":"2026-01-05T15:04:05Z""#), "{}", body(&sent[1]));
    }

    #[test]
    fn an_hour_is_the_shortest_life() {
        let mut gateway = Gateway::new();
        for _ in 0..9 {
            gateway = gateway.answer(Answer::json(400, TOO_LONG));
        }
        assert_eq!(status(subscribe("me/events", "created", 10_080)), 400);
        assert_eq!(gateway.requests().len(), 9);
        assert!(body(&gateway.requests()[8]).contains("1970-01-01T01:00:00Z"));
    }

    #[test]
    fn other_refusals_are_passed_on() {
        let gateway = Gateway::new()
            .answer(Answer::json(400, NO_ANSWER))
            .answer(Answer::json(403, r#"{"error":{"code":"ErrorAccessDenied"}}"#))
            .answer(Answer::json(404, r#"{"error":{"code":"ResourceNotFound"}}"#));
        assert_eq!(status(subscribe("me/events", "created", 10_080)), 400);
        assert_eq!(status(subscribe("me/events", "created", 10_080)), 403);
        assert_eq!(status(renewed()), 404);
        assert_eq!(gateway.requests().len(), 3);
    }

    #[test]
    fn a_subscription_is_renewed_and_ended_by_its_id() {
        let gateway = Gateway::new()
            .answer(Answer::json(200, r#"{"id":"s/1","expirationDateTime":"2026-01-04T00:00:00Z"}"#))
            .answer(Answer::new(204, ""))
            .answer(Answer::json(404, r#"{"error":{"code":"ResourceNotFound"}}"#));
        let renewed = renewed().expect("a subscription");
        assert_eq!(
            (renewed.upstream_id.as_str(), renewed.expires_at.as_deref()),
            ("s/1", Some("2026-01-04T00:00:00Z"))
        );
        assert!(ended().is_ok() && ended().is_ok());
        let sent: Vec<_> = gateway.requests().iter().map(|request| (request.method, request.path.clone())).collect();
        let path = || "/subscriptions/s%2F1".to_owned();
        assert_eq!(sent, [(Method::Patch, path()), (Method::Delete, path()), (Method::Delete, path())]);
        assert_eq!(body(&gateway.requests()[0]), r#"{"expirationDateTime":"1970-01-04T00:00:00Z"}"#);
    }
}
