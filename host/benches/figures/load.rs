//! Load: calls on a number of connections. Each connection makes its next call as soon as the last
//! one is answered.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use support::setup::KEY;
use tokio::task::JoinSet;

use crate::connection::{Connection, Protocol};
use crate::settings::Outcome;
use crate::upstream;

/// A request that is sent many times. Unless the target says otherwise, the answer must be the
/// upstream's item.
#[derive(Clone)]
pub(crate) struct Target {
    /// Name of the server, for messages and figures.
    pub(crate) name: &'static str,
    /// Address of the server.
    pub(crate) address: SocketAddr,
    path: Uri,
    headers: HeaderMap,
    body: Bytes,
    /// `false` if the answer may be another text than the upstream's item.
    is_item: bool,
    /// `true` if all answers have one length.
    has_one_length: bool,
    protocol: Protocol,
}

impl Target {
    pub(crate) fn new(name: &'static str, address: SocketAddr, path: &'static str, body: String) -> Self {
        let text = |text: &str| HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""));
        let mut headers = HeaderMap::new();
        headers.insert(HOST, text(&address.to_string()));
        headers.insert(AUTHORIZATION, text(&format!("Bearer {KEY}")));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (path, protocol) = (Uri::from_static(path), Protocol::Http1);
        Self { name, address, path, headers, body: body.into(), is_item: true, has_one_length: true, protocol }
    }

    /// The same request under another name.
    pub(crate) fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// The same request, over HTTP/2.
    pub(crate) fn over_http2(mut self) -> Self {
        // The address is in the URL.
        self.headers.remove(HOST);
        self.path = format!("http://{}{}", self.address, self.path).parse().unwrap_or(self.path);
        Self { protocol: Protocol::Http2, ..self }
    }

    /// The same request with another header.
    pub(crate) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    /// The same request, whose answer may be any text.
    pub(crate) fn with_any_answer(self) -> Self {
        Self { is_item: false, ..self }
    }

    /// The same request, whose answer is compressed. The length of an answer depends on the pieces
    /// in which it was compressed.
    pub(crate) fn compressed(mut self) -> Self {
        self.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        Self { has_one_length: false, ..self }
    }

    /// The text of the request's body.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The request.
    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// Connections to a target.
pub(crate) struct Load {
    target: Target,
    connections: Vec<Connection>,
    /// Expected length of the answer.
    expected: Option<usize>,
}

/// The result of a round of calls.
pub(crate) struct Round {
    /// Number of calls with the expected answer.
    pub(crate) succeeded: usize,
    /// One sentence for each other call.
    pub(crate) failures: Vec<String>,
    /// Time from the start of a call to the end of its answer, in seconds, in ascending order.
    pub(crate) latencies: Vec<f64>,
    /// Duration of the round in seconds.
    pub(crate) seconds: f64,
    /// The most calls that a connection made, divided by the fewest.
    pub(crate) unfairness: f64,
}

impl Load {
    /// Opens the connections and checks the target's answer once.
    pub(crate) async fn open(target: Target, connections: usize) -> Outcome<Self> {
        let mut open = Vec::with_capacity(connections);
        for _ in 0..connections {
            open.push(Connection::open(target.address, target.protocol).await?);
        }
        let first = open.first_mut().ok_or("a load needs a connection")?;
        let answer = first.call(target.request()).await?;
        if target.is_item && answer != upstream::item() {
            return Err(format!("{} changes the upstream's answer", target.name).into());
        }
        let expected = target.has_one_length.then_some(answer.len());
        Ok(Self { target, connections: open, expected })
    }

    /// As [`Self::open`], over HTTP/2 with this number of streams on each connection. Each stream
    /// makes one call after the other.
    pub(crate) async fn open_streams(target: Target, connections: usize, streams: usize) -> Outcome<Self> {
        let mut load = Self::open(target.over_http2(), connections).await?;
        let more =
            |connection: &Connection| (1..streams).filter_map(|_| connection.another_stream()).collect::<Vec<_>>();
        let more: Vec<Connection> = load.connections.iter().flat_map(more).collect();
        load.connections.extend(more);
        Ok(load)
    }

    /// Calls for this time.
    pub(crate) async fn run(&mut self, time: Duration) -> Outcome<Round> {
        let started = Instant::now();
        self.run_while(move || started.elapsed() < time).await
    }

    /// Calls as long as `proceed` returns `true`. A connection stops after its first failed call.
    pub(crate) async fn run_while(&mut self, proceed: impl Fn() -> bool + Clone + Send + 'static) -> Outcome<Round> {
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for mut connection in self.connections.drain(..) {
            let (target, expected, proceed) = (self.target.clone(), self.expected, proceed.clone());
            tasks.spawn(async move {
                let mut latencies = Vec::new();
                let mut failures = Vec::new();
                while failures.is_empty() && proceed() {
                    let sent = Instant::now();
                    match connection.measure(target.request()).await {
                        Ok((StatusCode::OK, length)) if expected.is_none_or(|expected| length == expected) => {
                            latencies.push(sent.elapsed().as_secs_f64());
                        }
                        Ok((status, length)) => failures.push(format!("{status} with {length} bytes")),
                        Err(error) => failures.push(error.to_string()),
                    }
                }
                (connection, latencies, failures)
            });
        }
        let mut round =
            Round { succeeded: 0, failures: Vec::new(), latencies: Vec::new(), seconds: 0.0, unfairness: 0.0 };
        let (mut most, mut fewest) = (0, usize::MAX);
        while let Some(done) = tasks.join_next().await {
            let (connection, latencies, failures) = done?;
            self.connections.push(connection);
            (most, fewest) = (most.max(latencies.len()), fewest.min(latencies.len()));
            round.latencies.extend(latencies);
            round.failures.extend(failures);
        }
        round.seconds = started.elapsed().as_secs_f64();
        round.succeeded = round.latencies.len();
        round.unfairness = most as f64 / fewest as f64;
        round.latencies.sort_by(f64::total_cmp);
        Ok(round)
    }
}

impl Round {
    /// The latency that this share of the calls did not exceed.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let index = (self.latencies.len() as f64 * share) as usize;
        self.latencies.get(index).or(self.latencies.last()).copied().unwrap_or(f64::NAN)
    }

    /// Returns an error if a call failed or none was made.
    pub(crate) fn check(&self, name: &str) -> Outcome<()> {
        match self.failures.first() {
            None if self.succeeded > 0 => Ok(()),
            None => Err(format!("{name}: no call was answered").into()),
            Some(first) => Err(format!("{name}: {} calls failed, the first with {first}", self.failures.len()).into()),
        }
    }
}
