//! The console until its first list is there: the page, its files, the session and the list, one
//! request after another, as the slowest browser would send them.

use std::collections::BTreeSet;
use std::time::Instant;

use support::setup::KEY;
use support::{Answer, Client, Setup, Store};

use crate::lists;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};

/// The longest time, in seconds.
const GOAL: f64 = 0.3;

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let (accounts, records) = (settings.pick(10_000, 1_000), settings.pick(100_000, 1_000));
    let store = Store::Sqlite;
    let gateway = Setup::new().on(&store).start();
    let file = gateway.home().data().join("gateway.db");
    lists::execute(&store, &file, &[lists::integrations(accounts), lists::calls(records)])?;
    let browser = Browser::sign_in(gateway.anonymous())?;
    let mut figures = Vec::new();
    for (list, screen) in [("/admin/calls", "calls.js"), ("/admin/integrations", "integrations.js")] {
        let mut times = Vec::new();
        for _ in 0..11 {
            let began = Instant::now();
            browser.open(list, screen)?;
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().ok_or("nothing was measured")?;
        let name = format!("console, {accounts} accounts and {records} records: until {list} is there");
        figures.push(Figure::new(name, Unit::Seconds, median).goal(Goal::AtMost(GOAL)));
    }
    Ok(figures)
}

/// The requests of a browser.
struct Browser {
    client: Client,
    cookie: String,
}

impl Browser {
    fn sign_in(client: Client) -> Outcome<Self> {
        let answer = client
            .request("POST", "/console/session")
            .header("authorization", &format!("Bearer {KEY}"))
            .header("sec-fetch-site", "same-origin")
            .send();
        let cookie = answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        if answer.status != 201 || cookie.is_empty() {
            return Err(format!("the console gave no session: {}", answer.text()).into());
        }
        Ok(Self { client, cookie })
    }

    /// Loads everything that the page needs for its first list. `screen` is the module of the list.
    fn open(&self, list: &str, screen: &str) -> Outcome<()> {
        let mut wanted = names(&self.get("/console")?, "console/");
        wanted.insert(screen.to_owned());
        let mut loaded = BTreeSet::new();
        while let Some(name) = wanted.pop_first() {
            if loaded.insert(name.clone()) {
                let file = self.get(&format!("/console/{name}"))?;
                wanted.extend(names(&file, "from \"./"));
            }
        }
        // The page, its style, its icon, its libraries and its modules.
        if loaded.len() < 15 {
            return Err(format!("the page has only these files: {loaded:?}").into());
        }
        self.get("/console/session")?;
        self.get(list)?;
        Ok(())
    }

    fn get(&self, path: &str) -> Outcome<Answer> {
        let call = self.client.request("GET", path).header("cookie", &self.cookie);
        let answer = call.header("sec-fetch-site", "same-origin").send();
        if answer.status != 200 {
            return Err(format!("{path}: {}", answer.text()).into());
        }
        Ok(answer)
    }
}

/// The names of files that a text has behind this beginning.
fn names(answer: &Answer, beginning: &str) -> BTreeSet<String> {
    let text = answer.text();
    let parts = text.split(beginning).skip(1).filter_map(|rest| rest.split('"').next());
    parts.filter(|name| name.contains('.')).map(str::to_owned).collect()
}
