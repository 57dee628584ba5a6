//! Slack's error codes, each as the HTTP status with the same meaning.

use connector_sdk::{Document, Fault, UpstreamFault};

/// The fault for a response with `ok: false`. The fault contains the response.
pub(crate) fn of(answer: &Document, retry_after_seconds: Option<u32>) -> Fault {
    let code = answer.string("/error").unwrap_or_else(|| "unknown_error".to_owned());
    let (status, detail) = kind(&code).explain(&code, answer.string("/needed"));
    Fault::Upstream(UpstreamFault {
        status,
        detail,
        body: Some(answer.text()),
        retry_after_seconds: retry_after_seconds.filter(|_| status == 429),
    })
}

enum Kind {
    /// The token is no longer valid.
    Token,
    /// The grant does not have the scope that the method needs.
    Scope,
    /// The user does not have the permission, or a rule of the workspace forbids the call.
    Permission,
    NotFound,
    RateLimit,
    /// Slack itself failed.
    Failure,
    /// The call is wrong, or the state of the channel or message does not allow it.
    Request,
}

fn kind(code: &str) -> Kind {
    match code {
        "not_authed"
        | "invalid_auth"
        | "token_expired"
        | "token_revoked"
        | "account_inactive"
        | "user_removed_from_team" => Kind::Token,
        "missing_scope" => Kind::Scope,
        "not_in_channel"
        | "no_permission"
        | "not_authorized"
        | "permission_denied"
        | "access_denied"
        // The network of the gateway is not on a list of the workspace.
        | "accesslimited"
        | "ekm_access_denied"
        | "two_factor_setup_required"
        | "team_access_not_granted"
        | "not_allowed_token_type"
        | "user_is_restricted"
        | "user_is_ultra_restricted"
        | "enterprise_is_restricted" => Kind::Permission,
        "ratelimited" | "rate_limited" => Kind::RateLimit,
        "internal_error"
        | "fatal_error"
        | "request_timeout"
        | "service_unavailable"
        // The workspace moves to an Enterprise organization. The tokens work again when that is done.
        | "org_login_required"
        | "team_added_to_org" => Kind::Failure,
        _ if code.starts_with("restricted_action") || code.starts_with("cant_") => Kind::Permission,
        _ if code.ends_with("_not_found") => Kind::NotFound,
        _ => Kind::Request,
    }
}

impl Kind {
    /// The HTTP status, and a sentence that says what happened and what to do.
    fn explain(&self, code: &str, needed: Option<String>) -> (u16, String) {
        match self {
            Self::Token => (
                401,
                format!("Slack no longer accepts the user's token ({code}); the user must connect the account again."),
            ),
            Self::Scope => {
                let scope = needed.map(|scope| format!(" `{scope}`")).unwrap_or_default();
                (
                    403,
                    format!(
                        "The user did not grant the scope{scope} (missing_scope); the user must connect the account again to grant it."
                    ),
                )
            }
            Self::Permission => (
                403,
                format!("Slack does not allow the user to do this ({code}); ask an administrator of the workspace."),
            ),
            Self::NotFound => (404, format!("Slack did not find what the call names ({code}); check the ids.")),
            Self::RateLimit => (429, format!("Slack limits the rate of calls ({code}); try again later.")),
            Self::Failure => (502, format!("Slack failed ({code}); try again later.")),
            Self::Request => (400, format!("Slack refused the call ({code}); change the call as the code says.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use connector_sdk::{Document, Fault, UpstreamFault};

    use super::of;

    fn fault(body: &str, retry_after: Option<u32>) -> UpstreamFault {
        match of(&Document::parse(body).expect("JSON"), retry_after) {
            Fault::Upstream(fault) => fault,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn codes_have_the_http_status_with_the_same_meaning() {
        for (status, codes) in [
            (401, "not_authed invalid_auth token_expired token_revoked account_inactive"),
            (
                403,
                "missing_scope not_in_channel restricted_action restricted_action_read_only_channel cant_invite_self no_permission accesslimited two_factor_setup_required",
            ),
            (404, "channel_not_found thread_not_found user_not_found users_not_found message_not_found"),
            (429, "ratelimited rate_limited"),
            (502, "internal_error fatal_error request_timeout org_login_required team_added_to_org"),
            (
                400,
                "user_disabled name_taken is_archived invalid_cursor no_text too_long user_not_visible limit_required",
            ),
        ] {
            for code in codes.split(' ') {
                let body = format!(r#"{{"ok":false,"error":"{code}"}}"#);
                let fault = fault(&body, None);
                assert_eq!(fault.status, status, "{code}");
                assert!(fault.detail.contains(code), "{}", fault.detail);
                assert_eq!(fault.body.as_deref(), Some(body.as_str()));
            }
        }
    }

    #[test]
    fn a_rate_limit_says_how_long_to_wait_if_slack_says_it() {
        let body = r#"{"ok":false,"error":"ratelimited"}"#;
        assert_eq!(fault(body, Some(7)).retry_after_seconds, Some(7));
        assert_eq!(fault(body, None).retry_after_seconds, None);
        assert_eq!(fault(r#"{"ok":false,"error":"name_taken"}"#, Some(7)).retry_after_seconds, None);
    }

    #[test]
    fn a_missing_scope_is_named() {
        let fault =
            fault(r#"{"ok":false,"error":"missing_scope","needed":"channels:read","provided":"chat:write"}"#, None);
        assert!(fault.detail.contains("`channels:read`"), "{}", fault.detail);
    }

    #[test]
    fn an_error_without_a_code_is_an_unknown_error() {
        let fault = fault(r#"{"ok":false}"#, None);
        assert_eq!((fault.status, fault.detail.contains("unknown_error")), (400, true));
    }
}
