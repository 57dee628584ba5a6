//! The console until its first list is there: the page, its files, the session and the list, one
//! request after another, and then in Chromium, until it shows the first row.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use support::programs::{self, Programs};
use support::setup::KEY;
use support::{Answer, Client, Setup, Store};

use crate::lists;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};

/// The longest time, in seconds.
const GOAL: f64 = 0.3;

/// The screens, which are also the last parts of the routes of their lists.
const SCREENS: [&str; 2] = ["calls", "integrations"];

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let (accounts, records) = (settings.pick(10_000, 1_000), settings.pick(100_000, 1_000));
    let store = Store::Sqlite;
    let gateway = Setup::new().on(&store).start();
    let file = gateway.home().data().join("gateway.db");
    lists::execute(&store, &file, &[lists::integrations(accounts), lists::calls(records)])?;
    let session = Session::sign_in(gateway.anonymous())?;
    let mut figures = Vec::new();
    for (list, screen) in SCREENS.map(|screen| (format!("/admin/{screen}"), format!("{screen}.js"))) {
        let mut times = Vec::new();
        for _ in 0..11 {
            let began = Instant::now();
            session.open(&list, &screen)?;
            times.push(began.elapsed().as_secs_f64());
        }
        let name = format!("console, {accounts} accounts and {records} records: until {list} is there");
        figures.push(Figure::new(name, Unit::Seconds, median(times)).goal(Goal::AtMost(GOAL)));
    }
    figures.extend(in_browser(&gateway.address(), settings.pick(9, 1))?);
    Ok(figures)
}

/// Opens the screens in Chromium, with the console in its cache and without.
fn in_browser(address: &str, rounds: usize) -> Outcome<Vec<Figure>> {
    let programs = Programs::of("browser", "first-list");
    programs.copy(&["first_list.mjs", "console_person.mjs", "looks.mjs"]);
    let mut open = Command::new("node");
    open.args(["first_list.mjs", &programs::browser(), address, KEY, &rounds.to_string()]).args(SCREENS);
    let measured: Value = serde_json::from_str(&programs.run(&mut open))?;
    let mut figures = Vec::new();
    for screen in SCREENS {
        for (cache, words) in [("cold", "nothing in the cache"), ("warm", "the console in the cache")] {
            let times: Vec<f64> = serde_json::from_value(measured[screen][cache].clone())?;
            let seconds = times.into_iter().map(|milliseconds| milliseconds / 1e3).collect();
            let name = format!("console in Chromium, {words}: until the first row of {screen}");
            figures.push(Figure::new(name, Unit::Seconds, median(seconds)).goal(Goal::AtMost(GOAL)));
        }
    }
    Ok(figures)
}

/// The requests of a browser that has signed in.
struct Session {
    client: Client,
    cookie: String,
}

impl Session {
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
        let page = self.get("/console")?;
        let mut wanted = names(&page, "console/");
        wanted.insert(screen.to_owned());
        let mut loaded = BTreeSet::new();
        while let Some(name) = wanted.pop_first() {
            // The import map names the modules in the first file.
            let is_in_first = page.text().contains(&format!("/{name}\":\"./console/first.js"));
            if !is_in_first && loaded.insert(name.clone()) {
                let file = self.get(&format!("/console/{name}"))?;
                wanted.extend(names(&file, "from \"./"));
            }
        }
        // The style, the icon, and the modules.
        if loaded.len() < 3 {
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
