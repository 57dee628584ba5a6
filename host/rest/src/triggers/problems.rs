//! Why a trigger cannot be made, changed or read.

use egress::whole_seconds;
use problem::{
    EVENT_NOT_KEPT, INBOX_EXISTS, INTERNAL, NOTHING_TO_READ, Problem, RATE_LIMITED, SCOPES_MISSING, TOO_MANY_SECRETS,
    TOO_MANY_TRIGGERS, UNKNOWN_TRIGGER, callback_problem, connect_again_problem, invalid, pipeline_problem,
    store_problem, violations_problem, webhook_problem,
};
use schema::Violation;
use store::StoreError;
use store::vault::VaultError;
use triggers::TriggerError;

/// The problem of an error of triggers.
pub fn trigger_problem(error: TriggerError) -> Problem {
    trigger_problem_of(error, "")
}

/// The problem of an error of the triggers of a connector.
pub fn trigger_problem_of(error: TriggerError, connector: &str) -> Problem {
    match error {
        TriggerError::AfterChange(error) => trigger_problem_of(*error, connector).of_unknown_outcome(),
        TriggerError::UnknownType(sentence) => invalid("/type", sentence),
        TriggerError::Invalid(wrong) => violations_problem(
            wrong.into_iter().map(|(pointer, detail)| Violation { pointer, detail }).collect(),
        ),
        TriggerError::Urls(error) => callback_problem(error, "urls"),
        TriggerError::Call(error) => pipeline_problem(error, connector),
        TriggerError::ScopesMissing { connector, again, scopes } => {
            let detail = format!(
                "The user of `{}` has not permitted {}, which these events need.",
                again.user_identifier,
                scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(", ")
            );
            connect_again_problem(&SCOPES_MISSING, again, &connector, &detail).with("missing", scopes)
        }
        TriggerError::TooSoon(again_in) => RATE_LIMITED
            .with_detail(format!(
                "The last read was a moment ago, or the service wants no request yet; try again in {} s. The gateway also reads \
                 at the interval of the trigger.",
                whole_seconds(again_in)
            ))
            .retry_after(whole_seconds(again_in)),
        TriggerError::NothingToRead => NOTHING_TO_READ.with_detail(
            "The service sends these events to the gateway, and keeps none that the gateway could read. Make a test event with \
             POST /triggers/{trigger_id}/test.",
        ),
        TriggerError::Starting(connector) => {
            problem::STARTING.with_detail(format!("`{connector}` is not loaded yet; try again.")).retry_after(1)
        }
        TriggerError::NotKept => EVENT_NOT_KEPT.with_detail(
            "Events are kept for `triggers.keep_h` hours, and at least one of these is not kept. \
             GET /triggers/{trigger_id}/events lists those that are.",
        ),
        TriggerError::TooManySecrets => TOO_MANY_SECRETS.with_detail(
            "At most two secrets of an inbox are valid. Delete the one that the service no longer uses, with DELETE \
             /admin/inboxes/{inbox_id}/secrets/{inbox_secret_id}.",
        ),
        TriggerError::Store(StoreError::TooManyTriggers { limit }) => TOO_MANY_TRIGGERS.with_detail(format!(
            "The tenant has {limit} triggers, which is the limit (`triggers.max_per_tenant`). Delete some with DELETE \
             /triggers/{{trigger_id}}."
        )),
        TriggerError::Store(StoreError::Duplicate) => INBOX_EXISTS.with_detail(
            "This inbox was made before; GET /admin/inboxes lists it with its address.",
        ),
        TriggerError::Store(error) | TriggerError::Vault(VaultError::Store(error)) => {
            store_problem(&error, "The triggers cannot be read or written now; try again.")
        }
        TriggerError::Webhook(error) => webhook_problem(&error),
        error @ (TriggerError::Vault(_) | TriggerError::Damaged(_)) => {
            tracing::error!(%error, "a trigger cannot be used");
            INTERNAL.with_detail(
                "What is stored of the trigger cannot be read. The operator finds the cause in the gateway's log.",
            )
        }
    }
}

/// The problem of an id that no trigger of the caller has.
pub fn unknown_trigger(id: &str) -> Problem {
    UNKNOWN_TRIGGER.with_detail(format!("There is no trigger `{id}`; GET /triggers lists yours."))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use integrations::ConnectAgain;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_user_who_must_permit_more_is_named_with_the_call_that_helps() {
        let error = TriggerError::ScopesMissing {
            connector: "mail".to_owned(),
            again: ConnectAgain {
                user_identifier: "ann".to_owned(),
                auth_type: "oauth2_device_code",
                address: [("site".to_owned(), "acme".to_owned())].into(),
            },
            scopes: vec!["mail.read".to_owned()],
        };
        let document = trigger_problem(error).document("");
        assert_eq!((&document["status"], &document["owner"]), (&json!(409), &json!("user")));
        assert_eq!(document["missing"], json!(["mail.read"]));
        assert_eq!(document["action"]["path"], "/connectors/mail/integrations");
        let body = json!({"auth_type": "oauth2_device_code", "user_identifier": "ann", "address": {"site": "acme"}});
        assert_eq!((&document["action"]["body"], &document["user_identifier"]), (&body, &json!("ann")));
        assert_eq!(
            document["detail"],
            "The user of `ann` has not permitted `mail.read`, which these events need. Connect `ann` again, with POST \
             /connectors/mail/integrations. Send `action.body`."
        );
    }

    #[test]
    fn a_url_that_is_not_allowed_is_named_in_its_own_member() {
        let error = webhooks::CallbackError::Invalid(vec![(1, "Must be an https URL.".to_owned())]);
        assert_eq!(trigger_problem(error.into()).pointers(), ["/urls/1"]);
    }

    #[test]
    fn a_trigger_that_was_made_and_cannot_be_read_is_not_told_as_if_nothing_was_done() {
        let failed = TriggerError::Store(StoreError::Closed);
        assert!(trigger_problem(TriggerError::Store(StoreError::Closed)).did_nothing());
        let problem = trigger_problem(TriggerError::AfterChange(Box::new(failed)));
        assert!(!problem.did_nothing());
        assert_eq!(problem.document("")["outcome"], "unknown");
    }

    #[test]
    fn a_second_read_says_when_there_may_be_one() {
        let problem = trigger_problem(TriggerError::TooSoon(Duration::from_millis(8200)));
        assert_eq!((problem.code(), problem.retry_after_s()), (429, Some(9)));
    }
}
