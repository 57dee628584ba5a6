//! Preprints of arXiv. arXiv answers with Atom; callers get JSON.
//!
//! # Layout
//! - `search`: the search, and the metadata of one paper.
//! - `daily`: the papers of the last 24 hours.
//! - `download`: the PDF of a paper.
//! - `categories`: arXiv's categories.
//! - `feed`: reads papers from Atom.
//! - `paper`: a paper and its id.
//! - `query`: arXiv's query language.
//! - `dates`: the times in a query.
//! - `service`: requests to arXiv.
//! - `triggers`: new papers, as events.

mod categories;
mod daily;
mod dates;
mod download;
mod feed;
mod paper;
mod query;
mod search;
mod service;
mod triggers;

use connector_sdk::connector;

connector! {
    /// Metadata, search and PDFs of the preprints of arXiv.
    ///
    /// arXiv allows one request every three seconds for the whole installation, on a single
    /// connection. Calls wait in a queue. A call that would wait longer than 15 seconds is refused
    /// as rate limited. The gateway does not store PDFs.
    connector preprint_archive "arXiv";
    icon "../icon.svg";
    answer_examples "answers.json";

    auth Auth::None;

    upstream api "https://export.arxiv.org/api"
        pacing { interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 };
    upstream files "https://export.arxiv.org/pdf"
        links ["arxiv.org", "www.arxiv.org"]
        pacing { interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 };

    triggers triggers::TRIGGERS;
    read_new_papers: internal read fn triggers::new_papers;

    /// Address of the operator, for example `mailto:ops@example.org`. The connector adds it to the
    /// header `User-Agent`, because arXiv asks its users to say who they are.
    setting contact: string(1..);
    /// Maximum size of a PDF, in MiB.
    setting max_download_mb: integer(1..) default 50;

    fields paper {
        /// 2104.12255, 2104.12255v1 or hep-ex/0307015; the prefix arXiv: is dropped
        paper_id: string pattern r"^(arXiv:)?([a-z-]+(\.[A-Z]{2})?/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(v[0-9]+)?$",
    };

    /// Detailed metadata of a paper by id
    get_paper_metadata: read fn search::metadata { ..paper }
    example { paper_id: "2104.12255v1" };

    /// Search by query, category and other criteria; the Atom result is converted to JSON
    ///
    /// A call needs at least one criterion, and a paper must match all criteria. `next_start` of
    /// the answer is the `start` of the next page. It is null on the last page.
    search_papers: read fn search::papers {
        /// arXiv query syntax (ti: au: abs: co: jr: cat: rn: all: with AND, OR, ANDNOT) or plain words
        search_query?: string,
        /// one or several, any may match
        category?: string | [string],
        /// words of the title
        title?: string,
        /// name of an author
        author?: string,
        /// words of the abstract
        abstract?: string,
        /// YYYY-MM-DD or date-time
        submitted_after?: string,
        /// YYYY-MM-DD or date-time
        submitted_before?: string,
        /// ids such as 2104.12255
        id_list?: [string] pattern r"^[^,]*[^,\s][^,]*$",
        /// number of papers to skip
        start?: integer(0..) default 0,
        /// most papers in the answer
        max_results?: integer(1..=2000) default 10,
        /// key of the order
        sort_by?: string one_of ["relevance", "lastUpdatedDate", "submittedDate"] default "relevance",
        /// direction of the order
        sort_order?: string one_of ["ascending", "descending"] default "descending",
    }
    example {
        search_query: "all:electron",
        category: ["cs.LG", "stat.ML"],
        submitted_after: "2026-01-01",
        max_results: 20,
        sort_by: "submittedDate",
    }
    pages "/papers" next cursor "/next_start" into "/start";

    /// Download a paper as PDF
    download_paper: read fn download::pdf { ..paper }
    example { paper_id: "2104.12255v1" }
    answers file;

    /// List all categories
    get_categories: read fn categories::list no_envelope;

    /// Latest papers of given categories published in the last day
    ///
    /// The time of the submission of the first version counts. A paper appears only after its
    /// nightly announcement, so the list can be short or empty. The name of an archive, such as
    /// `cs`, means all its categories.
    get_daily_updates: read fn daily::updates {
        /// such as cs.AI, or an archive such as cs
        categories: [string](1..=20) pattern "^[A-Za-z0-9.-]+$",
        /// most papers in the answer
        max_results?: integer(1..=2000) default 100,
    }
    example { categories: ["cs.AI", "cs.LG"], max_results: 50 };
}

#[cfg(test)]
mod operation_tests;
#[cfg(test)]
mod trigger_tests;
