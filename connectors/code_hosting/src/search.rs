//! A search for issues in many repositories, whose results are one list.

use std::collections::{HashSet, VecDeque};

use connector_sdk::http::{self, Method, Response};
use connector_sdk::json::Kind;
use connector_sdk::{Document, Fault, Outcome, Request, UpstreamFault, Violation, progress};
use serde::{Deserialize, Serialize};

use crate::calls::Calls;
use crate::found::{Facts, Found, Key};
use crate::ranking::{MAX_RESULTS, Ranking};
use crate::repositories::{self, Repository};
use crate::summary::{Counted, Summary};
use crate::{CONNECTOR, SearchIssues, dates, fingerprint, github, projection};

/// Number of requests that are sent in parallel.
const PARALLEL: usize = 4;

/// Number of issues in an answer with a summary.
const SHOWN_WITH_SUMMARY: usize = 5;

/// Maximum number of issues that a search reads. More would exceed the CPU time of an invocation.
const MAX_READ: u32 = 10_000;

/// The members of the answer before the issues.
#[derive(Serialize)]
struct Head {
    /// Number of issues that matched, also of those that the answer does not have.
    total_count: usize,
    truncated: bool,
    repositories: Vec<String>,
}

/// The members of the answer after the issues.
#[derive(Serialize)]
struct Tail {
    errors: Vec<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
}

/// A repository that could not be read.
#[derive(Serialize)]
struct Failure {
    repository: String,
    status: u16,
    message: String,
}

/// A page that the search has not read yet.
struct Page {
    repository: Repository,
    /// Path and query of the request.
    path: String,
}

pub(crate) fn issues(input: SearchIssues) -> Result<Outcome, Fault> {
    check(&input)?;
    let mut calls = Calls::new();
    let (repositories, mut is_complete) = match named(&input) {
        Some(given) => (repositories::named(given)?, true),
        None => repositories::of_organization(&mut calls)?,
    };
    let mut search = Search::new(&input);
    let mut pages = VecDeque::new();
    for repository in repositories {
        pages.push_back(Page { path: first_page(&input, &repository)?, repository });
    }
    let searched = search.walk(pages, &mut calls)?;
    is_complete &= searched.is_complete;
    if let Some(fault) = search.first_fault.take()
        && search.errors.len() == searched.repositories.len()
    {
        return Err(fault);
    }
    let results = search.ranking.finish();
    let wanted = if input.summarize { search.matched.min(SHOWN_WITH_SUMMARY) } else { search.matched };
    let is_cut = results.len() < wanted || search.matched > MAX_RESULTS;
    let head =
        Head { total_count: search.matched, truncated: is_cut || !is_complete, repositories: searched.repositories };
    let summary = input.summarize.then(|| search.counted.summary());
    answer(&head, results, &Tail { errors: search.errors, summary })
}

/// The repositories that the caller names. `None` if the caller names no repositories.
fn named(input: &SearchIssues) -> Option<&[String]> {
    input.repositories.as_deref().filter(|given| !given.is_empty())
}

fn check(input: &SearchIssues) -> Result<(), Fault> {
    let mut violations = Vec::new();
    dates::check("since", input.since.as_ref(), &mut violations);
    dates::check("until", input.until.as_ref(), &mut violations);
    if let (Some(since), Some(until)) = (&input.since, &input.until)
        && since > until
    {
        let detail = "Give a day that is not after `until`.".to_owned();
        violations.push(Violation { pointer: "/since".to_owned(), detail });
    }
    if input.milestone.is_some() && named(input).is_none_or(|given| given.len() != 1) {
        let detail = "Give exactly one repository: each repository numbers its own milestones.".to_owned();
        violations.push(Violation { pointer: "/milestone".to_owned(), detail });
    }
    if violations.is_empty() { Ok(()) } else { Err(Fault::InvalidInput(violations)) }
}

