//! The content of a message.
//!
//! Teams shows mentions and attachments only in HTML. A tag with the id of a mention or attachment
//! marks its position.

use connector_sdk::http::Body;
use connector_sdk::json::{quoted, with_member};
use connector_sdk::{Document, Fault, Outcome, Request};
use html_escape::{encode_double_quoted_attribute, encode_text};

/// Posts a message with the tags that its mentions and attachments need.
///
/// # Errors
/// [`Fault::InvalidInput`] if the message is empty, or if a mention has no tag.
pub(crate) fn post(mut request: Request) -> Result<Outcome, Fault> {
    if let Some(Body::Json(message)) = &mut request.body
        && let Some(tagged) = tagged(message)?
    {
        *message = tagged;
    }
    Ok(Outcome::Forward(request))
}

/// The message with all tags, in HTML. `None` if the message needs no tags.
fn tagged(message: &str) -> Result<Option<String>, Fault> {
    let parsed = Document::parse(message).map_err(Fault::Failed)?;
    let content = parsed.string("/body/content").unwrap_or_default();
    let mentions = Tag::all(&parsed, "/mentions", "at");
    let attachments = Tag::all(&parsed, "/attachments", "attachment");
    let has = |list: &str| parsed.pointer(list).is_some_and(|list| list.length() > 0);
    if content.is_empty() && !has("/attachments") {
        return Err(Fault::invalid_input("/content", "Give a content that is not empty, or attachments."));
    }
    if !has("/mentions") && !has("/attachments") {
        return Ok(None);
    }
    let mut html = if parsed.string("/body/contentType").as_deref() == Some("html") {
        content
    } else {
        escaped(&content, &mentions, &attachments)
    };
    if let Some(mention) = mentions.iter().find(|mention| !html.contains(&mention.start)) {
        let Tag { index, start, .. } = mention;
        let detail = format!("Put the tag `{start}>…</at>` around a name in `content`, or leave out this mention.");
        return Err(Fault::invalid_input(format!("/mentions/{index}"), detail));
    }
    for attachment in &attachments {
        if !html.contains(&attachment.start) {
            html.push_str(&attachment.start);
            html.push_str("></attachment>");
        }
    }
    let body = parsed.pointer("/body").map_or_else(|| "{}".to_owned(), |body| body.text());
    let body = with_member(&body, "contentType", "\"html\"");
    let body = body.and_then(|body| with_member(&body, "content", &quoted(&html)));
    Ok(body.and_then(|body| with_member(message, "body", &body)))
}

/// The tag of a mention or attachment.
struct Tag {
    /// Position of the mention or attachment in its list.
    index: u32,
    /// The tag up to the quote after the id, for example `<at id="0"`.
    start: String,
}

impl Tag {
    /// The tags of the items that have an id. Microsoft refuses an item without the required id.
    fn all(message: &Document, list: &str, name: &str) -> Vec<Self> {
        let Some(items) = message.pointer(list) else { return Vec::new() };
        let ids = (0..).zip(items.items()).filter_map(|(index, item)| Some((index, item.pointer("/id")?)));
        ids.filter(|(_, id)| id.text() != "null")
            .map(|(index, id)| {
                // A mention's id is a number, an attachment's id is a string.
                let id = id.as_string().unwrap_or_else(|| id.text());
                Self { index, start: format!("<{name} id=\"{}\"", encode_double_quoted_attribute(&id)) }
            })
            .collect()
    }
}

/// Text as HTML. The tags of the given mentions and attachments remain tags, and line breaks become
/// `<br>`.
fn escaped(text: &str, mentions: &[Tag], attachments: &[Tag]) -> String {
    let mut html = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tagged) = rest.split_at(start);
        html.push_str(&encoded(before));
        if let Some((mention, name, after)) = mentions.iter().find_map(|mention| split_mention(mention, tagged)) {
            html.extend([&mention.start, ">", &encoded(name), "</at>"]);
            rest = after;
        } else if let Some((attachment, after)) = attachments.iter().find_map(|tag| split_attachment(tag, tagged)) {
            html.extend([&attachment.start, "></attachment>"]);
            rest = after;
        } else {
            let (bracket, after) = tagged.split_at(1);
            html.push_str(&encoded(bracket));
            rest = after;
        }
    }
    html.push_str(&encoded(rest));
    html
}

/// The name in a mention's tag, and the text after the tag.
fn split_mention<'a>(mention: &'a Tag, text: &'a str) -> Option<(&'a Tag, &'a str, &'a str)> {
    let (name, after) = text.strip_prefix(&mention.start)?.strip_prefix('>')?.split_once("</at>")?;
    Some((mention, name, after))
}

/// The text after an attachment's tag.
fn split_attachment<'a>(attachment: &'a Tag, text: &'a str) -> Option<(&'a Tag, &'a str)> {
    Some((attachment, text.strip_prefix(&attachment.start)?.strip_prefix("></attachment>")?))
}

fn encoded(text: &str) -> String {
    encode_text(text).replace("\r\n", "<br>").replace(['\r', '\n'], "<br>")
}

#[cfg(test)]
mod tests {
    use connector_sdk::Fault;
    use connector_sdk::testing::Gateway;

