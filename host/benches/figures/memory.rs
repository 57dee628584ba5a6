//! Memory of a gateway that does nothing, and of one with many calls that wait for a slow upstream.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::Connection;
use crate::gateway::Home;
use crate::load::Target;
use crate::table::{Figure, Goal, Unit};
use crate::{Outcome, Settings, machine, role, upstream};

const IDLE_GOAL: f64 = 80e6;

/// Calls that wait at once.
const CALLS: usize = 10_000;

/// Calls on one connection. They share few, since every call takes a file descriptor towards the upstream already.
const CALLS_PER_CONNECTION: usize = 100;

/// Descriptors that a process needs besides those of the calls that wait.
const OTHER_DESCRIPTORS: u64 = 500;

/// Calls that have not come through to the upstream, or not back, after this long never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures the section.
pub(crate) async fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let calls = raise_descriptors();
    let (_upstream, upstream) = role::start_upstream()?;
    let home = Home::new(upstream)?;
    let gateway = home.start().await?;
    let (proxy, proxy_address) = role::start_proxy(upstream)?;

    // By default longer than any interval at which the gateway does something by itself.
    tokio::time::sleep(settings.time(11.0, 1.0)).await;
    let idle = machine::resident_bytes(gateway.process.id())?;
    let proxy_idle = machine::resident_bytes(proxy.id())?;
    let watched = settings.time(3.0, 2.0);
    let before = machine::cpu_seconds(gateway.process.id())?;
    tokio::time::sleep(watched).await;
    let idle_cpu = (machine::cpu_seconds(gateway.process.id())? - before) / watched.as_secs_f64();

    let waiting = wait(&gateway.thin("slow"), gateway.process.id(), upstream, calls).await?;
    let target = Target::new("bare proxy", proxy_address, upstream::SLOW_ITEM, String::new());
    let proxy_waiting = wait(&target, proxy.id(), upstream, calls).await?;
    let each = |waiting: f64, idle: f64| (waiting - idle) / calls as f64;
    Ok(vec![
        Figure::new(format!("idle, {} connectors: memory", home.connectors()?), Unit::Bytes, idle)
            .beside("bare proxy", proxy_idle)
            .goal(Goal::AtMost(IDLE_GOAL)),
        Figure::new("idle: CPU time in a second", Unit::Seconds, idle_cpu),
        Figure::new(format!("{calls} calls waiting: memory"), Unit::Bytes, waiting).beside("bare proxy", proxy_waiting),
        Figure::new(format!("{calls} calls waiting: memory of each"), Unit::Bytes, each(waiting, idle))
            .beside("bare proxy", each(proxy_waiting, proxy_idle)),
    ])
}

/// Lets this process and those it starts open as many descriptors as the system permits. Gives back how many calls that
/// is enough for.
fn raise_descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // Where it fails the limit stays, and what it is enough for is measured.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(current.saturating_sub(OTHER_DESCRIPTORS)).unwrap_or(usize::MAX).min(CALLS)
}

/// Memory of the process while this many calls wait. In the end all of them are answered as they should be.
async fn wait(target: &Target, pid: u32, upstream: SocketAddr, calls: usize) -> Outcome<f64> {
    let mut control = Connection::open(upstream).await?;
    let mut answers = JoinSet::new();
    while answers.len() < calls {
        let stream = TcpStream::connect(target.address).await?;
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // Its errors come to whoever sends.
        tokio::spawn(connection);
        for _ in 0..CALLS_PER_CONNECTION.min(calls - answers.len()) {
            answers.spawn(call(sender.clone(), absolute(target)?));
        }
        // One connection after the other, as a burst of all would be a measurement of something else.
        let began = Instant::now();
        while waiting(&mut control).await? < answers.len() {
            if let Some(answered) = answers.try_join_next() {
                answered??;
                return Err(format!("{}: a call was answered before its upstream was", target.name).into());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("{}: calls did not come through to the upstream", target.name).into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let memory = machine::resident_bytes(pid)?;
    control.get("/release").await?;
    while let Some(answered) = tokio::time::timeout(PATIENCE, answers.join_next()).await? {
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
            format!("a call that waited was answered {} {}", head.status, String::from_utf8_lossy(&body)).into()
        );
    }
    Ok(())
}

/// The request with the whole URL, which HTTP/2 asks for in place of the header.
fn absolute(target: &Target) -> Outcome<Request<Body>> {
    let mut request = target.request();
    request.headers_mut().remove(hyper::header::HOST);
    *request.uri_mut() = format!("http://{}{}", target.address, request.uri()).parse()?;
    Ok(request)
}

async fn waiting(control: &mut Connection) -> Outcome<usize> {
    Ok(std::str::from_utf8(&control.get("/waiting").await?)?.parse()?)
}
