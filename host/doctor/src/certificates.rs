//! The certificates that the gateway presents to callers and operators.

use humantime::format_rfc3339_seconds;

use super::report::Report;
use super::{SOON, capitalized};
use config::Config;
use tls::Pair;

const CHECK: &str = "certificates";

/// Examines the files of `[tls]` and `[admin_tls]`.
pub fn examine(config: &Config, report: &mut Report) {
    for files in [&config.tls, &config.admin_tls].into_iter().flatten() {
        let section = files.section;
        let pair = match Pair::read(files) {
            Ok(pair) => pair,
            Err(error) => {
                let text = error.to_string();
                let (found, action) = text.split_once("; ").unwrap_or((&text, "See host/docs/operating.md"));
                report.problem(CHECK, found, capitalized(action));
                continue;
            }
        };
        let now = clock::now();
        let expires_at = format_rfc3339_seconds(pair.expires_at());
        let action = "Renew it. A running gateway notices the changed files within a few seconds";
        if pair.has_expired(now) {
            report.problem(
                CHECK,
                format!("the certificate of `{section}` has expired at {expires_at}, so callers refuse it"),
                action,
            );
        } else if pair.has_expired(now + SOON) {
            report.problem(CHECK, format!("the certificate of `{section}` expires at {expires_at}"), action);
        } else {
            report.ok(
                CHECK,
                format!(
                    "the certificate of `{section}` fits its key, and does not expire within {} days",
                    SOON.as_secs() / 86_400
                ),
            );
        }
    }
}
