//! The contract's rules for the manifest of a connector.

use contract_rules::manifest as rules;

use crate::auth::{AppInstallation, AuthAddition, DeviceCode, ServiceAccount};
use crate::bindings::gateway::connector::manifest as wit;
use crate::bindings::gateway::connector::trigger_types;
use crate::table::{Connector, NextPage, Operation};
use crate::triggers::{inbox_of, trigger_of};
use crate::{additions, run};

/// Checks a connector's manifest by all rules of the contract that do not need the gateway.
/// `connector!` makes a test of it for every connector.
///
/// # Panics
/// With every rule that the manifest breaks.
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn check(connector: &Connector) {
    let manifest = run::manifest(connector);
    let view = rules::Manifest { upstream_additions: additions::view(connector), ..view(&manifest) };
    let of_auth = rules::check_auth_additions(&view, &auth_additions(connector.auth_additions));
    let of_pages = rules::check_page_additions(&view, &last_items(connector));
    let of_triggers = triggers(&view, connector);
    let violations = rules::check(&view).into_iter().chain(rules::check_schemas(&view)).chain(of_auth).chain(of_pages);
    let violations = violations.chain(of_triggers);
    let violations: Vec<String> = violations.map(|violation| violation.to_string()).collect();
    if !violations.is_empty() {
        panic!("the manifest of {} breaks rules of the contract:\n{}", connector.identifier, violations.join("\n"));
    }
}

fn last_items(connector: &Connector) -> Vec<rules::LastItem<'_>> {
    let last_item = |operation: &'static Operation| match operation.about.pages?.next {
        NextPage::LastItem { more, .. } => Some(rules::LastItem { operation: operation.path, more }),
        _ => None,
    };
    connector.operations.iter().filter_map(last_item).collect()
}

fn triggers(manifest: &rules::Manifest<'_>, connector: &Connector) -> Vec<rules::Violation> {
    let rows = connector.operations.iter().filter(|operation| operation.row.is_some());
    let rows: Vec<&str> = rows.map(|operation| operation.path).collect();
    let inboxes: Vec<_> = connector.inboxes.iter().map(|declared| inbox(&inbox_of(declared))).collect();
    let triggers: Vec<_> = connector.triggers.iter().map(|declared| trigger(&trigger_of(declared))).collect();
    rules::check_trigger_additions(&rules::About::of(manifest, &rows), &inboxes, &triggers)
}

fn auth_additions(declared: &'static [AuthAddition]) -> rules::AuthAdditions<'static> {
    let mut additions = rules::AuthAdditions::default();
    for addition in declared {
        match *addition {
            AuthAddition::ClientCredentials => additions.client_credentials = true,
            AuthAddition::ServiceAccount(ServiceAccount { audience, subject: _ }) => {
                additions.service_account = Some(rules::ServiceAccount { audience });
            }
            AuthAddition::AppInstallation(AppInstallation { upstream, path }) => {
                additions.app_installation = Some(rules::AppInstallation { upstream, path });
            }
            AuthAddition::DeviceCode(DeviceCode { device_authorization_url }) => {
                additions.device_code = Some(rules::DeviceCode { device_authorization_url });
            }
            AuthAddition::AwsSignature(declared) => additions.aws_signature = Some(declared),
            AuthAddition::HmacSignature(ref declared) => additions.hmac_signature = Some(declared.borrowed()),
            AuthAddition::EndedCodes(codes) => additions.ended_codes = codes.to_vec(),
        }
    }
    additions
}

contract_rules::manifest_view!(wit);
contract_rules::trigger_view!(trigger_types);
