//! A provider that rotates refresh tokens, and ends an account whose token is sent twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout_at};

use super::world::{Process, World};
use egress::{Body, Egress, EgressError, Request, Response, Transport, Upstream};

/// Longest time of an answer, within the time that a gateway waits.
const SLOW: u64 = 14_000;

/// One account.
pub(crate) struct Account {
    /// The number of the only refresh token that is valid.
    pub(crate) current: u64,
    /// The process that got the current token, and whether it has received the answer.
    pub(crate) issued_to: Option<(usize, u32)>,
    pub(crate) is_received: bool,
    /// The time at which the answer was received.
    pub(crate) received_at: Duration,
    pub(crate) has_ended: bool,
    /// The reason for which the account may be lost: no gateway could have stored the current token.
    pub(crate) excuse: Option<&'static str>,
    /// The fence of its lease when a gateway was killed that had its current token.
    pub(crate) fence_at_kill: Option<String>,
}

pub(crate) struct Provider {
    world: Arc<World>,
    /// Longest time of an answer in this schedule.
    slow: u64,
    accounts: Mutex<BTreeMap<String, Account>>,
    /// The provider answers all requests, and quickly.
    pub(crate) is_kind: AtomicBool,
}

impl Provider {
    pub(crate) fn new(world: &Arc<World>, slow: bool) -> Arc<Self> {
        let slow = if slow { SLOW } else { 400 };
        Arc::new(Self { world: Arc::clone(world), slow, accounts: Mutex::default(), is_kind: false.into() })
    }

    /// Makes an account, and returns its first refresh token.
    pub(crate) fn begin(&self, name: &str) -> String {
        let account = Account {
            current: 0,
            issued_to: None,
            is_received: true,
            received_at: Duration::ZERO,
            has_ended: false,
            excuse: None,
            fence_at_kill: None,
        };
        self.accounts.lock().insert(name.to_owned(), account);
        token(name, 0)
    }

    /// The longest time between a request and its answer.
    pub(crate) fn longest(&self) -> Duration {
        Duration::from_millis(self.slow + 300)
    }

    pub(crate) fn look<T>(&self, name: &str, look: impl FnOnce(&mut Account) -> T) -> T {
        look(self.accounts.lock().get_mut(name).unwrap())
    }

    /// Takes a refresh token at the moment at which it arrives.
    fn refresh(&self, process: &Process, sent: &str) -> (u16, String) {
        let Some((name, number)) = sent.rsplit_once('-') else { return (400, String::new()) };
        let refused = || (400, r#"{"error":"invalid_grant"}"#.to_owned());
        let mut accounts = self.accounts.lock();
        let Some(account) = accounts.get_mut(name) else { return refused() };
        if account.has_ended {
            return refused();
        }
        if number != account.current.to_string() {
            account.has_ended = true;
            match account.excuse {
                Some(excuse) => {
                    self.world.log(format_args!("{} sends {sent} again, and {name} is lost: {excuse}", process.name()))
                }
                None => self.world.violated(format_args!(
                    "{} sends {sent} again, and {name} is lost; its current token is {}, of {:?}",
                    process.name(),
                    account.current,
                    account.issued_to
                )),
            }
            return refused();
        }
        account.current += 1;
        account.issued_to = Some((process.gateway, process.life));
        account.is_received = false;
        if process.is_dead() {
            account.excuse = Some("the gateway was killed before it had the answer");
        }
        self.world.log(format_args!("{} gets {}", process.name(), token(name, account.current)));
        let answer = format!(
            r#"{{"access_token":"an-access-token-{}","token_type":"bearer","expires_in":{},"refresh_token":"{}"}}"#,
            account.current,
            40 + account.current % 3 * 40,
            token(name, account.current)
        );
        (200, answer)
    }

    /// Notes that a process does not get the answer to its refresh: the answer is lost on its way, or
    /// the process has given up. A process that stood still while it sent the request gives up before
    /// the answer is there, because its deadline was set before.
    fn lose(&self, process: &Process, sent: &str) {
        if let Some((name, number)) = sent.rsplit_once('-') {
            self.look(name, |account| {
                let is_his = account.issued_to == Some((process.gateway, process.life)) && !account.is_received;
                if is_his && number.parse() == Ok(account.current.wrapping_sub(1)) {
                    account.excuse = Some("the answer was lost on its way");
                }
            });
        }
    }

    async fn answer(self: Arc<Self>, process: Arc<Process>, sent: String, answered: oneshot::Sender<(u16, String)>) {
        let (arrival, is_lost, is_away, time, is_late) = process.draw(|random| {
            let is_kind = self.is_kind.load(Ordering::Relaxed);
            let slow = if is_kind { 100 } else { self.slow };
            if is_kind {
                return (random.ms(1..300), false, false, random.ms(1..slow), false);
            }
            (random.ms(1..300), random.permille(10), random.permille(10), random.ms(1..slow), random.permille(3))
        });
        sleep(arrival).await;
        if is_lost {
            return;
        }
        if is_away {
            let _ = answered.send((503, String::new()));
            return;
        }
        let answer = self.refresh(&process, &sent);
        if answered.is_closed() {
            self.lose(&process, &sent);
        }
        sleep(time).await;
        process.live().await;
        if is_late || answered.is_closed() {
            self.lose(&process, &sent);
            return;
        }
        if answer.0 == 200
            && let Some((name, _)) = sent.rsplit_once('-')
        {
            let now = self.world.now();
            self.look(name, |account| (account.is_received, account.received_at) = (true, now));
        }
        let _ = answered.send(answer);
    }
}

/// The way of a process to the provider.
pub(crate) struct ToProvider {
    pub(crate) provider: Arc<Provider>,
    pub(crate) process: Arc<Process>,
}

impl Transport for ToProvider {
    fn send<'a>(
        &'a self,
        egress: &'a Egress,
        upstream: &'a Upstream,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Response, EgressError>> {
        async move {
            self.process.before_request().await;
            let Body::Typed { bytes, .. } = &request.body else { return Err(lost()) };
            let field = url::form_urlencoded::parse(bytes).find(|(name, _)| name == "refresh_token");
            let Some((_, sent)) = field else { return Err(lost()) };
            let (answer, answered) = oneshot::channel();
            let answering = Arc::clone(&self.provider);
            tokio::spawn(answering.answer(Arc::clone(&self.process), sent.clone().into_owned(), answer));
            match timeout_at(request.deadline, answered).await {
                Err(_) => {
                    self.provider.lose(&self.process, &sent);
                    Err(EgressError::TimedOut)
                }
                Ok(Err(_)) => Err(lost()),
                Ok(Ok((status, body))) => respond(upstream, request, egress, status, body),
            }
        }
        .boxed()
    }
}

pub(crate) fn lost() -> EgressError {
    EgressError::Unreachable { host: "simulated".to_owned(), detail: "the connection broke".to_owned(), is_tls: false }
}

pub(crate) fn respond(
    upstream: &Upstream,
    request: &Request,
    egress: &Egress,
    status: u16,
    body: String,
) -> Result<Response, EgressError> {
    let answer = hyper::Response::builder().status(status).body(Bytes::from(body)).unwrap();
    Response::recorded(upstream, request, answer, egress.memory())
}

fn token(name: &str, number: u64) -> String {
    format!("{name}-{number}")
}
