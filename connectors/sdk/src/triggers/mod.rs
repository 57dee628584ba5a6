//! Events of the service: constant data for the table's statements `inboxes` and `triggers`,
//! and the values of the functions that they name. Since contract 1.2.
//!
//! A *trigger* is a type of events that callers subscribe to. An *inbox* says how the service
//! notifies the gateway of them. The gateway receives notifications, verifies them and stores the
//! events. A connector has code only for requests to the service.
//!
//! This connector has events whose notifications carry their data. The gateway verifies them with
//! an HMAC. The functions make and delete the webhook at the service.
//!
//! ```
//! mod forge {
//!     use connector_sdk::triggers::{Subscribe, Subscription, Unsubscribe};
//!     use connector_sdk::{Fault, Request, http};
//!
//!     connector_sdk::connector! {
//!         /// Repositories and their issues.
//!         connector forge "Forge";
//!         auth Auth::None;
//!         upstream api "https://api.forge.example";
//!
//!         inboxes &[Inbox {
//!             name: "webhook",
//!             checks: &[Check::Hmac(HmacCheck { signature: Place::Header("X-Signature"), prefix: "sha256=", ..HmacCheck::BODY })],
//!             id: &[Place::BodyHash],
//!             kind: &[Place::Header("X-Event")],
//!             ignored: &["ping"],
//!             ..Inbox::SUBSCRIPTION
//!         }];
//!         triggers &[Trigger {
//!             name: "issue",
//!             title: "Issue opened or changed",
//!             parameters: r#"{"type":"object","properties":{"repo":{"type":"string"}},"required":["repo"],"additionalProperties":false}"#,
//!             payload: r#"{"type":"object","properties":{"title":{"type":"string"}}}"#,
//!             example: r#"{"title":"It does not start"}"#,
//!             kinds: &["issues"],
//!             inboxes: &["webhook"],
//!             key: &["repo"],
//!             subscribe: Some("hook_create"),
//!             unsubscribe: Some("hook_delete"),
//!             ..Trigger::CARRIED
//!         }];
//!         hook_create: internal subscribe fn create;
//!         hook_delete: internal unsubscribe fn delete;
//!
//!         /// A repository.
//!         repo: GET api "/repos/{repo}" example { repo: "a" };
//!     }
//!
//!     fn create(input: Subscribe) -> Result<Subscription, Fault> {
//!         let repo: String = input.parameters.required("repo")?;
//!         // The gateway puts the address and the secret in place of these texts.
//!         let request = Request::post("api", format!("/repos/{repo}/hooks"))
//!             .json(r#"{"url": "{{hook.url}}", "secret": "{{hook.secret}}"}"#);
//!         let id = http::send(request)?.document()?.pointer("/id").map(|id| id.text()).unwrap_or_default();
//!         Ok(Subscription::new(id))
//!     }
//!
//!     fn delete(input: Unsubscribe) -> Result<(), Fault> {
//!         let repo: String = input.parameters.required("repo")?;
//!         http::send(Request::new(http::Method::Delete, "api", format!("/repos/{repo}/hooks/{}", input.upstream_id)))?;
//!         Ok(())
//!     }
//! }
//! # use connector_sdk::testing::{Answer, Gateway, invoke};
//! # let gateway = Gateway::new().answer(Answer::json(201, r#"{"id": 7}"#));
//! # let input = r#"{"parameters": {"repo": "a"}, "kinds": ["issues"]}"#;
//! # let Ok(connector_sdk::Outcome::Reply(answer)) = invoke(&forge::CONNECTOR, "hook_create", input) else { panic!() };
//! # assert_eq!(answer, r#"{"upstream_id":"7"}"#);
//! # assert_eq!(gateway.requests()[0].path, "/repos/a/hooks");
//! # connector_sdk::testing::check(&forge::CONNECTOR);
//! ```
//!
//! A trigger whose source is `read` has a function that reads events after a cursor. Without an
//! inbox the gateway calls it at intervals; see [`Read`]. [`Recent`] is the cursor of a list by time.
//!
//! # Layout
//! - `inbox`: how the service notifies the gateway.
//! - `trigger`: the types of events.
//! - `declaration`: the declarations in the types of the contract.
//! - `internal`: the inputs and results of the functions.
//! - `recent`: the cursor of a list that a service orders by time.
//! - `value`: JSON that functions read and keep.

mod declaration;
mod inbox;
mod internal;
mod recent;
mod trigger;
mod value;

#[doc(hidden)]
pub use declaration::{inbox_of, trigger_of};
pub use inbox::{
    AccountKey, Check, CheckEncoding, CheckHash, CheckPart, CheckSecret, Claim, EchoMember, Handshake, HmacCheck,
    HmacQuery, Inbox, InboxScope, JwtAudience, JwtCheck, Lifecycle, Place, Visibility,
};
pub use internal::{Event, Events, Identify, Read, Recover, Renew, Subscribe, Subscription, Unsubscribe};
pub use recent::Recent;
#[doc(hidden)]
pub use trigger::is_named;
pub use trigger::{Comparison, Condition, ConditionValue, Trigger, TriggerSource};
pub use value::Value;

pub(crate) use internal::Answered;
