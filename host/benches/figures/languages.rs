//! One invocation of a function in another language, whose module brings the runtime of the
//! language with it: without a pause, and once in a second, as most operations are called.
//!
//! The connectors of `tests/languages` are measured, and the thin operation in Rust as their peer.

use std::fs;
use std::time::{Duration, Instant};

use support::module;
use tokio::time::sleep;

use crate::gateway;
use crate::invocation::{Compiled, Invoked, compiled_by, forwarding, invoke, round};
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit, median};

/// The connectors, which are named after their languages, and their version.
const LANGUAGES: [&str; 2] = ["javascript", "python"];
const VERSION: &str = "1.0.0";

/// The time of an invocation, in seconds.
const GOAL: f64 = 200e-6;

/// The pause between two invocations of an operation that is called now and then.
const PAUSE: Duration = Duration::from_secs(1);

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    // The gateway is started only because it compiles the modules into its data directory.
    let gateway = gateway::start(gateway::NOWHERE)?;
    let mut components = Vec::new();
    for language in LANGUAGES {
        let component = fs::read(module::root().join(format!("target/languages/{language}.wasm")))?;
        gateway.home().put(language, &component);
        gateway.wait_for_version(language, VERSION);
        components.push(component);
    }
    let [rust, _] = compiled_by(&gateway)?;
    let compiled = Compiled::by(gateway)?;
    let thin = forwarding(&compiled.load(&rust)?, true);
    let mut figures = Vec::from(both(&compiled, settings, "thin operation in Rust", &thin)?);
    for (language, component) in LANGUAGES.iter().zip(&components) {
        let module = compiled.load(component)?;
        let function = Invoked { module, operation: "random", input: "{}", immediate: false };
        figures.extend(both(&compiled, settings, &format!("function in {language}"), &function)?);
    }
    Ok(figures)
}

/// The time of an invocation without a pause, and of one in each second.
fn both(compiled: &Compiled, settings: &Settings, what: &str, invoked: &Invoked) -> Outcome<[Figure; 2]> {
    let runtime = &compiled.runtime;
    let rounds = (0..settings.pick(5, 3)).map(|_| round(runtime, invoked, 1, settings.time(0.4, 0.2)));
    let busy = median(rounds.collect::<Outcome<Vec<f64>>>()?);
    let mut seldom = Vec::new();
    for _ in 0..settings.pick(10, 2) {
        seldom.push(runtime.block_on(async {
            sleep(PAUSE).await;
            let began = Instant::now();
            invoke(invoked).await?;
            Outcome::Ok(began.elapsed().as_secs_f64())
        })?);
    }
    let invocation = |when: &str| format!("{what}: invocation, {when}");
    Ok([
        Figure::new(invocation("one after the other"), Unit::Seconds, busy).goal(Goal::AtMost(GOAL)),
        Figure::new(invocation("once in a second"), Unit::Seconds, median(seldom)).against("one after the other", busy),
    ])
}
