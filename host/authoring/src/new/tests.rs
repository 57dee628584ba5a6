use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// The command with a folder.
fn arguments(id: &str, folder: PathBuf) -> NewArguments {
    NewArguments {
        id: id.to_owned(),
        folder: Some(folder),
        lang: Language::Rust,
        auth: None,
        sdk: None,
        from_openapi: None,
        operations: Vec::new(),
    }
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Every file of a folder, with the path below it.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

#[test]
fn a_project_is_a_workspace_of_its_own_with_every_placeholder_filled() {
    let outside = tempfile::tempdir().unwrap();
    for (auth, words) in [
        (AuthKind::None, "Auth::None"),
        (AuthKind::ApiKey, "KeyPlacement::Header"),
        (AuthKind::Oauth2, "provider: \"word_list_provider\""),
    ] {
        let folder = outside.path().join(format!("a/{auth:?}"));
        let created = write(&NewArguments { auth: Some(auth), ..arguments("word_list", folder.clone()) }).unwrap();
        assert_eq!(created.folder, folder);
        let files = files(&folder);
        assert_eq!(files.len(), 5, "{files:?}");
        for (path, content) in &files {
            assert!(!content.contains("{{"), "{path}:\n{content}");
        }
        let table = read(&folder, "src/lib.rs");
        assert!(table.contains("connector word_list \"Word List\";") && table.contains(words), "{table}");
        let manifest = read(&folder, "Cargo.toml");
        assert!(manifest.contains("[workspace]") && manifest.contains("connector-gateway-sdk = \""), "{manifest}");
    }
}

#[test]
fn an_sdk_that_is_not_published_is_named_in_the_manifest() {
    let outside = tempfile::tempdir().unwrap();
    let sdk = outside.path().join("the sdk");
    let with_sdk =
        |sdk: &Path| NewArguments { sdk: Some(sdk.to_owned()), ..arguments("words", outside.path().join("words")) };
    assert!(matches!(write(&with_sdk(&sdk)), Err(NewError::NotSdk { .. })));
    fs::create_dir(&sdk).unwrap();
    fs::write(sdk.join("Cargo.toml"), "[package]\nname = \"connector-gateway-sdk\"\n").unwrap();
    let folder = write(&with_sdk(&sdk)).unwrap().folder;
    let manifest: toml::Table = read(&folder, "Cargo.toml").parse().unwrap();
    let path = &manifest["patch"]["crates-io"]["connector-gateway-sdk"]["path"];
    assert_eq!(path.as_str(), sdk.canonicalize().unwrap().to_str());
}

#[test]
fn npm_copies_an_sdk_that_is_not_published_and_does_not_link_it() {
    let outside = tempfile::tempdir().unwrap();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for (name, sdk, expected) in [("published", None, false), ("local", Some(tree.join("connectors/sdk-js")), true)] {
        let folder = outside.path().join(name);
        let new = NewArguments { lang: Language::Javascript, sdk, ..arguments("words", folder.clone()) };
        write(&new).unwrap();
        let setting = fs::read_to_string(folder.join(".npmrc")).unwrap_or_default();
        assert_eq!(setting.contains("install-links=true"), expected, "{setting}");
    }
}

#[test]
fn a_project_that_takes_the_published_sdk_says_where_the_source_has_it() {
    let outside = tempfile::tempdir().unwrap();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for (lang, folder) in [
        (Language::Rust, "connectors/sdk"),
        (Language::Javascript, "connectors/sdk-js"),
        (Language::Python, "connectors/sdk-python"),
    ] {
        let new = |sdk: Option<PathBuf>| {
            let folder = outside.path().join(format!("{lang:?}/{}", sdk.is_some()));
            write(&NewArguments { lang, sdk, ..arguments("words", folder) }).unwrap().published_sdk
        };
        assert_eq!(new(None), Some(folder));
        assert_eq!(new(Some(tree.join(folder))), None);
    }
}

#[test]
fn a_title_with_quotes_and_backslashes_makes_a_manifest_that_cargo_reads() {
    let outside = tempfile::tempdir().unwrap();
    let title = r#"The "Pet" \ Shop, Ltd."#;
    let document = outside.path().join("petshop.json");
    let openapi = serde_json::json!({
        "openapi": "3.0.3", "info": {"title": title, "version": "1"}, "servers": [{"url": "https://pets.example.com"}],
        "paths": {"/pets": {"get": {"operationId": "list_pets", "responses": {"200": {"description": "Pets"}}}}},
    });
    fs::write(&document, openapi.to_string()).unwrap();
    let root = "[workspace]\nmembers = [\"member\"]\n";
    fs::write(outside.path().join("Cargo.toml"), root).unwrap();
    for (folder, expected) in [
        ("alone", format!("{title}, as a connector of the Connector Gateway")),
        ("member", format!("Connector: {title}")),
    ] {
        let folder = outside.path().join(folder);
        let from_openapi = Some(document.clone());
        write(&NewArguments { from_openapi, ..arguments("pets", folder.clone()) }).unwrap();
        let manifest: toml::Table = read(&folder, "Cargo.toml").parse().unwrap();
        assert_eq!(manifest["package"]["description"].as_str(), Some(expected.as_str()));
    }
}

#[test]
fn a_project_has_the_schemas_of_answers_that_a_module_has_room_for() {
    let outside = tempfile::tempdir().unwrap();
    // Digits of a generator do not compress to less than their information.
    let mut state = 1_u64;
    let mut digits = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{state:020}")
    };
    for (count, is_described) in [(1, true), (2000, false)] {
        let mut member = || serde_json::json!({"type": "string", "description": digits() + &digits()});
        let members: serde_json::Map<_, _> = (0..count).map(|number| (format!("m{number}"), member())).collect();
        let answer = serde_json::json!({"content": {"application/json": {"schema": {"properties": members}}}});
        let openapi = serde_json::json!({
            "openapi": "3.0.3", "info": {"title": "Pets", "version": "1"}, "servers": [{"url": "https://pets.example.com"}],
            "paths": {"/pets": {"get": {"responses": {"200": answer}}}},
        });
        let document = outside.path().join("pets.json");
        fs::write(&document, openapi.to_string()).unwrap();
        let folder = outside.path().join(count.to_string());
        let new = NewArguments { from_openapi: Some(document), ..arguments("pets", folder.clone()) };
        let left_out = write(&new).unwrap().left_out;
        let file = read(&folder, "answer_schemas.json");
        assert!(file.contains("get_pets") && file.contains("description") == is_described, "{file}");
        assert_eq!(left_out.is_empty(), is_described, "{left_out:?}");
    }
}

