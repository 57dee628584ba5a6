//! The cost of triggers for which nothing happens: many of them at rest, and reads that find
//! nothing. Both on PostgreSQL, which counts transactions.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use support::accounts::{connect, email, registered};
use support::webhooks::make_secret;
use support::{Dialect, Gateway, OAuthProvider, Reply, Setup, Store, Upstream};

use crate::fleet::rate;
use crate::lists::{execute, numbers};
use crate::machine;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};

/// Triggers at rest: a few, and many.
const FEW: u32 = 10;
const MANY: u32 = 100_000;

/// The transactions and the memory of a gateway with many triggers at rest, compared with a few.
const OF_MANY: f64 = 1.1;

/// Triggers that are read at the same time.
const READ: u32 = 50;

/// Requests to the service, and transactions, of a read that finds nothing.
const OF_READ: f64 = 1.0;

/// The longest time until all are read.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Measures the section. Empty without the PostgreSQL server of `tests/postgres.sh`.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    if std::env::var_os("TEST_POSTGRES_URL").is_none() {
        return Ok(Vec::new());
    }
    let mut figures = at_rest(settings)?;
    figures.extend(reads(settings)?);
    Ok(figures)
}

fn at_rest(settings: &Settings) -> Outcome<Vec<Figure>> {
    let store = Store::postgres();
    let gateway = Setup::new().on(&store).guest("notified").start();
    let many = settings.pick(MANY, 10_000);
    let time = settings.time(30.0, 5.0);
    // Rows refer to a data key, and this makes one.
    make_secret(&gateway.client());
    let look = |first, last| -> Outcome<(f64, f64)> {
        add(&store, first, last)?;
        let (transactions, _) = rate(store.database(), || thread::sleep(time))?;
        Ok((transactions, machine::resident_bytes(gateway.process_id())?))
    };
    let (transactions_of_few, memory_of_few) = look(1, FEW)?;
    let (transactions, memory) = look(FEW + 1, many)?;
    let name = |what: &str| format!("{many} triggers at rest: {what}");
    Ok(vec![
        Figure::new(name("database transactions in a second"), Unit::Count, transactions)
            .against("10 triggers", transactions_of_few)
            .goal(Goal::RatioAtMost(OF_MANY)),
        Figure::new(name("memory"), Unit::Bytes, memory)
            .against("10 triggers", memory_of_few)
            .goal(Goal::RatioAtMost(OF_MANY)),
    ])
}

/// Adds triggers with these numbers, each with a subscription, for which nothing is due.
fn add(store: &Store, first: u32, last: u32) -> Outcome<()> {
    let (numbers, data_key) = (numbers(last), "(SELECT min(id) FROM data_keys)");
    let subscriptions = format!(
        "{numbers} INSERT INTO subscriptions (id, tenant, subject, connector, user_identifier, covers, data_key, secret, standing,
             kinds, due_at)
         SELECT 'sub_' || n, 't' || (n % 100), '', 'notified', 'user' || n, 'all', {data_key}, '0', 'active', '[]', 4000000000000 + n
         FROM numbers WHERE n >= {first}"
    );
    let triggers = format!(
        "{numbers} INSERT INTO triggers (id, tenant, subject, connector, type, user_identifier, subscription, data_key, definition,
             labels, state, created_at)
         SELECT 'trg_' || n, 't' || (n % 100), '', 'notified', 'item', 'user' || n, 'sub_' || n, {data_key}, '0', '{{}}', 'live', n
         FROM numbers WHERE n >= {first}"
    );
    execute(store, "gateway.db".as_ref(), &[subscriptions, triggers])
}

/// The cost of one read that finds nothing, from many that are due at once.
fn reads(settings: &Settings) -> Outcome<Vec<Figure>> {
    let store = Store::postgres();
    let (service, provider) = (Upstream::start(), OAuthProvider::start(Dialect::strict()));
    service.reply("/changes", Reply::json(json!({"cursor": "1", "changes": []})));
    let setup = Setup::new().on(&store).guest("notified").provider("notified", &provider, &[("accounts", "")]);
    let setup = setup.config(&format!("upstreams.api = \"{}\"", service.url()));
    let gateway = registered(setup.start(), &provider);
    connect(&gateway.client(), "notified", "ada");
    (0..READ).try_for_each(|number| make(&gateway, number))?;
    let database = store.database();
    let time = settings.time(20.0, 5.0);
    let (rest, _) = rate(database, || thread::sleep(time))?;
    service.take_seen();
    let mut requests = 0;
    let (busy, seconds) = rate(database, || {
        database.sql("UPDATE subscriptions SET due_at = 0, read_at = 0");
        let began = Instant::now();
        while service.seen().len() < READ as usize && began.elapsed() < MAX_WAIT {
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(time);
        requests = service.seen().len();
    })?;
    let each = |count: f64| count / f64::from(READ);
    let name = |what: &str| format!("read that finds nothing: {what}");
    Ok(vec![
        Figure::new(name("requests to the service"), Unit::Count, each(requests as f64)).goal(Goal::AtMost(OF_READ)),
        Figure::new(name("database transactions"), Unit::Count, each((busy - rest).max(0.0) * seconds))
            .goal(Goal::AtMost(OF_READ)),
    ])
}

/// Makes a trigger on a separate folder, so that it has a separate subscription.
fn make(gateway: &Gateway, number: u32) -> Outcome<()> {
    let letter = |digit: u32| char::from(b'a' + (digit % 26) as u8);
    let folder: String = [letter(number / 26), letter(number)].iter().collect();
    let body = json!({"connector": "notified", "type": "change", "parameters": {"folder": folder}});
    let call = gateway.client().request("POST", "/triggers").header("x-user-identifier", &email("ada"));
    let made = call.json(&body).send();
    match made.status {
        201 => Ok(()),
        status => Err(format!("no trigger was made: {status} {}", made.text()).into()),
    }
}
