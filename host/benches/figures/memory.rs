//! Memory of an idle gateway, and of a gateway with many calls that wait for a slow upstream.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::connection::{Connection, Protocol};
use crate::load::Target;
use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::{gateway, machine, proxy, upstream};

const WAITING_GOAL: f64 = 30e3;

/// The memory of a gateway a minute after many calls, compared with its memory before them.
const KEPT_GOAL: f64 = 1.3;

/// Number of calls that wait at the same time.
const CALLS: usize = 10_000;

/// Number of calls on one connection. Calls share connections, because each call takes a file
/// descriptor towards the upstream already.
const CALLS_PER_CONNECTION: usize = 100;

/// Number of file descriptors that a process needs in addition to the descriptors of the waiting
/// calls.
const OTHER_DESCRIPTORS: usize = 500;

/// Time after which calls that have not reached the upstream, or have not been answered, count as
/// lost.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Measures the section.
pub(crate) fn measure(runtime: &Runtime, settings: &Settings) -> Outcome<Vec<Figure>> {
    let descriptors = usize::try_from(machine::raise_descriptors()).unwrap_or(usize::MAX);
    // If the limit cannot be raised, fewer calls are made.
    let calls = descriptors.saturating_sub(OTHER_DESCRIPTORS).min(CALLS);
    let upstream = upstream::start()?;
    let gateway = gateway::start(upstream.address)?;
    // A full run waits longer than any interval of the gateway's background work.
    let wait_for_background_work = || thread::sleep(settings.time(11.0, 1.0));
    wait_for_background_work();
    let idle_after_compiling = machine::resident_bytes(gateway.process_id())?;
    let gateway = gateway.start_again();
    let proxy = proxy::start(upstream.address)?;
    let (gateway_id, proxy_id) = (gateway.process_id(), proxy.process.id());
    wait_for_background_work();
    let idle = machine::resident_bytes(gateway_id)?;
    let proxy_idle = machine::resident_bytes(proxy_id)?;
    let watched = settings.time(3.0, 2.0);
    let before = machine::cpu_seconds(gateway_id)?;
    thread::sleep(watched);
    let idle_cpu = (machine::cpu_seconds(gateway_id)? - before) / watched.as_secs_f64();

    let target = gateway::thin(&gateway, "slow")?;
    let waiting = runtime.block_on(wait(&target, gateway_id, upstream.address, calls))?;
    thread::sleep(settings.time(60.0, 5.0));
    let kept = machine::resident_bytes(gateway_id)?;
    let target = Target::new("bare proxy", proxy.address, upstream::SLOW_ITEM, String::new());
    let proxy_waiting = runtime.block_on(wait(&target, proxy_id, upstream.address, calls))?;
    let each = |waiting: f64, idle: f64| (waiting - idle) / calls as f64;
    Ok(vec![
        Figure::new(format!("idle, {} connectors from the cache: memory", gateway::connectors()), Unit::Bytes, idle)
            .against("bare proxy", proxy_idle),
        Figure::new("idle, every connector compiled before: memory", Unit::Bytes, idle_after_compiling)
            .against("bare proxy", proxy_idle),
        Figure::new("idle: CPU time in a second", Unit::Seconds, idle_cpu),
        Figure::new(format!("{calls} calls waiting: memory"), Unit::Bytes, waiting)
            .against("bare proxy", proxy_waiting),
        Figure::new(format!("{calls} calls waiting: memory of each"), Unit::Bytes, each(waiting, idle))
            .against("bare proxy", each(proxy_waiting, proxy_idle))
            .goal(Goal::AtMost(WAITING_GOAL)),
        Figure::new(format!("a minute after {calls} waiting calls: memory"), Unit::Bytes, kept)
            .against("before them", idle)
            .goal(Goal::RatioAtMost(KEPT_GOAL)),
    ])
}

/// Returns the memory of the process while this many calls wait. Afterwards all of them must get
/// the expected answer.
async fn wait(target: &Target, pid: u32, upstream: SocketAddr, calls: usize) -> Outcome<f64> {
    let mut control = Connection::open(upstream, Protocol::Http1).await?;
    let mut answers = JoinSet::new();
    while answers.len() < calls {
        let stream = TcpStream::connect(target.address).await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // The errors of the connection come to the caller of `send_request`.
        tokio::spawn(connection);
        for _ in 0..CALLS_PER_CONNECTION.min(calls - answers.len()) {
            answers.spawn(call(sender.clone(), absolute(target)?));
        }
        // The connections are opened one after the other. A burst of all would measure something
        // else.
        let began = Instant::now();
        while waiting(&mut control).await? < answers.len() {
            if let Some(answered) = answers.try_join_next() {
                answered??;
                return Err(format!("{}: a call was answered before the upstream answered", target.name).into());
            }
            if began.elapsed() > MAX_WAIT {
                return Err(format!("{}: calls did not reach the upstream", target.name).into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let memory = machine::resident_bytes(pid)?;
    control.get("/release").await?;
    while let Some(answered) = tokio::time::timeout(MAX_WAIT, answers.join_next()).await? {
        answered??;
    }
    Ok(memory)
}

type Body = http_body_util::Full<bytes::Bytes>;

async fn call(mut sender: http2::SendRequest<Body>, request: Request<Body>) -> Outcome<()> {
    let (head, body) = sender.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    if head.status != StatusCode::OK || body != upstream::item() {
        return Err(
            format!("a waiting call was answered with {} {}", head.status, String::from_utf8_lossy(&body)).into()
        );
    }
    Ok(())
}

/// The request with an absolute URL, which HTTP/2 needs in place of the Host header.
fn absolute(target: &Target) -> Outcome<Request<Body>> {
    let mut request = target.request();
    request.headers_mut().remove(hyper::header::HOST);
    *request.uri_mut() = format!("http://{}{}", target.address, request.uri()).parse()?;
    Ok(request)
}

async fn waiting(control: &mut Connection) -> Outcome<usize> {
    Ok(std::str::from_utf8(&control.get("/waiting").await?)?.parse()?)
}
