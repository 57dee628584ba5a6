//! Connecting, sharing the database, and errors.

use super::*;
use crate::testing::{NOTES, Site, add_note, count_notes};
use crate::value::values;
use crate::{Database, Settings};

async fn refusal(url: &str) -> String {
    let settings = Settings { data_dir: "data".into(), database_url: Some(url.into()) };
    let error = Database::connect(&settings, &NOTES).await.unwrap_err();
    let message = error.to_string();
    assert!(!message.contains('\n') && !message.contains("s3cret"), "{message}");
    assert!(!format!("{error:?}").contains("s3cret"));
    message
}

/// The URL of the site's schema with a change.
fn changed(site: &Site, change: impl FnOnce(&mut url::Url)) -> String {
    let mut url = url::Url::parse(&site.schema().url()).unwrap();
    change(&mut url);
    url.into()
}

#[tokio::test]
async fn many_gateways_may_open_a_new_database_at_once() {
    let site = Site::postgres().await;
    let name = &site.schema().name;
    site.schema().sql(&format!("DROP SCHEMA {name} CASCADE; CREATE SCHEMA {name}")).await;
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let settings = site.place.settings.clone();
            tokio::spawn(async move { Database::connect(&settings, &NOTES).await })
        })
        .collect();
    for (number, database) in (0..).zip(opened) {
        add_note(&database.await.unwrap().unwrap(), number).await.unwrap();
    }
    assert_eq!(count_notes(&site.open_again().await).await, 8);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let site = Site::postgres().await;
    site.execute("UPDATE gateway_version SET number = 1000, oldest = 999").await;
    let message = refusal(&site.schema().url()).await;
    assert!(
        message.contains("was written by a newer version of the gateway (tables 1000, this version supports "),
        "{message}"
    );
}

#[tokio::test]
async fn a_database_of_the_next_release_is_used_and_left_as_it_is() {
    let site = Site::postgres().await;
    let known: i64 =
        site.database.read(|connection| connection.one("SELECT number FROM gateway_version", &[])).await.unwrap();
    // The next release has two more migrations, and names this one as the oldest that it serves with.
    site.schema()
        .sql(&format!("SET search_path = {}; ALTER TABLE notes ADD COLUMN added TEXT", site.schema().name))
        .await;
    site.execute("UPDATE gateway_version SET oldest = number, number = number + 2").await;
    let other = site.open_again().await;
    add_note(&other, 1).await.unwrap();
    assert_eq!(count_notes(&site.database).await, 1);
    let found: i64 = other.read(|connection| connection.one("SELECT number FROM gateway_version", &[])).await.unwrap();
    assert_eq!(found, known + 2, "the tables are those of the newer release");
    site.execute("UPDATE gateway_version SET oldest = oldest + 1").await;
    let message = refusal(&site.schema().url()).await;
    assert!(message.contains("was written by a newer version"), "{message}");
}

#[tokio::test]
async fn a_failed_connection_is_reported_in_one_line_without_the_password() {
    let site = Site::postgres().await;
    // The port is taken, and no one listens.
    let refusing = tokio::net::TcpSocket::new_v4().unwrap();
    refusing.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let unused = refusing.local_addr().unwrap().port();
    let message = refusal(&format!("postgres://ann:s3cret@127.0.0.1:{unused}/gateway")).await;
    assert!(
        message.starts_with(&format!("cannot reach the PostgreSQL server 127.0.0.1:{unused}/gateway: ")),
        "{message}"
    );
    assert!(message.contains("Connection refused"), "{message}");

    let message = refusal(&changed(&site, |url| url.set_password(Some("s3cret")).unwrap())).await;
    assert!(message.contains("refuses the connection: password authentication failed for user"), "{message}");

    let message = refusal(&changed(&site, |url| url.set_path("nowhere"))).await;
    assert!(message.contains("has no such database: database \"nowhere\" does not exist"), "{message}");

    let message = refusal(&changed(&site, |url| url.set_query(Some("sslmode=require")))).await;
    assert!(message.contains("server does not support TLS"), "{message}");
}

#[tokio::test]
async fn a_user_who_may_not_create_tables_is_told_what_to_grant() {
    let site = Site::postgres().await;
    let (schema, name) = (site.schema(), &site.schema().name);
    let user = format!("user_{name}");
    schema
        .sql(&format!("DROP SCHEMA {name} CASCADE; CREATE SCHEMA {name}; CREATE USER {user} PASSWORD 's3cret'"))
        .await;
    let url = changed(&site, |url| {
        url.set_username(&user).unwrap();
        url.set_password(Some("s3cret")).unwrap();
    });
    let message = refusal(&url).await;
    assert!(message.contains("does not permit this: no schema has been selected to create in"), "{message}");
    schema.sql(&format!("GRANT USAGE ON SCHEMA {name} TO {user}")).await;
    let message = refusal(&url).await;
    assert!(message.contains("does not permit this: permission denied for schema"), "{message}");
    schema.sql(&format!("DROP OWNED BY {user}; DROP USER {user}")).await;
}

