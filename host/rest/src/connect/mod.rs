//! Links to a page on which an end user connects accounts, and that page.
//!
//! - [`links`]: the routes of applications, which make links and look at them
//! - [`visit`]: the page: what a browser gets and sends
//! - [`returning`]: the browser that comes back from a provider
//! - [`browser`]: the cookie that makes a link one browser's
//! - [`form`]: the form of the page, as a browser sends it
//! - [`page`]: the pages as HTML
//! - [`link_page`]: the page of a link as HTML, with the connectors and the forms for accounts
//! - [`words`]: every text of the pages

mod browser;
mod form;
mod link_page;
mod links;
mod page;
mod returning;
mod visit;
mod words;

pub use self::links::{create_link, delete_link, get_link, link_record, links_unavailable, make_link};
pub(super) use self::page::{message_in, message_page_of};
pub use self::page::{message_page, redirect};
pub(super) use self::returning::{check_return, return_to_page};
pub use self::visit::{get_style, open_page, send_form};
pub(super) use self::words::Words;