/// Path and query of the first page of a repository's issues.
fn first_page(input: &SearchIssues, repository: &Repository) -> Result<String, Fault> {
    let mut request = github::issues(Method::Get, &repository.owner, &repository.name)?
        .query("state", &input.state)
        .query("sort", &input.sort);
    let labels = input.labels.as_ref().filter(|labels| !labels.is_empty()).map(|labels| labels.join(","));
    let given = [
        ("direction", input.direction.clone()),
        ("creator", input.creator.clone()),
        ("assignee", input.assignee.clone()),
        ("milestone", input.milestone.map(|number| number.to_string())),
        ("labels", labels),
        ("since", input.since.as_ref().map(|day| format!("{day}T00:00:00Z"))),
    ];
    for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        request = request.query(name, value);
    }
    Ok(request.query("per_page", github::MAX_PER_PAGE).path)
}

/// A running search.
struct Search<'a> {
    input: &'a SearchIssues,
    ranking: Ranking,
    /// The counts for the summary, if the caller wants one.
    counted: Counted,
    /// Number of issues that matched.
    matched: usize,
    /// Fingerprints of these issues. The list can shift between two requests, and an issue is then on two
    /// pages.
    seen: HashSet<u64>,
    errors: Vec<Failure>,
    /// The fault of the first repository that could not be read. It is the answer if no repository
    /// can be read.
    first_fault: Option<Fault>,
    /// Number of issues that were read.
    read: u32,
}

/// The extent of a search.
struct Searched {
    repositories: Vec<String>,
    /// `true` if all pages were read.
    is_complete: bool,
}

impl<'a> Search<'a> {
    fn new(input: &'a SearchIssues) -> Self {
        let is_ascending = input.direction.as_deref() == Some("asc");
        let shown = if input.summarize { SHOWN_WITH_SUMMARY } else { MAX_RESULTS };
        Self {
            input,
            ranking: Ranking::new(is_ascending, shown),
            counted: Counted::default(),
            matched: 0,
            seen: HashSet::new(),
            errors: Vec::new(),
            first_fault: None,
            read: 0,
        }
    }

    /// Reads the pages of all repositories, some in parallel, until each repository has no further
    /// page.
    fn walk(&mut self, mut pages: VecDeque<Page>, calls: &mut Calls) -> Result<Searched, Fault> {
        let mut searched = Vec::new();
        let count = pages.len();
        while !pages.is_empty() {
            // Each repository that is not read to its end has one page here.
            let done = count - pages.len();
            let message = format!("{done} of {count} repositories and {} issues are read", self.read);
            progress::report(done as f64 / count as f64, &message);
            let batch: Vec<Page> = pages.drain(..pages.len().min(PARALLEL)).collect();
            if self.read > MAX_READ || !calls.take(batch.len()) {
                return Ok(Searched { repositories: searched, is_complete: false });
            }
            let requests = batch.iter().map(|page| CONNECTOR.request(Method::Get, "api", page.path.as_str()));
            let requests: Vec<Request> = requests.collect::<Result<_, _>>()?;
            for (page, response) in batch.into_iter().zip(http::send_all(requests)) {
                let name = page.repository.full_name();
                if !searched.contains(&name) {
                    searched.push(name);
                }
                match response?.successful() {
                    Ok(response) => pages.extend(self.read(page, &response)?),
                    Err(Fault::Upstream(fault)) if matches!(fault.status, 403 | 404 | 410) => self.fail(&page, fault),
                    Err(fault) => return Err(fault),
                }
            }
        }
        Ok(Searched { repositories: searched, is_complete: true })
    }

