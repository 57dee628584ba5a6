//! Preprints of arXiv. The service answers in Atom; callers get JSON.
//!
//! # Layout
//! - `search`, `daily`, `download`, `categories`: the operations.
//! - `feed`: Atom to papers. `paper`: what a paper is, and the form of its id.
//! - `query`: the service's query language. `dates`: its minutes in GMT.
//! - `service`: one call of the service's API.

mod categories;
mod daily;
mod dates;
mod download;
mod feed;
mod paper;
mod query;
mod search;
mod service;

use connector_sdk::connector;

connector! {
    /// Metadata, search and PDFs of the preprints of arXiv, by its API.
    ///
    /// The service asks for at most one request every three seconds over the whole installation, on a single connection. Calls
    /// wait for their turn; when the queue is too long, a call is refused as rate limited. PDFs are not kept.
    ///
    /// Settings: `contact` (an address that is added to the `User-Agent`), `max_download_mb` (largest PDF, default 50).
    connector preprint_archive "arXiv";

    auth Auth::None;

    upstream api "https://export.arxiv.org/api"
        pacing { interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 };
    upstream files "https://export.arxiv.org/pdf"
        redirects ["arxiv.org", "export.arxiv.org", "www.arxiv.org"]
        pacing { interval_ms: 3000, concurrency: 1, max_wait_ms: 15000 };

    /// Detailed metadata of a paper by id
    get_paper_metadata: read fn search::metadata {
        /// 2104.12255, 2104.12255v1 or hep-ex/0307015; the prefix arXiv: is dropped
        paper_id: string pattern r"^(arXiv:)?([a-z-]+(\.[A-Z]{2})?/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(v[0-9]+)?$",
    }
    example { paper_id: "2104.12255v1" };

    /// Search by query, category and other criteria; the Atom result is converted to JSON
    ///
    /// All criteria must hold; at least one is needed. `next_start` of the answer is the `start` of the next page, null at the end.
    search_papers: read fn search::papers {
        /// arXiv query syntax (ti: au: abs: co: jr: cat: rn: all: with AND, OR, ANDNOT) or plain words
        search_query?: string,
        /// one or several, any may match
        category?: string | [string],
        title?: string,
        author?: string,
        abstract?: string,
        /// YYYY-MM-DD or date-time
        submitted_after?: string,
        /// YYYY-MM-DD or date-time
        submitted_before?: string,
        id_list?: [string],
        start?: integer(0..) default 0,
        max_results?: integer(1..=2000) default 10,
        sort_by?: string one_of ["relevance", "lastUpdatedDate", "submittedDate"] default "relevance",
        sort_order?: string one_of ["ascending", "descending"] default "descending",
    }
    example {
        search_query: "all:electron",
        category: ["cs.LG", "stat.ML"],
        submitted_after: "2026-01-01",
        max_results: 20,
        sort_by: "submittedDate",
    };

    /// Download a paper as PDF
    download_paper: read fn download::pdf {
        /// 2104.12255, 2104.12255v1 or hep-ex/0307015; the prefix arXiv: is dropped
        paper_id: string pattern r"^(arXiv:)?([a-z-]+(\.[A-Z]{2})?/[0-9]{7}|[0-9]{4}\.[0-9]{4,5})(v[0-9]+)?$",
    }
    example { paper_id: "2104.12255v1" };

    /// List all categories
    get_categories: read fn categories::list no_envelope;

    /// Latest papers of given categories published in the last day
    ///
    /// The day is that of submission of the first version; a paper appears only after its nightly announcement, so the list can
    /// be short or empty. The name of an archive, such as cs, stands for all its categories.
    get_daily_updates: read fn daily::updates {
        categories: [string](1..=20),
        max_results?: integer(1..=2000) default 100,
    }
    example { categories: ["cs.AI", "cs.LG"], max_results: 50 };
}

#[cfg(test)]
mod operation_tests;
