//! All rules of a manifest.

use std::collections::BTreeSet;

use contract_rules::Broken;
use contract_rules::manifest as rules;
use contract_rules::manifest::Violation;
use rows::{Connector, Mistake, Row, check_triggers};
use serde_json::Value;

use crate as wit;
use crate::{Additions, DeclaredRow, Effect, Manifest, site, trigger_additions};

/// Checks a manifest against the rules that `wit/connector.wit` states. Returns every rule that it
/// breaks. Does not compile schemas.
pub fn check(manifest: &Manifest, additions: &Additions) -> Vec<Violation> {
    let view = rules::Manifest { upstream_additions: additions.upstreams.view(), ..view(manifest) };
    let mut violations = rules::check(&view);
    violations.extend(rules::check_schemas(&view));
    violations.extend(rules::check_auth_additions(&view, &additions.auth.view()));
    violations.extend(rules::check_page_additions(&view, &additions.last_items()));
    violations.extend(trigger_additions::check(&view, additions));
    for upstream in &manifest.upstreams {
        for host in upstream.link_hosts.iter().filter(|host| contract_rules::address::link_host(host).is_ok()) {
            if let Err(broken) = site::link_host(host) {
                let part = format!("upstream `{}`, link host `{host}`", upstream.name);
                violations.push(Violation { part, broken });
            }
        }
    }
    for (upstream, domain) in &additions.upstreams.sites {
        if contract_rules::account_address::site(domain).is_ok()
            && let Err(broken) = site::account_site(domain)
        {
            violations.push(Violation { part: format!("site `{domain}` of upstream `{upstream}`"), broken });
        }
    }
    violations.extend(check_rows(manifest, additions));
    violations
}

/// The rules of declared rows.
fn check_rows(manifest: &Manifest, additions: &Additions) -> Vec<Violation> {
    let upstreams: Vec<&str> = manifest.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    // A schema that is not JSON breaks another rule.
    let parsed = |schema: &str| serde_json::from_str::<Value>(schema).unwrap_or_default();
    let settings: Vec<(&str, Value)> =
        manifest.settings.iter().map(|setting| (setting.name.as_str(), parsed(&setting.schema))).collect();
    let mut declared = BTreeSet::new();
    let mut violations = Vec::new();
    let mut rows = Vec::new();
    for DeclaredRow { operation, row, .. } in &additions.rows {
        let mut note = |part: String, broken: Broken| violations.push(Violation { part, broken });
        let of = format!("row of `{}`", operation.escape_debug());
        if !declared.insert(operation) {
            note(of, "it is declared twice".into());
            continue;
        }
        let Some(described) = manifest.operations.iter().find(|described| described.path == *operation) else {
            note(of, "the manifest has no operation of this name".into());
            continue;
        };
        if described.effect == Effect::Read
            && let Err(Mistake { broken, .. }) = row.check_read()
        {
            note(of.clone(), broken);
        }
        let input = parsed(&described.input_schema);
        let connector = Connector { upstreams: &upstreams, settings: &settings, input: &input };
        if let Err(mistakes) = Row::declared(row, &connector) {
            mistakes.into_iter().for_each(|Mistake { place, broken }| note(format!("{of}, {place}"), broken));
        }
        rows.push((row, input));
    }
    // A row with a mistake may lack the parameter of a header because of it.
    if violations.is_empty() {
        let mistakes = check_triggers(rows.iter().map(|(row, input)| (*row, input)));
        let violation = |Mistake { place, broken }| Violation { part: place.to_string(), broken };
        violations.extend(mistakes.into_iter().map(violation));
    }
    violations
}

