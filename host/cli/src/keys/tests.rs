use authoring::options::GatewayArguments;
use connector_gateway::Scope;
use tempfile::TempDir;

use super::*;

fn revoke_command(id: &str, json: bool) -> KeysCommand {
    KeysCommand::Revoke { id: id.to_owned(), list: ListArguments { json }, gateway: GatewayArguments::default() }
}

struct Shell {
    store: Store,
    _folder: TempDir,
}

impl Shell {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { store: Store::open(folder.path()).await.unwrap(), _folder: folder }
    }

    async fn run(&self, command: KeysCommand) -> (Result<(), KeysError>, String, String) {
        let (mut output, mut remarks) = (Vec::new(), Vec::new());
        let result = run(&command, &Config::default(), &self.store, &mut output, &mut remarks).await;
        (result, String::from_utf8(output).unwrap(), String::from_utf8(remarks).unwrap())
    }

    async fn create(&self, subject: Option<&str>) -> (String, String) {
        let arguments = CreateKeyArguments {
            name: "mobile app".into(),
            tenant: "acme".into(),
            subject: subject.map(str::to_owned),
            scopes: vec![Scope::Integrate, Scope::Operate, Scope::Operate],
            allow: vec!["calendar".into()],
            effects: vec!["read".into()],
            confirm: false,
            expires_at: None,
            list: ListArguments { json: false },
            gateway: GatewayArguments::default(),
        };
        let (result, output, remarks) = self.run(KeysCommand::Create(arguments)).await;
        result.unwrap();
        (output, remarks)
    }
}

#[tokio::test]
async fn standard_output_has_only_the_new_key_and_the_list_does_not_show_it() {
    let shell = Shell::new().await;
    let (output, remarks) = shell.create(Some("ann")).await;
    let key = output.trim_end();
    assert!(key.starts_with("cgw_") && !key.contains(char::is_whitespace), "{output}");
    assert!(remarks.contains("the user ann of the tenant acme, with the scopes: operate integrate\n"), "{remarks}");
    assert!(!remarks.contains(key));

    let (_, list, _) = shell
        .run(KeysCommand::List { list: ListArguments { json: false }, gateway: GatewayArguments::default() })
        .await;
    assert!(list.starts_with("ID "), "{list}");
    for expected in ["mobile app", &key[..8], "acme", "ann", "operate integrate", "just now", "never", "valid"] {
        assert!(list.contains(expected), "{expected} is missing in\n{list}");
    }
    assert!(!list.contains(&key[..12]));
}

#[tokio::test]
async fn the_json_list_has_one_object_for_each_key() {
    let shell = Shell::new().await;
    shell.create(None).await;
    let (_, list, _) =
        shell.run(KeysCommand::List { list: ListArguments { json: true }, gateway: GatewayArguments::default() }).await;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[0]["scopes"], json!(["operate", "integrate"]));
    assert_eq!((&list[0]["allow"], &list[0]["effects"]), (&json!(["calendar"]), &json!(["read"])));
    assert_eq!(list[0]["subject"], json!(null));
    assert_eq!(list[0]["revoked_at"], json!(null));
    assert!(humantime::parse_rfc3339(list[0]["created_at"].as_str().unwrap()).is_ok());
    assert!(list[0].get("hash").is_none());
}

#[tokio::test]
async fn an_empty_list_says_how_to_make_a_key() {
    let shell = Shell::new().await;
    let (_, output, remarks) = shell
        .run(KeysCommand::List { list: ListArguments { json: false }, gateway: GatewayArguments::default() })
        .await;
    assert_eq!(output, "");
    assert!(remarks.contains("keys create --name"));
    let (_, output, _) =
        shell.run(KeysCommand::List { list: ListArguments { json: true }, gateway: GatewayArguments::default() }).await;
    assert_eq!(output, "[]\n");
}

#[tokio::test]
async fn revoking_twice_is_no_error_and_an_unknown_id_is_one_that_says_where_to_look() {
    let shell = Shell::new().await;
    shell.create(None).await;
    let id = shell.store.keys().all().await.unwrap()[0].id.0.clone();
    let (result, _, remarks) = shell.run(revoke_command(&id, false)).await;
    result.unwrap();
    assert!(remarks.starts_with(&format!("revoked the key {id} (mobile app) of the tenant acme\n")), "{remarks}");
    let (result, _, remarks) = shell.run(revoke_command(&id, false)).await;
    result.unwrap();
    assert!(remarks.contains("was revoked before"), "{remarks}");
    let (result, ..) = shell.run(revoke_command("key_x", false)).await;
    assert_eq!(
        result.unwrap_err().to_string(),
        "there is no key with the id key_x; `connector-gateway keys list` shows the ids"
    );
}
