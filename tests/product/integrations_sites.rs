//! A connector's codes, tokens and client secret go to the site where users authorize, or to hosts that the operator grants.

use std::fs;

use serde_json::json;
use support::{Dialect, OAuthProvider, Setup, module};

use crate::integrations::{connect, me, path, registered, who};

#[test]
fn an_oauth_address_at_another_site_is_refused_until_its_host_is_granted() {
    for (member, endpoint, name) in [
        ("token_url", "/token", "oauth2.token-url"),
        ("refresh_url", "/token", "oauth2.refresh-url"),
        ("revocation_url", "/revoke", "oauth2.revocation"),
    ] {
        let provider = OAuthProvider::start(Dialect::strict());
        let home = provider.url();
        // The same stand-in under another name, which is another site.
        let elsewhere = home.replace("127.0.0.1", "localhost");
        let mut service = json!({
            "identifier": "account",
            "auth": "oauth2",
            "scopes": ["read", "write"],
            "authorization_url": format!("{home}/authorize"),
            "token_url": format!("{home}/token"),
            "revocation": "form",
            "revocation_url": format!("{home}/revoke"),
        });
        service[member] = json!(format!("{elsewhere}{endpoint}"));
        let module = module::account(&service);
        let gateway = Setup::new()
            .oauth_client("account", provider.dialect())
            .upstream("account", "api", &provider.api())
            .start();

        gateway.home().put("account", &module);
        let reason = gateway.wait_for_refusal("account.wasm");
        for words in [name, "is at localhost", "127.0.0.1"] {
            assert!(reason.contains(words), "{words} in {reason}");
        }
        assert_eq!(gateway.connector("account"), None);
        assert!(provider.seen().is_empty());

        let file = gateway.home().config().with_file_name("module");
        fs::write(&file, module).unwrap();
        let add = ["connectors", "add", file.to_str().unwrap()];
        let refused = gateway.home().run(&add);
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains(&reason), "{reason} in {}", refused.stderr);

        // As the reason says.
        let host = reason.rsplit(' ').next().unwrap().trim_end_matches('.');
        gateway.home().run_ok(&[&add[..], &["--grant", host]].concat());
        gateway.wait_for_version("account", "1.0.0");
        let gateway = registered(gateway, &provider);
        let client = gateway.client();
        connect(&client, "account", "ada");
        provider.expire();
        assert_eq!(who(&client).ok(), me("ada"));
        assert_eq!(client.delete(&path("account", "ada")).ok(), json!({"deleted": true, "revoked": true}));
        let called = provider.seen().into_iter().filter(|seen| seen.header("host").starts_with("localhost"));
        let mut paths: Vec<String> = called.map(|seen| seen.path).collect();
        paths.dedup();
        assert_eq!(paths, [endpoint], "{member}");
    }
}
