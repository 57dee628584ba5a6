//! The functions of the contract, as the test's gateway implements them. They have the same
//! signatures as the generated functions.

pub(crate) mod http {
    use std::rc::Rc;

    use contract_rules::{Broken, header, limit, link, path};

    use crate::http::{Error, Request};
    use crate::json::Kind;
    use crate::testing::{Answer, State, current, document::Document, recording::asked};

    /// A prepared response.
    #[derive(Clone, Debug)]
    pub struct Response(Answer);

    /// An address of a response, as the response gave it.
    #[derive(Clone, Debug)]
    pub(crate) struct Link(pub(crate) String);

    pub(crate) fn send(request: Request) -> Result<Response, Error> {
        let state = current();
        let mut state = state.borrow_mut();
        check(&state, &request)?;
        let unprepared = format!("the test has no answer for {} {}", request.upstream, request.path);
        let request = Rc::new(request);
        state.requests.push(Rc::clone(&request));
        let parts = state.parts(request.body.as_ref()).map(<[_]>::to_vec);
        if let Some(recorded) = &mut state.recorded {
            let answer = recorded.take(&asked(&request, parts.as_deref())).map_err(Error::Denied)?;
            return Ok(Response(answer.into()));
        }
        state.answers.pop_front().unwrap_or(Err(Error::Failed(unprepared))).map(Response)
    }

    pub(crate) fn send_all(requests: Vec<Request>) -> Vec<Result<Response, Error>> {
        let too_many = requests.len() > limit::PARALLEL_REQUESTS;
        let refused =
            || Err(Error::InvalidRequest(format!("at most {} requests in parallel", limit::PARALLEL_REQUESTS)));
        requests.into_iter().map(|request| if too_many { refused() } else { send(request) }).collect()
    }

    /// The rules of `request` that do not need the gateway.
    pub(in crate::testing) fn check(state: &State, request: &Request) -> Result<(), Error> {
        let invalid = |broken: Broken| Error::InvalidRequest(broken.to_string());
        path::check(&request.path).map_err(invalid)?;
        for (name, value) in &request.headers {
            let named = |broken: Broken| Error::InvalidRequest(format!("header `{name}`: {broken}"));
            header::name(name).and_then(|()| header::value(value)).map_err(named)?;
        }
        if request.headers.len() > limit::HEADERS {
            return Err(Error::InvalidRequest(format!("at most {} headers", limit::HEADERS)));
        }
        let known = |name: &str| state.upstreams.iter().any(|upstream| upstream.name == name);
        if !state.upstreams.is_empty() && !known(&request.upstream) {
            return Err(Error::InvalidRequest(format!("the table has no upstream `{}`", request.upstream)));
        }
        Ok(())
    }

    impl Response {
        /// The status code.
        #[must_use]
        pub fn status(&self) -> u16 {
            self.0.status
        }

        /// Values of a header. The case of the name does not matter.
        #[must_use]
        pub fn header(&self, name: &str) -> Vec<String> {
            let named = self.0.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.clone()).collect()
        }

        pub(crate) fn header_link(&self, name: &str) -> Result<Option<Link>, Error> {
            let values = self.header(name);
            if name.eq_ignore_ascii_case("link") {
                let next = link::next_of(values.iter().map(String::as_str));
                return Ok(next.map(|address| Link(address.to_owned())));
            }
            Ok(values.into_iter().next().map(Link))
        }

        pub(crate) fn body_link(&self, pointer: &str) -> Result<Option<Link>, Error> {
            let found = self.document()?.pointer(pointer).filter(|value| value.kind() != Kind::Null);
            let not_text = || Error::BadAnswer(format!("the value at `{pointer}` is not text"));
            found.map(|value| value.as_string().map(Link).ok_or_else(not_text)).transpose()
        }

        pub(crate) fn peek(&self, length: u32) -> Result<Vec<u8>, Error> {
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(limit::PEEK_BYTES);
            Ok(self.0.body.iter().take(length).copied().collect())
        }

        pub(crate) fn bytes(&self) -> Result<Vec<u8>, Error> {
            Ok(self.0.body.clone())
        }

        pub(crate) fn text(&self) -> Result<String, Error> {
            Ok(String::from_utf8_lossy(&self.0.body).into_owned())
        }

        pub(crate) fn document(&self) -> Result<Document, Error> {
            let text = self.text()?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            Document::parse(if text.is_empty() { "{}" } else { text }).map_err(Error::BadAnswer)
        }
    }
}

pub(crate) mod json {
    pub(crate) use crate::testing::document::Document;
}

pub(crate) mod storage {
    use contract_rules::limit::{STORAGE_KEY_BYTES, STORAGE_KEYS, STORAGE_VALUE_BYTES};

