//! The page of the console and its files. They are in the binary, and load nothing from elsewhere.
//! `SOURCE.md` says where the libraries come from.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Response;
use hyper::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

use super::first;
use body::Body;
use endpoint::answer::{tagged_answer_of_type, tagged_text};
use endpoint::route::HttpCall;
use gateway::TaggedText;
use problem::{self, Problem};
use store::digest::sha256;

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const ICON: &str = "image/svg+xml";

/// The page, whose inline scripts are empty.
const PAGE: &str = include_str!("web/index.html");

/// Asks for the first list while the browser still loads the modules.
const EARLY: &str = include_str!("web/early.js");

/// Scripts, styles and requests come from and go to this gateway only. No script can turn a text
/// into HTML (Trusted Types).
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digests = inline_scripts().map(|(_, text)| format!("'sha256-{}'", STANDARD.encode(sha256(text.as_bytes()))));
    let policy = format!(
        "default-src 'none'; script-src 'self' {}; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        digests.join(" ")
    );
    // Digits of base64 may be in a header. Otherwise the page would load nothing.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// Lists the files in `web/` with their media types.
macro_rules! files {
    ($($name:literal: $media_type:ident),* $(,)?) => {
        &[$(($name, $media_type, include_str!(concat!("web/", $name)))),*]
    };
}

pub(super) const FILES: &[(&str, &str, &str)] = files! {
    "api.js": JAVASCRIPT,
    "app.js": JAVASCRIPT,
    "audit.js": JAVASCRIPT,
    "calls.js": JAVASCRIPT,
    "charts.js": JAVASCRIPT,
    "commands.js": JAVASCRIPT,
    "connector.js": JAVASCRIPT,
    "connectors.js": JAVASCRIPT,
    "console.css": STYLE,
    "dialog.js": JAVASCRIPT,
    "find.js": JAVASCRIPT,
    "form.js": JAVASCRIPT,
    "gateways.js": JAVASCRIPT,
    "hook_requests.js": JAVASCRIPT,
    "hooks.mjs": JAVASCRIPT,
    "htm.mjs": JAVASCRIPT,
    "icon.svg": ICON,
    "inboxes.js": JAVASCRIPT,
    "integrations.js": JAVASCRIPT,
    "jobs.js": JAVASCRIPT,
    "keys.js": JAVASCRIPT,
    "list.js": JAVASCRIPT,
    "metrics.js": JAVASCRIPT,
    "overview.js": JAVASCRIPT,
    "parts.js": JAVASCRIPT,
    "people.js": JAVASCRIPT,
    "preact.mjs": JAVASCRIPT,
    "route.js": JAVASCRIPT,
    "settings.js": JAVASCRIPT,
    "sort.js": JAVASCRIPT,
    "tenants.js": JAVASCRIPT,
    "tool_sets.js": JAVASCRIPT,
    "touches.js": JAVASCRIPT,
    "triggers.js": JAVASCRIPT,
    "try.js": JAVASCRIPT,
    "webhooks.js": JAVASCRIPT,
    "words.js": JAVASCRIPT,
};

/// The texts with their tags, which need a digest of each.
static TAGGED: LazyLock<BTreeMap<&str, (&'static str, TaggedText)>> = LazyLock::new(|| {
    FILES.iter().map(|(name, media_type, text)| (*name, (*media_type, tagged_text((*text).to_owned())))).collect()
});