#[tokio::test]
async fn connections_that_the_server_ended_are_replaced() {
    let site = Site::postgres().await;
    add_note(&site.database, 1).await.unwrap();
    let schema = site.schema();
    let end = format!(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '{}'",
        schema.name
    );
    schema.sql(&end).await;
    add_note(&site.database, 2).await.unwrap();
    assert_eq!(count_notes(&site.database).await, 2);
}

// With several threads the connections keep working while the end of the test waits for the
// cancelled calls.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_the_database_usable() {
    let site = Site::postgres().await;
    for number in 0..20 {
        let database = site.database.clone();
        let writing = tokio::spawn(async move { add_note(&database, number).await });
        tokio::task::yield_now().await;
        writing.abort();
    }
    add_note(&site.database, 99).await.unwrap();
    site.database.check().await.unwrap();
}

#[tokio::test]
async fn a_text_with_a_zero_byte_is_not_sent_and_is_no_failure_of_the_database() {
    let site = Site::postgres().await;
    let health = site.database.health();
    assert!(!health.is_abandoned("lease", 1, 100));
    health.pass_grace();
    let sought = site
        .database
        .read(|connection| connection.optional::<i64>("SELECT number FROM notes WHERE id = $1", values!["a\0b"]));
    let error = sought.await.unwrap_err();
    assert!(matches!(error, StoreError::ZeroByte) && !error.is_failure(), "{error:?}");
    // The transaction can still be used.
    let written = site.database.write(Durability::PowerLoss, |connection| {
        let insert = "INSERT INTO notes VALUES ($1, $2)";
        let refused = connection.execute(insert, values!["a\0b", 1_i64]).unwrap_err();
        assert!(matches!(refused, StoreError::ZeroByte), "{refused:?}");
        connection.execute(insert, values!["ab", 1_i64])
    });
    assert_eq!(written.await.unwrap(), 1);
    let failed = site.database.write(Durability::PowerLoss, |connection| {
        connection.execute("INSERT INTO notes VALUES ($1, 2)", values!["\0"])
    });
    assert!(matches!(failed.await, Err(StoreError::ZeroByte)));
    assert!(health.is_abandoned("lease", 1, 100), "the errors have not begun the time again");
    assert!(site.database.is_answering().await);
}

#[tokio::test]
async fn a_statement_that_the_server_refuses_is_no_failure_of_the_database() {
    let site = Site::postgres().await;
    let health = site.database.health();
    health.is_abandoned("lease", 1, 100);
    health.pass_grace();
    for statement in [
        "INSERT INTO notes VALUES ('first', 1)",
        "INSERT INTO notes VALUES (NULL, 1)",
        "INSERT INTO notes VALUES ('x', 9223372036854775807 + number) FROM notes",
        "UPDATE notes SET number = number + 9223372036854775807 + 1",
        "SELECT number FROM notes WHERE (id) > ()",
        "SELECT convert_from('\\x00', 'UTF8')",
    ] {
        let run = site.database.read(move |connection| connection.query(statement, &[]).map(drop));
        let error = run.await.unwrap_err();
        assert!(!error.is_failure(), "{statement}: {error}");
        assert!(error.to_string().contains("refuses a statement: "), "{error}");
    }
    assert!(health.is_abandoned("lease", 1, 100));
    for statement in ["SELECT 1 FROM nowhere", "SELECT nothing FROM notes", "SELECT nothing()"] {
        let run = site.database.read(move |connection| connection.query(statement, &[]).map(drop));
        assert!(run.await.unwrap_err().is_failure(), "{statement}");
    }
    assert!(!health.is_abandoned("lease", 1, 100), "what is missing is missing for every gateway");
}

#[tokio::test]
async fn a_failed_transaction_has_no_effect() {
    let site = Site::postgres().await;
    let failed: Result<(), _> = site
        .database
        .write(Durability::PowerLoss, |connection| {
            connection.execute("INSERT INTO notes VALUES ('a.example', 1)", &[])?;
            connection.execute("INSERT INTO notes VALUES ('a.example', 1)", &[]).map(drop)
        })
        .await;
    let message = failed.unwrap_err().to_string();
    assert!(message.contains("duplicate key value violates unique constraint"), "{message}");
    assert!(!message.contains("a.example"));
    assert_eq!(count_notes(&site.database).await, 0);
}
