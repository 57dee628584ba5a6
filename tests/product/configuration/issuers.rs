//! Issuers of JWTs that can be configured together.

use support::Setup;

use super::fails;

fn section(name: &str, more: &str) -> String {
    format!(
        "[jwt_issuers.{name}]\nissuer = \"https://{name}.example\"\naudience = \"gateway\"\n\
         jwks_url = \"https://{name}.example/keys\"\n{more}\n"
    )
}

#[test]
fn issuers_whose_users_would_share_accounts_are_refused_with_both_names() {
    let home = Setup::new().config(&section("acme", "")).config(&section("umbrella", "")).prepare();
    let (code, said) = fails(&home);
    assert_eq!(code, Some(1), "{said}");
    for word in ["gateway.toml:", "`jwt_issuers.umbrella`", "`jwt_issuers.acme`", "`default`", "separate `tenant`"] {
        assert!(said.contains(word), "{word} in: {said}");
    }
}

#[test]
fn issuers_with_different_tenants_are_accepted() {
    let tenants = ["tenant = \"acme\"", "tenant = \"umbrella\""];
    let setup = Setup::new().config(&section("acme", tenants[0])).config(&section("umbrella", tenants[1]));
    setup.start().client().get("/integrations").ok();
}