#[test]
fn a_project_in_the_folder_of_a_workspace_is_its_member() {
    let workspace = tempfile::tempdir().unwrap();
    let root = "[workspace]\nmembers = [\"connectors/*\"]\nexclude = [\"connectors/old\"]\n\
                [workspace.package]\nedition = \"2024\"\nlicense = \"MIT\"\n\
                [workspace.lints.rust]\nunsafe_code = \"deny\"\n\
                [workspace.dependencies]\nconnector-sdk = { package = \"connector-gateway-sdk\", version = \"1\" }\n";
    fs::write(workspace.path().join("Cargo.toml"), root).unwrap();
    let new = |folder: &str| {
        let created = write(&arguments("words", workspace.path().join(folder))).unwrap();
        assert_eq!(created.published_sdk.is_none(), folder == "connectors/words");
        read(&created.folder, "Cargo.toml")
    };
    let expected = "[package]\nname = \"words\"\ndescription = \"Connector: Words\"\nversion = \"0.1.0\"\n\
                    edition.workspace = true\nlicense.workspace = true\npublish = false\n\n\
                    [lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]\nconnector-sdk.workspace = true\n\n\
                    [lints]\nworkspace = true\n";
    assert_eq!(new("connectors/words"), expected);
    for elsewhere in ["connectors/old", "words", "connectors/a/b"] {
        assert!(new(elsewhere).contains("[workspace]"), "{elsewhere}");
    }
}

#[test]
fn a_folder_with_files_is_never_changed() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("words");
    fs::create_dir(&folder).unwrap();
    write(&arguments("words", folder.clone())).unwrap();
    fs::write(folder.join("src/lib.rs"), "mine").unwrap();
    assert!(matches!(write(&arguments("words", folder.clone())), Err(NewError::NotEmpty(_))));
    assert_eq!(read(&folder, "src/lib.rs"), "mine");
}

#[test]
fn a_name_that_is_not_an_identifier_of_a_crate_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let new = |name: &str| write(&arguments(name, outside.path().join("x")));
    for name in ["../x", "", "Upper", "a/b"] {
        assert!(matches!(new(name), Err(NewError::Identifier(_))), "{name}");
    }
    for name in ["type", "core"] {
        assert!(matches!(new(name), Err(NewError::Reserved(_))), "{name}");
    }
    assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
}

#[test]
fn projects_in_other_languages_have_their_sdk_and_every_placeholder_filled() {
    let outside = tempfile::tempdir().unwrap();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../connectors").canonicalize().unwrap();
    for (lang, sdk, count) in [(Language::Javascript, "sdk-js", 6), (Language::Python, "sdk-python", 6)] {
        let sdk = tree.join(sdk);
        for with_sdk in [None, Some(sdk.clone())] {
            let folder = outside.path().join(format!("{lang:?}/{}", with_sdk.is_some()));
            write(&NewArguments { lang, sdk: with_sdk.clone(), ..arguments("type", folder.clone()) }).unwrap();
            let files = files(&folder);
            // npm needs a setting for an SDK in a folder.
            let settings = usize::from(with_sdk.is_some() && lang == Language::Javascript);
            assert_eq!(files.len(), count + settings, "{files:?}");
            assert!(files.iter().all(|(_, content)| !content.contains("{{")), "{files:?}");
            let names_sdk = files.iter().any(|(_, content)| content.contains(sdk.to_str().unwrap()));
            assert_eq!(names_sdk, with_sdk.is_some(), "{files:?}");
        }
    }
}

#[test]
fn tables_from_openapi_documents_are_in_rust() {
    let outside = tempfile::tempdir().unwrap();
    let python = NewArguments {
        lang: Language::Python,
        from_openapi: Some("petshop.json".into()),
        ..arguments("pets", outside.path().join("pets"))
    };
    assert!(matches!(write(&python), Err(NewError::OnlyRust)));
}

#[test]
fn a_project_without_a_language_is_a_file_that_makes_a_connector() {
    let outside = tempfile::tempdir().unwrap();
    for auth in [AuthKind::None, AuthKind::ApiKey, AuthKind::Oauth2] {
        let folder = outside.path().join(format!("{auth:?}"));
        let new = NewArguments { lang: Language::None, auth: Some(auth), ..arguments("word_list", folder.clone()) };
        let created = write(&new).unwrap();
        assert_eq!(created.published_sdk, None);
        let text = read(&folder, connector_file::FILE);
        let connector = connector_file::read(&text, &folder).unwrap();
        assert_eq!((connector.manifest.identifier.as_str(), connector.additions.rows.len()), ("word_list", 1));
        assert!(!read(&folder, "README.md").contains("{{"));
    }
    let sdk = NewArguments { sdk: Some("sdk".into()), ..arguments("words", outside.path().join("words")) };
    assert!(matches!(write(&NewArguments { lang: Language::None, ..sdk }), Err(NewError::NoSdk)));
}
