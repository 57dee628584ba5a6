//! The schemas of records, made from the types that the handlers read and write.

use schemars::generate::Contract;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use endpoint::record_schema::schema_generator;
use endpoint::records::*;
use integrations::AuthSchemaRecord;
use triggers::{EventMessage, EventRecord as TriggerEventRecord, EventsRecord};
use webhooks::EventRecord;

/// Adds the schema of each of these types to a generator.
macro_rules! add_each {
    ($generator:ident: $($record:ty),* $(,)?) => {
        $(add::<$record>(&mut $generator);)*
    };
}

/// The schemas of all answers and bodies of the gateway's own routes, and of all types in them, by
/// name.
pub(super) fn schemas() -> Map<String, Value> {
    let mut answers = schema_generator(Contract::Serialize);
    add_each!(answers:
        ConnectorsRecord, InstalledRecord, RemovedRecord<'_>, GatewaysRecord, ServiceConnectorsRecord, VersionsRecord,
        GrantsRecord, HistoryRecord, HealthRecord, ReadinessRecord, AuthSchemaRecord<'_>,
        AuthorizationBegunRecord<'_>, DeviceAuthorizationRecord<'_>, AuthorizationProgressRecord<'_>,
        IntegrationPageRecord<'_>, IntegrationExistsRecord, IntegrationDeletedRecord, JobAcceptedRecord,
        JobPageRecord, JobCancelledRecord, NewSecretRecord<'_>, SecretsRecord<'_>, SecretDeletedRecord,
        EventRecord<'_>, KeyRecord, CreatedKeyRecord<'_>, KeyPageRecord, KeyRevokedRecord,
        AnyIntegrationPageRecord<'_>, AnyJobPageRecord, AnyWebhookPageRecord, CallPageRecord, UsagePageRecord,
        ConnectLinkCreatedRecord, ConnectLinkRecord, AnyConnectLinkPageRecord, LinkDeletedRecord, ImportLineRecord,
        TenantPageRecord, OauthClientsRecord, OauthClientDeletedRecord, AuditPageRecord, ToolSetPageRecord,
        ToolSetDeletedRecord, AgentSessionCreatedRecord<'_>, AgentSessionDeletedRecord, TypePageRecord,
        TriggerPageRecord, TriggerDeletedRecord, TriggerTestedRecord, TriggerReplayedRecord, EventsRecord,
        TriggerEventRecord, EventMessage, InboxPageRecord, InboxDeletedRecord, InboxSecretDeletedRecord,
        HookRequestPageRecord, ConsoleSessionRecord, SignedOutRecord, SignInRecord, SettingsRecord, FindingsRecord,
        SamplesRecord,
    );
    let mut bodies = schema_generator(Contract::Deserialize);
    add_each!(bodies:
        AuthorizationInit<'_>, Confirmation, ConnectLinkInit, IntegrationChange, NewKey, NewOauthClientBody,
        NewToolSetBody, NewAgentSessionBody, NewTriggerBody, TriggerChangeBody, ReplayBody, NewInboxBody,
        NewInboxSecretBody, ImportLine,
    );
    let mut schemas = bodies.take_definitions(true);
    schemas.extend(answers.take_definitions(true));
    schemas
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}
