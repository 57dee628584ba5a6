//! A stand-in for the preprint service: Atom feeds of papers that do not exist, and files that only
//! begin like a PDF.

use crate::{Reply, Seen, Upstream};

/// A small file that begins like a PDF.
pub const PDF: &[u8] = b"%PDF-1.5\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n";

/// The namespaces of the service's feeds.
const NAMESPACES: &str = r#"xmlns="http://www.w3.org/2005/Atom" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom""#;

/// Titles of papers that do not exist.
const TITLES: [&str; 6] = [
    "A Short Proof of a Long Lemma",
    "On Learning to Forget",
    "Electrons, Mostly",
    "How Many Roads: A Survey",
    "Sparse Attention, Dense Reading",
    "The Cat Is Fine: A Null Result",
];

/// An entry with every element that the service may send, and with white space as the service sends
/// it.
pub const FULL_ENTRY: &str = r#"
  <entry>
    <id>http://arxiv.org/abs/2401.00001v2</id>
    <title>On the Sum of
  Two &amp; More Things</title>
    <updated>2024-02-01T09:30:00Z</updated>
    <link href="https://arxiv.org/abs/2401.00001v2" rel="alternate" type="text/html"/>
    <link href="http://arxiv.org/pdf/2401.00001v2" rel="related" type="application/pdf" title="pdf"/>
    <link href="http://dx.doi.org/10.1000/example.1" rel="related" title="doi"/>
    <summary>  We add things,
    and count &lt;them&gt;.  </summary>
    <category term="math.CO" scheme="http://arxiv.org/schemas/atom"/>
    <category term="cs.DM" scheme="http://arxiv.org/schemas/atom"/>
    <published>2024-01-01T00:00:01Z</published>
    <arxiv:comment>12 pages,
  3 figures</arxiv:comment>
    <arxiv:journal_ref>Journal of Examples 1 (2024) 1-12</arxiv:journal_ref>
    <arxiv:primary_category term="math.CO"/>
    <arxiv:doi>10.1000/example.1</arxiv:doi>
    <author>
      <name>Ada Example</name>
      <arxiv:affiliation>University of Examples</arxiv:affiliation>
    </author>
    <author>
      <name>Émile Sample</name>
    </author>
  </entry>"#;

/// An entry with only the elements that every entry has.
pub fn entry(id: &str, title: &str, category: &str, published: &str) -> String {
    format!(
        r#"
  <entry>
    <id>http://arxiv.org/abs/{id}</id>
    <title>{title}</title>
    <updated>{published}</updated>
    <link href="https://arxiv.org/abs/{id}" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/{id}" rel="related" type="application/pdf" title="pdf"/>
    <summary>About {title}.</summary>
    <category term="{category}" scheme="http://arxiv.org/schemas/atom"/>
    <published>{published}</published>
    <arxiv:primary_category term="{category}"/>
    <author>
      <name>Ada Example</name>
    </author>
  </entry>"#
    )
}

/// A feed of entries.
pub fn feed(total: usize, start: usize, page: usize, entries: &[String]) -> String {
    format!(
        r"<?xml version='1.0' encoding='UTF-8'?>
<feed {NAMESPACES}>
  <id>https://arxiv.org/api/example</id>
  <title>arXiv Query: an example</title>
  <updated>2024-03-01T00:00:00Z</updated>
  <opensearch:itemsPerPage>{page}</opensearch:itemsPerPage>
  <opensearch:totalResults>{total}</opensearch:totalResults>
  <opensearch:startIndex>{start}</opensearch:startIndex>{}
</feed>
",
        entries.concat()
    )
}

/// The service's form of an error.
pub fn error_feed(complaint: &str) -> String {
    format!(
        r"<?xml version='1.0' encoding='UTF-8'?>
<feed {NAMESPACES}>
  <id>https://arxiv.org/</id>
  <title>arXiv Search Results</title>
  <updated>2024-03-01T00:00:00Z</updated>
  <opensearch:itemsPerPage>1</opensearch:itemsPerPage>
  <opensearch:totalResults>1</opensearch:totalResults>
  <opensearch:startIndex>0</opensearch:startIndex>
  <entry>
    <id>https://arxiv.org/api/errors#{}</id>
    <title>Error</title>
    <updated>2024-03-01T00:00:00Z</updated>
    <summary>{complaint}</summary>
    <author><name>arXiv api core</name></author>
  </entry>
</feed>
",
        complaint.replace(' ', "_")
    )
}

/// A feed as an answer.
pub fn atom(feed: String) -> Reply {
    Reply::typed("application/atom+xml; charset=utf-8", feed)
}

/// Starts the stand-in. `/api/query` knows one paper by its identifier and finds `papers` papers in
/// a search; `/pdf/…` serves the paper's file.
pub fn start(papers: usize) -> Upstream {
    let upstream = Upstream::start();
    upstream
        .on("/api/query", move |seen| query(seen, papers))
        .reply("/pdf/2401.00001v2", Reply::typed("application/pdf", PDF))
        .reply("/pdf/hep-ex/0307015", Reply::typed("application/pdf", PDF))
        .reply("*", Reply::typed("text/html", "<html>no such page</html>").status(404));
    upstream
}

fn query(seen: &Seen, papers: usize) -> Reply {
    let number = |name: &str, default: usize| {
        seen.parameter(name).map_or(default, |text| text.parse().expect("a number in the query"))
    };
    match seen.parameter("id_list").as_deref() {
        Some("2401.00001v2" | "2401.00001") => return atom(feed(1, 0, 1, &[FULL_ENTRY.to_owned()])),
        Some("2401.99999") => return atom(feed(0, 0, 1, &[])),
        Some(id) if id.contains("0000000") => {
            return atom(error_feed(&format!("incorrect id format for {id}"))).status(400);
        }
        _ => {}
    }
    let (start, page) = (number("start", 0), number("max_results", 10));
    let numbers = start..papers.min(start + page);
    let entries: Vec<String> = numbers.map(numbered).collect();
    atom(feed(papers, start, page, &entries))
}

/// The paper at this position of a search.
pub fn numbered(number: usize) -> String {
    let category = if number.is_multiple_of(2) { "cs.LG" } else { "stat.ML" };
    let minute = 59 - number / 60 % 60;
    entry(
        &format!("2402.{number:05}v1"),
        TITLES[number % TITLES.len()],
        category,
        &format!("2024-02-29T12:{minute:02}:00Z"),
    )
}