contract_rules::manifest_view!(wit);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, manifest};
    use crate::{ApiKey, AuthScheme, KeyHeader, KeyPlacement, LastItem, NextPage, Operation, Setting};

    #[track_caller]
    fn only(change: impl FnOnce(&mut Manifest), words: &str) {
        let mut manifest = manifest();
        change(&mut manifest);
        let found = check(&manifest, &Additions::default());
        let [violation] = found.as_slice() else { panic!("{found:?}") };
        assert!(violation.to_string().contains(words), "{violation}");
    }

    #[test]
    fn a_manifest_that_keeps_the_rules_breaks_none() {
        assert_eq!(check(&manifest(), &Additions::default()), []);
    }

    #[test]
    fn every_part_of_a_manifest_is_checked() {
        only(|manifest| manifest.identifier = "Example".to_owned(), "identifier");
        only(|manifest| manifest.imprint.homepage = Some("http://example.com".to_owned()), "imprint.homepage");
        only(|manifest| manifest.imprint.icon = Some("gif".to_owned()), "imprint.icon");
        only(|manifest| manifest.upstreams[0].link_hosts = vec!["*.".to_owned()], "link host");
        only(|manifest| manifest.operations[0].rate_limit = Some("slow".to_owned()), "no rate limit `slow`");
        only(|manifest| manifest.operations[0].answer_schema = Some("{".to_owned()), "schema of the answer");
        only(|manifest| manifest.operations[0].answer_example = Some("{".to_owned()), "example of the answer");
        let next = NextPage::Cursor("next".to_owned());
        only(|manifest| manifest.operations[0].pagination.as_mut().unwrap().next = next, "pagination `next`");
        let input = "/pages".to_owned();
        only(|manifest| manifest.operations[0].pagination.as_mut().unwrap().input = input, "`/pages`");
        let placement = KeyPlacement::Header(KeyHeader { name: "Host".to_owned(), prefix: String::new() });
        let key = ApiKey { placement, form_field: Some("token".to_owned()), check: None };
        only(|manifest| manifest.auth = AuthScheme::ApiKey(key), "cannot hold a key");
        only(|manifest| manifest.auth = AuthScheme::None, "form-field");
        let setting =
            Setting { name: "Size".to_owned(), schema: "{}".to_owned(), default: None, documentation: String::new() };
        only(|manifest| manifest.settings.push(setting), "setting `Size`");
    }

    #[test]
    fn an_input_schema_that_accepts_any_member_is_refused_with_the_words_to_add() {
        let open = r#"{"type":"object","properties":{"page":{}}}"#.to_owned();
        only(|manifest| manifest.operations[0].input_schema = open, r#"`"additionalProperties": false`"#);
    }

    #[test]
    fn what_is_declared_in_addition_is_checked_too() {
        let mut additions = Additions::default();
        additions.upstreams.sites.push(("api".to_owned(), "co.uk".to_owned()));
        additions.pages.push(LastItem { operation: "list".to_owned(), more: None });
        let found: Vec<String> = check(&manifest(), &additions).iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|violation| violation.contains("public suffix")), "{found:?}");
        assert!(found.iter().any(|violation| violation.contains("has no part")), "{found:?}");
        assert!(found.iter().any(|violation| violation.contains("last item of `list`")), "{found:?}");
    }

    #[test]
    fn inboxes_and_types_of_events_are_checked() {
        let mut additions = Additions::default();
        additions.inboxes.push(sample::inbox("hook"));
        additions.triggers.push(sample::trigger("message"));
        let found: Vec<String> = check(&manifest(), &additions).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["trigger `message`, read `changes`: the manifest has no operation of this name"]);
        let mut described = manifest();
        let internal = Operation { envelope: false, pagination: None, ..described.operations[0].clone() };
        described.operations.push(Operation { path: "changes".to_owned(), ..internal });
        assert_eq!(check(&described, &additions), []);
    }

    #[test]
    fn a_wildcard_link_host_is_not_below_a_public_suffix() {
        for host in ["*.co.uk", "*.herokuapp.com"] {
            only(|manifest| manifest.upstreams[0].link_hosts = vec![host.to_owned()], "public suffix");
        }
    }
}