    use super::tagged;

    /// The content in HTML of a message in text.
    fn html(content: &str, mentions: &str, attachments: &str) -> String {
        let _gateway = Gateway::new();
        let content = connector_sdk::json::quoted(content);
        let message =
            format!(r#"{{"body":{{"content":{content}}},"mentions":{mentions},"attachments":{attachments}}}"#);
        let tagged = tagged(&message).expect("a message").expect("tags");
        let message: Vec<_> = connector_sdk::json::members(&tagged).expect("an object");
        let body = connector_sdk::json::members(message[0].1).expect("an object");
        assert_eq!(body[1], ("contentType".into(), "\"html\""));
        connector_sdk::input::FromJson::from_json(body[0].1).expect("text")
    }

    fn refused(message: &str) -> (String, String) {
        let _gateway = Gateway::new();
        let Err(Fault::InvalidInput(violations)) = tagged(message) else { panic!("a refusal of {message}") };
        (violations[0].pointer.clone(), violations[0].detail.clone())
    }

    #[test]
    fn text_without_mentions_and_attachments_is_sent_as_it_is() {
        let _gateway = Gateway::new();
        for message in [
            r#"{"body":{"content":"1 < 2\n<at id=\"0\">Kim</at>"}}"#,
            r#"{"body":{"content":"<b>2.1</b>","contentType":"html"},"subject":"s"}"#,
            r#"{"body":{"content":"a"},"mentions":[],"attachments":[]}"#,
        ] {
            assert!(matches!(tagged(message), Ok(None)), "{message}");
        }
    }

    #[test]
    fn text_with_mentions_becomes_html() {
        for (content, expected) in [
            (r#"Hi <at id="0">Kim & Co</at>, 1 < 2"#, r#"Hi <at id="0">Kim &amp; Co</at>, 1 &lt; 2"#),
            ("a\nb\r\nc\rd <at id=\"0\">\n</at>", "a<br>b<br>c<br>d <at id=\"0\"><br></at>"),
            (
                r#"<b>x</b> <at id="1">Bo</at> <at id="0"><i>Kim</i></at> </at> <ü"#,
                r#"&lt;b&gt;x&lt;/b&gt; &lt;at id="1"&gt;Bo&lt;/at&gt; <at id="0">&lt;i&gt;Kim&lt;/i&gt;</at> &lt;/at&gt; &lt;ü"#,
            ),
            (r#"<at id="0">K</at><at id="0">K</at>"#, r#"<at id="0">K</at><at id="0">K</at>"#),
        ] {
            assert_eq!(html(content, r#"[{"id":0,"mentionText":"Kim"}]"#, "[]"), expected);
        }
    }

    #[test]
    fn tags_of_attachments_stay_or_are_appended() {
        let attachments = r#"[{"id":"a1","contentType":"reference"},{"id":"b\"2"}]"#;
        assert_eq!(
            html(r#"See <attachment id="a1"></attachment> & <attachment id="c3"></attachment>"#, "[]", attachments),
            r#"See <attachment id="a1"></attachment> &amp; &lt;attachment id="c3"&gt;&lt;/attachment&gt;<attachment id="b&quot;2"></attachment>"#
        );
        assert_eq!(
            html("", "[]", attachments),
            r#"<attachment id="a1"></attachment><attachment id="b&quot;2"></attachment>"#
        );
    }

    #[test]
    fn html_of_the_caller_stays() {
        let _gateway = Gateway::new();
        let message = r#"{"body":{"content":"<p>Hi <at id=\"7\">Kim</at>\n</p>","contentType":"html"},"importance":"high","mentions":[{"id":7}],"attachments":[{"id":"a"},{"contentType":"x"}]}"#;
        let expected = r#"{"body":{"content":"<p>Hi <at id=\"7\">Kim</at>\n</p><attachment id=\"a\"></attachment>","contentType":"html"},"importance":"high","mentions":[{"id":7}],"attachments":[{"id":"a"},{"contentType":"x"}]}"#;
        assert_eq!(tagged(message).expect("a message").as_deref(), Some(expected));
    }

    #[test]
    fn a_mention_without_its_tag_is_refused() {
        for (content, content_type) in
            [("Hi Kim", "text"), (r#"<at id=\"1\">Kim"#, "text"), ("<at id=1>Kim</at>", "html"), ("", "html")]
        {
            let message = format!(
                r#"{{"body":{{"content":"<at id=\"0\">Bo</at>{content}","contentType":"{content_type}"}},"mentions":[{{"id":0}},{{"id":1}}]}}"#
            );
            let (pointer, detail) = refused(&message);
            assert_eq!(pointer, "/mentions/1", "{content}");
            assert!(detail.contains(r#"`<at id="1">…</at>`"#), "{detail}");
        }
    }

    #[test]
    fn an_empty_message_is_refused() {
        for message in [
            r#"{"body":{"content":""}}"#,
            r#"{"body":{"content":"","contentType":"html"},"subject":"s","attachments":[]}"#,
            r#"{"body":{"content":""},"mentions":[{"id":0}]}"#,
        ] {
            assert_eq!(refused(message).0, "/content");
        }
    }
}
