//! The operator's routes of keys, integrations and jobs of all tenants, and of the audit.

use serde_json::{Value, json};

use super::gateway::{describe_answer, describe_created, filter, with_problems};
use super::problems::OF_SERVICE;
use super::schemas::reference;

/// Members of GET /admin/settings.
pub(crate) fn describe_settings() -> Value {
    let mut members = describe_answer("The settings.", reference("Settings"));
    members["description"] =
        "The values that hold: those of the file and of the environment, and the defaults of all other keys. \
        Of a secret, the answer says only if it is set. All settings of connectors count as secret."
            .into();
    members
}

/// Members of GET /admin/doctor.
pub(crate) fn describe_findings() -> Value {
    let mut members = describe_answer("The findings.", reference("Findings"));
    members["description"] =
        "Examines the machine, the database, the keys, the other gateways and the connectors. It connects to \
        each host that connectors call, and sends no request, so it may take some seconds."
            .into();
    members
}

/// Members of GET /admin/samples.
pub(crate) fn describe_samples() -> Value {
    let mut members = describe_answer("The samples.", reference("Samples"));
    members["description"] =
        "The gateway takes a sample of its own metrics every 15 seconds, and keeps them in memory for an hour.".into();
    members
}

/// Members of POST /admin/keys.
pub(crate) fn describe_new_key() -> Value {
    let mut members = describe_created("The key.", reference("CreatedKey"));
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewKey"),
        "example": {"name": "reports", "scopes": ["operate"], "effects": ["read"]},
    }}});
    with_problems(members, &["409"])
}

/// Members of POST /admin/integrations/{integration_id}/renew.
pub(crate) fn describe_renewed_integration() -> Value {
    with_problems(
        describe_answer("The account, with new tokens.", reference("AnyIntegration")),
        &["409", "424", OF_SERVICE, "502", "504"],
    )
}

/// Members of POST /admin/integrations/import.
pub(crate) fn describe_import() -> Value {
    let lines = |schema: &str| {
        json!({"application/x-ndjson": {"schema": {
            "type": "string", "contentMediaType": "application/x-ndjson", "contentSchema": reference(schema),
            "description": "Lines, each with a JSON object of this schema.",
        }}})
    };
    let mut members = describe_answer("An answer to each line that is not blank, in their order.", json!({}));
    members["responses"]["200"]["content"] = lines("ImportedLine");
    members["description"] = "Nothing is called at the services. An account that is connected is replaced only with \
        `replace=true`. A line that was imported before is `unchanged`, also if its tokens were refreshed since. A line over \
        64 KiB is refused. Lines are imported in batches while the body arrives. If the gateway has to stop, the answer \
        breaks off before its end."
        .into();
    members["parameters"] = json!([filter(
        "replace",
        json!({"type": "boolean", "default": false}),
        "true: an account that is connected is replaced.",
    )]);
    members["requestBody"] = json!({"required": true, "content": lines("ImportLine")});
    with_problems(members, &["415", "422"])
}

/// Members of POST /admin/webhooks/{webhook_id}/resend.
pub(crate) fn describe_resent_webhook() -> Value {
    let mut members = describe_answer("The webhook is sent now, under the same id.", reference("AnyWebhook"));
    let accepted = members["responses"]["200"].take();
    members["responses"] = json!({"202": accepted});
    members["description"] = "A webhook that had ended is attempted once more. URL and body are kept for \
        `callbacks.keep_h` hours after the last attempt."
        .into();
    with_problems(members, &["410"])
}

/// Members of GET /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub(crate) fn describe_oauth_client() -> Value {
    describe_answer("The OAuth client, without its secret.", reference("OauthClient"))
}

/// Members of PUT /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub(crate) fn describe_set_oauth_client() -> Value {
    let mut members = describe_oauth_client();
    members["description"] = "It takes the place of the configuration's client for accounts that users of the tenant \
        connect from now on. With the same `client_id`, the secret and the other members change. With another one, \
        accounts that are connected keep the previous client."
        .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewOauthClient"),
        "example": {"client_id": "1234.apps.example.com", "client_secret": "a secret of the provider"},
    }}});
    members
}
