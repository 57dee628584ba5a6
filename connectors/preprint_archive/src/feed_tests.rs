//! Feeds in the forms that arXiv sends.

use super::parse;
use crate::paper::{Author, Category};

/// A page with one paper that has every element.
const FULL: &str = r#"<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/abcdefg</id>
  <title>arXiv Query: search_query=all:zero&amp;id_list=&amp;start=0&amp;max_results=1</title>
  <updated>2026-04-12T22:09:25Z</updated>
  <link href="https://arxiv.org/api/query?search_query=all:zero&amp;start=0" type="application/atom+xml"/>
  <opensearch:itemsPerPage>1</opensearch:itemsPerPage>
  <opensearch:totalResults>7</opensearch:totalResults>
  <opensearch:startIndex>3</opensearch:startIndex>
  <entry>
    <id>http://arxiv.org/abs/hep-ex/0307015v2</id>
    <title>Zero &amp; one:
      a &lt;short&gt; &#x201c;history&#8221;</title>
    <updated>2007-06-25T17:09:59-04:00</updated>
    <link href="http://arxiv.org/abs/hep-ex/0307015v2" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/hep-ex/0307015v2" rel="related" type="application/pdf"/>
    <link rel="related" href="https://doi.org/10.1000/a?b=1&amp;c=2" title="doi"/>
    <summary><![CDATA[  We show x < y & z.
  ]]></summary>
    <category term="hep-ex" scheme="http://arxiv.org/schemas/atom"/>
    <category term="I.2.6"/>
    <published>2003-07-07T13:46:39-04:00</published>
    <arxiv:comment>  23 pages,
      8 figures </arxiv:comment>
    <arxiv:primary_category term="hep-ex"/>
    <arxiv:journal_ref>J. of  Things 1 (2003)</arxiv:journal_ref>
    <author><name>Ada Example</name><arxiv:affiliation>Here</arxiv:affiliation><arxiv:affiliation>There</arxiv:affiliation></author>
    <author><name>Bo Example</name></author>
    <arxiv:doi>10.1000/a</arxiv:doi>
  </entry>
</feed>"#;

#[test]
fn a_paper_with_every_element_is_read() {
    let feed = parse(FULL).expect("a feed");
    assert_eq!((feed.total_results, feed.start, feed.items_per_page), (7, 3, 1));
    assert_eq!(feed.updated.as_deref(), Some("2026-04-12T22:09:25Z"));
    assert!(feed.error.is_none());
    let [paper] = feed.papers.as_slice() else { panic!("one paper") };
    assert_eq!(
        (paper.id.as_str(), paper.base_id.as_str(), paper.version),
        ("hep-ex/0307015v2", "hep-ex/0307015", Some(2))
    );
    assert_eq!(paper.title, "Zero & one: a <short> \u{201c}history\u{201d}");
    assert_eq!(paper.summary, "We show x < y & z.");
    assert_eq!(
        (paper.published.as_str(), paper.updated.as_str()),
        ("2003-07-07T13:46:39-04:00", "2007-06-25T17:09:59-04:00")
    );
    let author = |name: &str, affiliation: Option<&str>| Author {
        name: name.to_owned(),
        affiliation: affiliation.map(str::to_owned),
    };
    assert_eq!(paper.authors, [author("Ada Example", Some("Here; There")), author("Bo Example", None)]);
    let scheme = Some("http://arxiv.org/schemas/atom".to_owned());
    assert_eq!(
        paper.categories,
        [Category { term: "hep-ex".to_owned(), scheme }, Category { term: "I.2.6".to_owned(), scheme: None }]
    );
    assert_eq!(paper.primary_category.as_deref(), Some("hep-ex"));
    assert_eq!(paper.comment.as_deref(), Some("23 pages, 8 figures"));
    assert_eq!(paper.journal_ref.as_deref(), Some("J. of Things 1 (2003)"));
    assert_eq!(paper.doi.as_deref(), Some("10.1000/a"));
    assert_eq!(paper.links.abstract_page.as_deref(), Some("https://arxiv.org/abs/hep-ex/0307015v2"));
    assert_eq!(paper.links.pdf.as_deref(), Some("https://arxiv.org/pdf/hep-ex/0307015v2"));
    assert_eq!(paper.links.doi.as_deref(), Some("https://doi.org/10.1000/a?b=1&c=2"));
}

#[test]
fn prefixes_and_the_order_of_elements_do_not_matter() {
    let xml = r#"<a:feed xmlns:a="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/opensearch/1.1/">
        <a:entry>
            <x:comment xmlns:x="http://arxiv.org/schemas/atom">c</x:comment>
            <comment xmlns="http://elsewhere.example">not this one</comment>
            <a:author><a:name>N</a:name></a:author>
            <a:title>T</a:title>
            <a:id>https://arxiv.org/abs/2104.12255v1</a:id>
        </a:entry>
        <o:totalResults> 1 </o:totalResults>
    </a:feed>"#;
    let feed = parse(xml).expect("a feed");
    assert_eq!(feed.total_results, 1);
    let [paper] = feed.papers.as_slice() else { panic!("one paper") };
    assert_eq!((paper.id.as_str(), paper.title.as_str(), paper.comment.as_deref()), ("2104.12255v1", "T", Some("c")));
    assert_eq!(paper.authors.len(), 1);
}

#[test]
fn an_empty_feed_has_no_papers() {
    let xml = r#"<feed xmlns="http://www.w3.org/2005/Atom"><updated>2026-04-12T22:09:26Z</updated></feed>"#;
    let feed = parse(xml).expect("a feed");
    assert!(feed.papers.is_empty() && feed.error.is_none());
}

#[test]
fn an_error_entry_is_not_a_paper() {
    let xml = r#"<feed xmlns="http://www.w3.org/2005/Atom"><entry>
        <id>https://arxiv.org/api/errors#incorrect_id_format_for_abc</id><title>Error</title>
        <summary>incorrect id format for abc</summary><author><name>arXiv api core</name></author>
    </entry></feed>"#;
    let feed = parse(xml).expect("a feed");
    assert!(feed.papers.is_empty());
    assert_eq!(feed.error.as_deref(), Some("incorrect id format for abc"));
}

#[test]
fn a_text_that_is_not_a_complete_feed_is_refused() {
    let broken = &FULL[..FULL.len() - 20];
    for xml in ["", "Rate exceeded.", "<html><body>busy</body></html>", "<feed></feed>", "<feed xmlns='x'/>", broken] {
        assert!(parse(xml).is_err(), "{xml}");
    }
}

/// Reads recorded responses if the environment variable `SPECS_DIR` names their directory. Each
/// file is `{"status_code", "body"}`.
#[test]
fn recorded_responses_are_read() {
    let Ok(directory) = std::env::var("SPECS_DIR") else { return };
    let samples = std::path::Path::new(&directory).join("arxiv/samples");
    let mut papers = 0;
    for file in std::fs::read_dir(&samples).expect("the directory of the samples") {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file");
        let sample: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let feed = parse(sample["body"].as_str().expect("a body")).unwrap_or_else(|_| panic!("{}", path.display()));
        assert_eq!(feed.error.is_some(), sample["status_code"] == 400, "{}", path.display());
        for paper in &feed.papers {
            assert!(!paper.title.is_empty() && !paper.authors.is_empty() && paper.version.is_some(), "{paper:?}");
            assert!(paper.links.abstract_page.as_deref().is_some_and(|link| link.starts_with("https://")), "{paper:?}");
        }
        papers += feed.papers.len();
    }
    assert!(papers > 0, "no papers in {}", samples.display());
}
