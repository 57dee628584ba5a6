//! The limits of the contract. Sizes are in bytes.

/// Names of connectors, upstreams, rate limits, settings, operations and fields.
pub const NAME_BYTES: usize = 64;
/// Version of a connector.
pub const VERSION_BYTES: usize = 64;
/// A title, summary, description or documentation.
pub const TEXT_BYTES: usize = 64 << 10;
/// Licence and author in the imprint.
pub const IMPRINT_BYTES: usize = 256;
/// The icon in the imprint.
pub const ICON_BYTES: usize = 16 << 10;
/// Upstreams of a connector.
pub const UPSTREAMS: usize = 16;
/// Parts of an account's address.
pub const ADDRESS_PARTS: usize = 8;
/// The value of a part of an account's address: the longest host name.
pub const ADDRESS_PART_BYTES: u32 = 253;
/// The value of a part that is a label of a host name.
pub const LABEL_BYTES: u32 = 63;
/// The title of a part of an account's address.
pub const TITLE_BYTES: usize = 256;
/// Codes of a provider for ended grants.
pub const ENDED_CODES: usize = 32;
/// A code of a provider; it has at least one character.
pub const ENDED_CODE_BYTES: usize = 64;
/// Rate limits of a connector.
pub const RATE_LIMITS: usize = 64;
/// Settings of a connector.
pub const SETTINGS: usize = 64;
/// Inboxes of a connector.
pub const INBOXES: usize = 4;
/// Types of events of a connector.
pub const TRIGGERS: usize = 64;
/// Checks of an inbox; it has at least one.
pub const CHECKS: usize = 4;
/// Handshakes of an inbox.
pub const HANDSHAKES: usize = 4;
/// Parts of the id of a notification; it has at least one.
pub const ID_PARTS: usize = 8;
/// Parts of the kind of a notification; it has at least one.
pub const KIND_PARTS: usize = 4;
/// Values by which a notification names an account.
pub const ACCOUNT_KEYS: usize = 4;
/// Parts of the text of an HMAC; it has at least one.
pub const CHECK_PARTS: usize = 16;
/// Issuers of a JSON Web Token; it has at least one.
pub const ISSUERS: usize = 4;
/// Seconds between the time of a notification and now; at least one.
pub const TOLERANCE_SECONDS: u32 = 3600;
/// The smallest limit for the body of a notification.
pub const LEAST_MAX_BODY: u32 = 1 << 10;
/// The largest limit for the body of a notification.
pub const MAX_BODY: u32 = 25 << 20;
/// Conditions of a type of events.
pub const CONDITIONS: usize = 16;
/// The example of an event.
pub const EVENT_EXAMPLE_BYTES: usize = 16 << 10;
/// Seconds between two reads without notifications; at least 60.
pub const POLL_SECONDS: u32 = 24 * 60 * 60;
/// A text of an inbox or of a type of events that has no other limit.
pub const TRIGGER_TEXT_BYTES: usize = 256;
/// Items of a list of an inbox or of a type of events that has no other limit.
pub const TRIGGER_ITEMS: usize = 64;
/// Operations of a connector; it has at least one.
pub const OPERATIONS: usize = 512;
/// The schema of an operation's input or answer.
pub const SCHEMA_BYTES: usize = 256 << 10;
/// The example of an answer.
pub const ANSWER_EXAMPLE_BYTES: usize = 16 << 10;
/// The schema of a setting.
pub const SETTING_SCHEMA_BYTES: usize = 16 << 10;
/// The path of a request with its query.
pub const PATH_BYTES: usize = 16 << 10;
/// Headers of a request.
pub const HEADERS: usize = 64;
/// Requests of one `send-all`.
pub const PARALLEL_REQUESTS: usize = OPEN_RESPONSES;
/// Responses of an invocation whose bodies it has neither read nor dropped.
pub const OPEN_RESPONSES: usize = 32;
/// Bytes of one `peek`.
pub const PEEK_BYTES: usize = 4096;
/// Random bytes of one call.
pub const RANDOM_BYTES: usize = 64 << 10;
/// Parts of one `multipart/form-data` body.
pub const PARTS: usize = 1024;
/// The name of a file, and its media type.
pub const FILE_NAME_BYTES: usize = 255;
/// A key in the storage; it has at least one byte.
pub const STORAGE_KEY_BYTES: usize = 256;
/// A value in the storage.
pub const STORAGE_VALUE_BYTES: usize = 64 << 10;
/// Keys in a storage.
pub const STORAGE_KEYS: usize = 1024;
/// A line of the log.
pub const LOG_LINE_BYTES: usize = 4 << 10;
/// Lines of the log in an invocation.
pub const LOG_LINES: usize = 256;
/// The message of a progress report.
pub const PROGRESS_MESSAGE_BYTES: usize = 256;
/// The further members of a fault.
pub const FAULT_MEMBERS_BYTES: usize = 64 << 10;