    use crate::storage::Error;
    use crate::testing::current;

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(current().borrow().storage.get(key).cloned())
    }

    pub(crate) fn set(key: &str, value: &[u8], _time_to_live_seconds: Option<u32>) -> Result<(), Error> {
        if !(1..=STORAGE_KEY_BYTES).contains(&key.len()) || value.len() > STORAGE_VALUE_BYTES {
            return Err(Error::Invalid("a key is 1 to 256 bytes, a value at most 64 KiB".to_owned()));
        }
        let state = current();
        let storage = &mut state.borrow_mut().storage;
        if storage.len() >= STORAGE_KEYS && !storage.contains_key(key) {
            return Err(Error::Full);
        }
        storage.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    pub(crate) fn delete(key: &str) -> Result<(), Error> {
        current().borrow_mut().storage.remove(key);
        Ok(())
    }
}

pub(crate) mod config {
    use crate::testing::current;

    pub(crate) fn get(key: &str) -> Option<String> {
        current().borrow().settings.get(key).cloned()
    }
}

pub(crate) mod log {
    use crate::bindings::gateway::connector::log::Level;
    use crate::testing::current;

    pub(crate) fn write(level: Level, message: &str) {
        current().borrow_mut().log.push(format!("{level:?}: {message}"));
    }
}

pub(crate) mod clock {
    use crate::testing::current;

    pub(crate) fn now() -> u64 {
        current().borrow().now
    }

    pub(crate) fn sleep(milliseconds: u64) {
        let state = current();
        let now = &mut state.borrow_mut().now;
        *now = now.saturating_add(milliseconds);
    }
}

pub(crate) mod random {
    use contract_rules::limit::RANDOM_BYTES;

    use crate::testing::current;

    /// The values of the generator SplitMix64, so that they are the same in each run of a test.
    pub(crate) fn bytes(length: u32) -> Result<Vec<u8>, String> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > RANDOM_BYTES {
            return Err(format!("at most {RANDOM_BYTES} random bytes in one call"));
        }
        let state = current();
        let random = &mut state.borrow_mut().random;
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (*random ^ (*random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bytes.extend_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}

pub(crate) mod signed_links {
    use contract_rules::signature::LINK_SECONDS;

    use crate::bindings::gateway::connector::http::Error;
    use crate::bindings::gateway::connector::signed_links::LinkRequest;

    /// A link that shows what it is for. No secret is there to sign it.
    pub(crate) fn make(request: &LinkRequest) -> Result<String, Error> {
        let LinkRequest { method, upstream, path, seconds } = request;
        if !(1..=LINK_SECONDS).contains(seconds) {
            return Err(Error::InvalidRequest(format!("a signed link is valid for 1 to {LINK_SECONDS} seconds")));
        }
        let method = format!("{method:?}").replace("Method::", "").to_lowercase();
        let join = if path.contains('?') { '&' } else { '?' };
        Ok(format!("https://{upstream}.test{path}{join}method={method}&seconds={seconds}"))
    }
}

pub(crate) mod multipart {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use contract_rules::multipart::{file_name, media_type};
    use contract_rules::{Broken, limit};

    use crate::multipart::{BrokenPart, Content, Part};
    use crate::testing::current;

    /// Checks the parts as the gateway does, and keeps them for the test.
    pub(crate) fn build(parts: &[Part]) -> Result<String, BrokenPart> {
        for (index, part) in parts.iter().enumerate() {
            let broken = |detail| BrokenPart { index: u32::try_from(index).unwrap_or(u32::MAX), detail };
            check(index, part).map_err(broken)?;
        }
        let state = current();
        let kept = &mut state.borrow_mut().multiparts;
        kept.push(parts.to_vec());
        Ok(format!("multipart/form-data; boundary=parts-{}", kept.len()))
    }

    fn check(index: usize, part: &Part) -> Result<(), String> {
        let rule = |broken: Broken| broken.to_string();
        if index >= limit::PARTS {
            return Err(format!("Give at most {} parts.", limit::PARTS));
        }
        part.file_name.as_deref().map_or(Ok(()), file_name).map_err(rule)?;
        part.content_type.as_deref().map_or(Ok(()), media_type).map_err(rule)?;
        match &part.content {
            Content::Base64(text) if STANDARD.decode(text).is_err() => {
                Err("Give the content in base64 (RFC 4648, section 4).".to_owned())
            }
            _ => Ok(()),
        }
    }
}

pub(crate) mod progress {
    use crate::testing::current;

    pub(crate) fn report(fraction: f64, message: &str) {
        current().borrow_mut().progress.push((fraction, message.to_owned()));
    }
}
