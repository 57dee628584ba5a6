//! The operations that write a message. They check the parts that the caller gives, and Gmail gets
//! the whole message.

use connector_sdk::http::Method;
use connector_sdk::input::{Json, OneOrMany};
use connector_sdk::{Fault, Outcome, Request, Violation};

use crate::address::Address;
use crate::attachment::Attachment;
use crate::delivery::{self, Resource};
use crate::mime::Message;
use crate::{CreateDraft, MessagesSend, UpdateDraft};

/// Gmail's path of drafts.
const DRAFTS: &str = "/users/me/drafts";

/// Maximum length of a Message-ID. With the name of its header it fits in a line (RFC 5322, section
/// 2.1.1).
const MAX_MESSAGE_ID: usize = 900;

/// The fields that all operations here have.
struct Content {
    to: Vec<String>,
    cc: Vec<String>,
    bcc: Vec<String>,
    sender: Option<String>,
    subject: Option<String>,
    body: Option<String>,
    attachments: Vec<Json>,
    in_reply_to: Option<String>,
}

/// The content of an operation's input. Each operation has its own input type.
macro_rules! content {
    ($input:ident) => {
        Content {
            to: addresses($input.to),
            cc: addresses($input.cc),
            bcc: addresses($input.bcc),
            sender: $input.sender,
            subject: $input.subject.filter(|subject| !subject.is_empty()),
            body: $input.body.filter(|body| !body.is_empty()),
            attachments: $input.attachments.unwrap_or_default(),
            in_reply_to: $input.in_reply_to,
        }
    };
}

pub(crate) fn create_draft(input: CreateDraft) -> Result<Outcome, Fault> {
    let request = Request::post("api", DRAFTS);
    let message = draft(content!(input))?;
    delivery::with_message(request, Resource::Draft, message, input.thread_id.as_deref()).map(Outcome::Forward)
}

pub(crate) fn update_draft(input: UpdateDraft) -> Result<Outcome, Fault> {
    let request = Request::new(Method::Put, "api", DRAFTS).segment("draft_id", &input.draft_id)?;
    let message = draft(content!(input))?;
    delivery::with_message(request, Resource::Draft, message, input.thread_id.as_deref()).map(Outcome::Forward)
}

pub(crate) fn messages_send(input: MessagesSend) -> Result<Outcome, Fault> {
    let request = Request::post("api", "/users/me/messages/send");
    let content = content!(input);
    if !content.has_recipient() {
        return Err(Fault::invalid_input("", "Give at least one recipient in `to`, `cc` or `bcc`."));
    }
    let message = content.message()?;
    delivery::with_message(request, Resource::Message, message, input.thread_id.as_deref()).map(Outcome::Forward)
}

/// The message of a draft.
fn draft(content: Content) -> Result<String, Fault> {
    if !content.has_recipient() && content.subject.is_none() && content.body.is_none() {
        return Err(Fault::invalid_input("", "Give at least one of `to`, `cc`, `bcc`, `subject` and `body`."));
    }
    content.message()
}

fn addresses(given: Option<OneOrMany>) -> Vec<String> {
    given.map(|addresses| addresses.0).unwrap_or_default()
}

impl Content {
    fn has_recipient(&self) -> bool {
        !(self.to.is_empty() && self.cc.is_empty() && self.bcc.is_empty())
    }

    /// The text of the message.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] with every field that is wrong.
    fn message(self) -> Result<String, Fault> {
        let mut wrong = Violations(Vec::new());
        let message = Message {
            from: self.sender.iter().filter_map(|sender| wrong.address("/sender".to_owned(), sender)).collect(),
            to: wrong.addresses("/to", &self.to),
            cc: wrong.addresses("/cc", &self.cc),
            bcc: wrong.addresses("/bcc", &self.bcc),
            subject: self.subject.as_deref(),
            in_reply_to: self.in_reply_to.as_deref(),
            body: self.body.as_deref(),
            attachments: wrong.attachments(&self.attachments),
        };
        if message.subject.is_some_and(|subject| subject.contains(['\r', '\n'])) {
            wrong.add("/subject", "Give a subject without line breaks.");
        }
        if message.in_reply_to.is_some_and(|id| !is_message_id(id)) {
            wrong.add("/in_reply_to", "Give one Message-ID with its angle brackets, such as `<id@example.com>`.");
        }
        if !wrong.0.is_empty() {
            return Err(Fault::InvalidInput(wrong.0));
        }
        message.write().map_err(|_| Fault::Failed("the message could not be written".to_owned()))
    }
}

/// The fields that are wrong.
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, pointer: impl Into<String>, detail: &str) {
        self.0.push(Violation { pointer: pointer.into(), detail: detail.to_owned() });
    }

    fn address<'a>(&mut self, pointer: String, text: &'a str) -> Option<Address<'a>> {
        let address = Address::parse(text);
        if address.is_none() {
            self.add(
                pointer,
                "Give one address, such as `kim@example.com` or `Kim <kim@example.com>`. Put a name with a comma or another special \
                 character in double quotes. Write a domain that is not ASCII in its ASCII form.",
            );
        }
        address
    }

    /// The list may have been given as one text, so a list with one item is named as a whole.
    fn addresses<'a>(&mut self, pointer: &str, texts: &'a [String]) -> Vec<Address<'a>> {
        let item = |index| if texts.len() == 1 { pointer.to_owned() } else { format!("{pointer}/{index}") };
        texts.iter().enumerate().filter_map(|(index, text)| self.address(item(index), text)).collect()
    }

    fn attachments<'a>(&mut self, files: &'a [Json]) -> Vec<Attachment<'a>> {
        let mut attachments = Vec::with_capacity(files.len());
        for (index, file) in files.iter().enumerate() {
            match Attachment::read(file, &format!("/attachments/{index}")) {
                Ok(attachment) => attachments.push(attachment),
                Err(violation) => self.0.push(violation),
            }
        }
        attachments
    }
}

/// Returns `true` for a Message-ID in angle brackets.
fn is_message_id(text: &str) -> bool {
    let id = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    let is_character = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>');
    id.is_some_and(|id| (1..=MAX_MESSAGE_ID).contains(&id.len()) && id.bytes().all(is_character))
}