    /// Counts the issues of a page, and adds the best of them to the results. Returns the next
    /// page.
    ///
    /// The response stays in the gateway. The connector reads the members that it needs, and the
    /// text of the issues it keeps.
    fn read(&mut self, page: Page, response: &Response) -> Result<Option<Page>, Fault> {
        let repository = page.repository.full_name();
        let issues = response.document()?;
        if issues.kind() != Kind::Array {
            return Err(github::not_understood("the response is not a list of issues"));
        }
        self.read += issues.length();
        for issue in issues.items() {
            let updated_at = text(&issue, "/updated_at")?;
            if issue.pointer("/pull_request").is_none() && !self.is_too_late(&updated_at) {
                self.take(&repository, &issue, updated_at)?;
            }
        }
        Ok(github::next_path(&page.path, response).map(|path| Page { path, ..page }))
    }

    /// The search includes the day `until`.
    fn is_too_late(&self, updated_at: &str) -> bool {
        let day = updated_at.split('T').next().unwrap_or_default();
        self.input.until.as_deref().is_some_and(|until| day > until)
    }

    /// Counts an issue that matches, and adds it to the results if it is among the best so far. Leaves
    /// out an issue that was on an earlier page.
    fn take(&mut self, repository: &str, issue: &Document, updated_at: String) -> Result<(), Fault> {
        let number = integer(issue, "/number")?;
        if !self.seen.insert(fingerprint::of([repository.as_bytes(), number.to_string().as_bytes()])) {
            return Ok(());
        }
        self.matched += 1;
        let key = match self.input.sort.as_str() {
            "created" => Key::Time(text(issue, "/created_at")?),
            "comments" => Key::Count(integer(issue, "/comments")?),
            _ => Key::Time(updated_at.clone()),
        };
        if self.input.summarize {
            self.counted.add(repository, Facts::of(issue, updated_at));
        }
        if !self.ranking.has_room(&key, repository, number) {
            return Ok(());
        }
        let not_understood = || github::not_understood("an issue is not an object");
        let fields = self.input.fields.as_deref().unwrap_or_default();
        let text = projection::issue(&issue.text(), repository, fields).ok_or_else(not_understood)?;
        let issue = Document::parse(&text).map_err(|_| not_understood())?;
        self.ranking.take(Found { key, repository: repository.to_owned(), number, issue, bytes: text.len() });
        Ok(())
    }

    fn fail(&mut self, page: &Page, fault: UpstreamFault) {
        #[derive(Deserialize)]
        struct Refusal {
            message: String,
        }
        let refusal = fault.body.as_deref().and_then(|body| serde_json::from_str::<Refusal>(body).ok());
        self.errors.push(Failure {
            repository: page.repository.full_name(),
            status: fault.status,
            message: refusal.map_or_else(|| fault.detail.clone(), |refusal| refusal.message),
        });
        self.first_fault.get_or_insert(Fault::Upstream(fault));
    }
}

fn text(issue: &Document, pointer: &str) -> Result<String, Fault> {
    issue.string(pointer).ok_or_else(|| github::not_understood(&format!("an issue has no `{pointer}`")))
}

fn integer(issue: &Document, pointer: &str) -> Result<u64, Fault> {
    let number = issue.pointer(pointer).and_then(|number| number.text().parse().ok());
    number.ok_or_else(|| github::not_understood(&format!("an issue has no `{pointer}`")))
}

/// Writes the answer into a buffer of sufficient size, because a buffer that grows needs up to
/// twice the memory. The gateway drops each issue after it is written.
fn answer(head: &Head, results: Vec<Found>, tail: &Tail) -> Result<Outcome, Fault> {
    let written = |error: serde_json::Error| Fault::Failed(error.to_string());
    let (head, tail) = (serde_json::to_string(head).map_err(written)?, serde_json::to_string(tail).map_err(written)?);
    let issues: usize = results.iter().map(|found| found.bytes + 1).sum();
    let mut json = String::with_capacity(head.len() + issues + tail.len() + 16);
    json.push_str(head.strip_suffix('}').unwrap_or_default());
    json.push_str(",\"issues\":[");
    for (index, found) in results.into_iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push_str(&found.issue.text());
    }
    json.push_str("],");
    json.push_str(tail.strip_prefix('{').unwrap_or_default());
    Ok(Outcome::Reply(json))
}
