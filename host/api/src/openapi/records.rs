//! The schemas of records, made from the types that the handlers read and write.

use schemars::generate::Contract;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use endpoint::record_schema::schema_generator;
use endpoint::records::*;
use integrations::AuthSchemaRecord;
use triggers::{EventMessage, EventRecord as TriggerEventRecord, EventsRecord};
use webhooks::EventRecord;

/// The schemas of all answers and bodies of the gateway's own routes, and of all types in them, by
/// name.
pub(super) fn schemas() -> Map<String, Value> {
    let mut answers = schema_generator(Contract::Serialize);
    add::<ConnectorsRecord>(&mut answers);
    add::<InstalledRecord>(&mut answers);
    add::<RemovedRecord<'_>>(&mut answers);
    add::<GatewaysRecord>(&mut answers);
    add::<ServiceConnectorsRecord>(&mut answers);
    add::<VersionsRecord>(&mut answers);
    add::<GrantsRecord>(&mut answers);
    add::<HistoryRecord>(&mut answers);
    add::<HealthRecord>(&mut answers);
    add::<ReadinessRecord>(&mut answers);
    add::<AuthSchemaRecord<'_>>(&mut answers);
    add::<AuthorizationBegunRecord<'_>>(&mut answers);
    add::<DeviceAuthorizationRecord<'_>>(&mut answers);
    add::<AuthorizationProgressRecord<'_>>(&mut answers);
    add::<IntegrationPageRecord<'_>>(&mut answers);
    add::<IntegrationExistsRecord>(&mut answers);
    add::<IntegrationDeletedRecord>(&mut answers);
    add::<JobAcceptedRecord>(&mut answers);
    add::<JobPageRecord>(&mut answers);
    add::<JobCancelledRecord>(&mut answers);
    add::<NewSecretRecord<'_>>(&mut answers);
    add::<SecretsRecord<'_>>(&mut answers);
    add::<SecretDeletedRecord>(&mut answers);
    add::<EventRecord<'_>>(&mut answers);
    add::<KeyRecord>(&mut answers);
    add::<CreatedKeyRecord<'_>>(&mut answers);
    add::<KeyPageRecord>(&mut answers);
    add::<KeyRevokedRecord>(&mut answers);
    add::<AnyIntegrationPageRecord<'_>>(&mut answers);
    add::<AnyJobPageRecord>(&mut answers);
    add::<AnyWebhookPageRecord>(&mut answers);
    add::<CallPageRecord>(&mut answers);
    add::<UsagePageRecord>(&mut answers);
    add::<ConnectLinkCreatedRecord>(&mut answers);
    add::<ConnectLinkRecord>(&mut answers);
    add::<AnyConnectLinkPageRecord>(&mut answers);
    add::<LinkDeletedRecord>(&mut answers);
    add::<ImportLineRecord>(&mut answers);
    add::<TenantPageRecord>(&mut answers);
    add::<OauthClientsRecord>(&mut answers);
    add::<OauthClientDeletedRecord>(&mut answers);
    add::<AuditPageRecord>(&mut answers);
    add::<ToolSetPageRecord>(&mut answers);
    add::<ToolSetDeletedRecord>(&mut answers);
    add::<AgentSessionCreatedRecord<'_>>(&mut answers);
    add::<AgentSessionDeletedRecord>(&mut answers);
    add::<TypePageRecord>(&mut answers);
    add::<TriggerPageRecord>(&mut answers);
    add::<TriggerDeletedRecord>(&mut answers);
    add::<TriggerTestedRecord>(&mut answers);
    add::<TriggerReplayedRecord>(&mut answers);
    add::<EventsRecord>(&mut answers);
    add::<TriggerEventRecord>(&mut answers);
    add::<EventMessage>(&mut answers);
    add::<InboxPageRecord>(&mut answers);
    add::<InboxDeletedRecord>(&mut answers);
    add::<InboxSecretDeletedRecord>(&mut answers);
    add::<HookRequestPageRecord>(&mut answers);
    add::<ConsoleSessionRecord>(&mut answers);
    add::<SignedOutRecord>(&mut answers);
    add::<SignInRecord>(&mut answers);
    add::<SettingsRecord>(&mut answers);
    add::<FindingsRecord>(&mut answers);
    add::<SamplesRecord>(&mut answers);
    let mut bodies = schema_generator(Contract::Deserialize);
    add::<AuthorizationInit<'_>>(&mut bodies);
    add::<Confirmation>(&mut bodies);
    add::<ConnectLinkInit>(&mut bodies);
    add::<IntegrationChange>(&mut bodies);
    add::<NewKey>(&mut bodies);
    add::<NewOauthClientBody>(&mut bodies);
    add::<NewToolSetBody>(&mut bodies);
    add::<NewAgentSessionBody>(&mut bodies);
    add::<NewTriggerBody>(&mut bodies);
    add::<TriggerChangeBody>(&mut bodies);
    add::<ReplayBody>(&mut bodies);
    add::<NewInboxBody>(&mut bodies);
    add::<NewInboxSecretBody>(&mut bodies);
    add::<ImportLine>(&mut bodies);
    let mut schemas = bodies.take_definitions(true);
    schemas.extend(answers.take_definitions(true));
    schemas
}

fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}