/// GET /console.
pub async fn get_page(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    static TEXT: LazyLock<TaggedText> = LazyLock::new(|| tagged_text(page()));
    let mut response = tagged_answer_of_type(&call.head.headers, &TEXT, "text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, POLICY.clone());
    Ok(protected(response))
}

/// The page with its inline scripts.
fn page() -> String {
    inline_scripts()
        .iter()
        .fold(PAGE.to_owned(), |page, (element, text)| page.replacen(element, &format!("{element}{text}"), 1))
}

/// The inline scripts, each with the beginning of its element. The policy names them by their
/// digests.
fn inline_scripts() -> [(&'static str, String); 2] {
    [("<script>", EARLY.to_owned()), ("<script type=\"importmap\">", first::import_map())]
}

/// GET /console/{file}.
pub async fn get_file(call: HttpCall<'_>) -> Result<Response<Body>, Problem> {
    static FIRST: OnceLock<TaggedText> = OnceLock::new();
    let name = call.arguments.file;
    if name == first::FILE {
        let text = FIRST.get_or_init(|| tagged_text(first::module(call.routes)));
        return Ok(protected(tagged_answer_of_type(&call.head.headers, text, JAVASCRIPT)));
    }
    let &(media_type, ref text) = TAGGED
        .get(name)
        .ok_or_else(|| problem::NOT_FOUND.with_detail("The console has no such file. GET /console is its page."))?;
    Ok(protected(tagged_answer_of_type(&call.head.headers, text, media_type)))
}

/// Browsers take it for what it says it is, and let no other page embed it.
fn protected(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use store::digest::sha256_hex;

    use super::super::filters;
    use super::*;

    /// The libraries, whose text is not ours.
    fn is_library(name: &str) -> bool {
        name.ends_with(".mjs")
    }

    #[test]
    fn the_libraries_are_those_that_their_source_names() {
        let source = include_str!("SOURCE.md");
        for (name, _, text) in FILES.iter().filter(|(name, ..)| is_library(name)) {
            let digest = sha256_hex(text.as_bytes());
            assert!(source.lines().any(|line| line.contains(name) && line.contains(&digest)), "{name}: {digest}");
        }
    }

    #[test]
    fn the_policy_admits_the_inline_scripts_of_the_page_and_no_other() {
        let page = page();
        let scripts: Vec<(&str, &str)> = page
            .split("<script")
            .skip(1)
            .map(|rest| rest.split_once("</script>").unwrap().0.split_once('>').unwrap())
            .collect();
        let inline: Vec<&str> = scripts.iter().map(|(_, text)| *text).filter(|text| !text.is_empty()).collect();
        assert_eq!((scripts.len(), inline.len()), (3, 2));
        let policy = POLICY.to_str().unwrap();
        assert_eq!(policy.matches("'sha256-").count(), 2);
        for text in inline {
            let digest = format!("'sha256-{}'", STANDARD.encode(sha256(text.as_bytes())));
            assert!(policy.contains(&digest), "{digest}");
        }
        let places = ["globalThis.askedEarly", "importmap", "console/first.js\"></script>"];
        let places = places.map(|part| page.find(part).unwrap());
        assert!(places.is_sorted(), "the list is asked for first, and a browser takes no import map behind a module");
    }

    #[test]
    fn every_module_that_a_file_imports_is_served_and_every_module_is_imported() {
        // The first file begins from this one, and has the libraries.
        let mut imported = BTreeSet::from(["app.js", "preact.mjs", "hooks.mjs", "htm.mjs"]);
        for (name, _, text) in FILES.iter().filter(|(name, ..)| name.ends_with(".js")) {
            let own: Vec<&str> = first::imports(text).filter_map(|(from, _)| from.strip_prefix("./")).collect();
            let passed_on =
                text.lines().filter(|line| line.starts_with("export {") && line.contains("from \"./")).count();
            assert_eq!(own.len() + passed_on, text.matches("from \"./").count(), "an import of {name} is no line");
            // A screen is imported when it is wanted.
            let screens = text.split("import(\"./").skip(1).filter_map(|rest| rest.split('"').next());
            imported.extend(own.into_iter().chain(screens));
        }
        let modules = FILES.iter().filter(|(_, media_type, _)| *media_type == JAVASCRIPT).map(|(name, ..)| *name);
        assert_eq!(imported, modules.chain([filters::FILE]).collect());
    }

    #[test]
    fn each_list_that_is_asked_for_early_is_a_screen() {
        let text = |wanted: &str| FILES.iter().find(|(name, ..)| *name == wanted).unwrap().2;
        let (_, rest) = EARLY.split_once("const LISTS = [").unwrap();
        let (names, _) = rest.split_once(']').unwrap();
        let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
        assert!(names.contains(&"calls"), "{names:?}");
        for name in names {
            let screens = [format!("\n  {name}: ["), format!("\n  \"{name}\": [")];
            assert!(screens.iter().any(|screen| text("app.js").contains(screen)), "{name}");
        }
    }

    /// The gateway gives a tool another name if this one is too long.
    #[test]
    fn a_call_of_a_tool_is_shown_up_to_the_longest_names_that_the_gateway_keeps() {
        let (_, _, commands) = FILES.iter().find(|(name, ..)| *name == "commands.js").unwrap();
        let longest = |name: usize| format!(r"/^[\w.-]{{1,{name}}}$/");
        let [tool, argument] = [mcp::names::MAX_TOOL_NAME, mcp::names::MAX_NAME].map(longest);
        assert!(commands.contains(&format!("[toolName, argumentName] = [{tool}, {argument}]")), "{tool} {argument}");
    }

    /// Problems that are in no record of a call. Routes without records answer with them, or the
    /// caller is not known.
    const WITHOUT_RECORD: &str = "unauthenticated not-from-console tenant-token-required not-found method-not-allowed \
        issuer-unavailable unknown-integration not-renewable unknown-completion unknown-authorization \
        completion-of-other-subject too-many-links unknown-job unknown-key unknown-oauth-client unknown-call \
        unknown-webhook unknown-webhook-secret webhook-not-kept module-refused no-earlier-version changed-meanwhile \
        shipped unknown-file file-expired unknown-tool-set tool-set-exists too-many-tool-sets unknown-agent-session \
        too-many-agent-sessions too-many-confirmations unknown-trigger unknown-event event-not-kept nothing-to-read \
        too-many-triggers unknown-inbox unknown-inbox-secret inbox-exists too-many-secrets other-account";

    #[test]
    fn the_words_say_what_to_do_for_each_problem_that_a_record_of_a_call_can_have() {
        let (_, _, words) = FILES.iter().find(|(name, ..)| *name == "words.js").unwrap();
        let (_, rest) = words.split_once(" todo: {\n").unwrap();
        let (entries, _) = rest.split_once("\n    },\n").unwrap();
        let names = entries.lines().filter_map(|line| line.trim().split_once(": "));
        let told: BTreeSet<&str> = names.map(|(name, _)| name.trim_matches('"')).collect();
        let unrecorded: BTreeSet<&str> = WITHOUT_RECORD.split_whitespace().collect();
        for kind in problem::KINDS {
            let urn = kind.urn();
            let name = urn.rsplit(':').next().unwrap();
            assert!(told.contains(name) || unrecorded.contains(name), "`{name}` is not in `calls.todo`");
        }
    }

    #[test]
    fn no_file_names_another_origin_or_makes_html_of_a_text() {
        for (name, _, text) in FILES.iter().filter(|(name, ..)| !is_library(name)) {
            for word in
                ["dangerouslySetInnerHTML", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                assert!(!text.contains(word), "{name} has {word}");
            }
            let other = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!other.contains("http://") && !other.contains("https://"), "{name} names another origin");
        }
    }
}
