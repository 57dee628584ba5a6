use std::future::pending;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::super::Request;
use super::super::testing::{egress, egress_with, fetch, get, raw, request, upstream};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Reads a request. Returns `false` at the end of the connection.
async fn read(stream: &mut TcpStream) -> bool {
    stream.read(&mut [0; 4096]).await.is_ok_and(|length| length > 0)
}

async fn answer_all(mut stream: TcpStream) {
    while read(&mut stream).await {
        stream.write_all(ANSWER).await.unwrap();
    }
}

/// An upstream whose connections follow a script, and the number of its connections so far.
async fn counted<F: Future<Output = ()> + Send + 'static>(
    script: impl Fn(TcpStream) -> F + Send + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let address = raw(move |_, stream| {
        counter.fetch_add(1, Ordering::SeqCst);
        script(stream)
    })
    .await;
    (address, connections)
}

#[tokio::test]
async fn connections_are_kept_for_the_next_request() {
    let (address, connections) = counted(answer_all).await;
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    for _ in 0..5 {
        fetch(&egress, &upstream, &get("/")).await.unwrap();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced_even_for_a_write() {
    let (address, connections) = counted(|mut stream| async move {
        read(&mut stream).await;
        stream.write_all(ANSWER).await.unwrap();
    })
    .await;
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    for _ in 0..20 {
        fetch(&egress, &upstream, &request(Method::POST, "/")).await.unwrap();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 20);
}

/// A service of another thread, so that it can act while the runtime of the test does nothing.
fn on_a_thread(script: impl FnOnce(std::net::TcpListener) + Send + 'static) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || script(listener));
    address
}

#[tokio::test]
async fn a_write_is_sent_again_if_the_connection_was_closed_just_before() {
    let (close, closing) = std::sync::mpsc::channel();
    let (closed, is_closed) = std::sync::mpsc::channel();
    let address = on_a_thread(move |listener| {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let length = stream.read(&mut [0; 4096]).unwrap();
            assert!(length > 0);
            stream.write_all(ANSWER).unwrap();
            closing.recv().unwrap();
            drop(stream);
            closed.send(()).unwrap();
        }
    });
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    fetch(&egress, &upstream, &get("/")).await.unwrap();
    // The connection is kept once its tasks have run.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    // The runtime does not run, and so does not learn of the end of the connection.
    close.send(()).unwrap();
    is_closed.recv().unwrap();
    let (status, _) = fetch(&egress, &upstream, &request(Method::POST, "/")).await.unwrap();
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_write_that_may_have_arrived_is_not_sent_again() {
    let (address, connections) = counted(|mut stream| async move {
        read(&mut stream).await;
        stream.write_all(ANSWER).await.unwrap();
        read(&mut stream).await;
    })
    .await;
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    fetch(&egress, &upstream, &get("/")).await.unwrap();
    fetch(&egress, &upstream, &request(Method::POST, "/")).await.unwrap_err();
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_request_on_a_new_connection_uses_none_that_the_upstream_may_close() {
    let body = vec![b'x'; 1 << 20];
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    let answer = Arc::new([head.as_bytes(), &body].concat());
    let (address, connections) = counted(move |mut stream| {
        let answer = Arc::clone(&answer);
        async move {
            read(&mut stream).await;
            stream.write_all(&answer).await.unwrap();
            // Closes as the next request arrives.
            read(&mut stream).await;
        }
    })
    .await;
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    let limit = 2 << 20;
    let once = Request { on_new_connection: true, limit, ..request(Method::POST, "/") };
    for count in 1..=5 {
        let response = egress.send(&upstream, &once).await.unwrap();
        assert_eq!(response.body.collect(limit).await.unwrap(), body, "the whole body arrives");
        assert_eq!(connections.load(Ordering::SeqCst), count);
    }
    fetch(&egress, &upstream, &Request { limit, ..get("/") }).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 6, "their connections are not kept for other requests");
}

#[tokio::test]
async fn a_connection_whose_body_is_not_read_takes_no_other_request() {
    let (address, connections) = counted(|mut stream| async move {
        while read(&mut stream).await {
            // More than the buffers of a connection hold.
            let body = vec![b'x'; 8 << 20];
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).await.unwrap();
            if stream.write_all(&body).await.is_err() {
                return;
            }
        }
    })
    .await;
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    let large = Request { limit: 16 << 20, ..get("/") };
    let mut first = egress.send(&upstream, &large).await.unwrap();
    let mut second = egress.send(&upstream, &large).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    while first.body.next().await.is_some() {}
    while second.body.next().await.is_some() {}
    // Both are free again, once their tasks have run.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(egress.send(&upstream, &large).await.unwrap());
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_request_takes_a_connection_that_becomes_free_before_its_own_is_made() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let address = raw(move |_, mut stream| {
        let gate = Arc::clone(&opened);
        async move {
            read(&mut stream).await;
            gate.acquire().await.unwrap().forget();
            stream.write_all(ANSWER).await.unwrap();
            answer_all(stream).await;
        }
    })
    .await;
    // The name is found once, and then no more.
    let lookups = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lookups);
    let egress = egress_with(Arc::new(move |_| {
        let is_first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move { if is_first { Ok(vec![(address.ip(), 0).into()]) } else { pending().await } })
    }));
    let upstream = upstream(&format!("http://home.test:{}", address.port()), &[]);
    let (first_request, second_request) = (get("/"), get("/"));
    let both = async {
        let first = fetch(&egress, &upstream, &first_request);
        let second = async {
            while lookups.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            fetch(&egress, &upstream, &second_request).await
        };
        let open = async {
            while lookups.load(Ordering::SeqCst) < 2 {
                tokio::task::yield_now().await;
            }
            gate.add_permits(1);
        };
        tokio::join!(first, second, open)
    };
    let (first, second, ()) = both.await;
    assert_eq!((first.unwrap().1, second.unwrap().1), ("ok".to_owned(), "ok".to_owned()));
}

#[tokio::test]
async fn an_idle_connection_is_closed_before_the_minute_of_load_balancers_is_over() {
    let ended = Arc::new(Semaphore::new(0));
    let end = Arc::clone(&ended);
    let address = raw(move |_, stream| {
        let end = Arc::clone(&end);
        async move {
            answer_all(stream).await;
            end.add_permits(1);
        }
    })
    .await;
    let (egress, upstream) = (egress(), upstream(&format!("http://{address}"), &[]));
    fetch(&egress, &upstream, &get("/")).await.unwrap();
    // From here on, the clock moves on when nothing else is to be done.
    tokio::time::pause();
    let began = Instant::now();
    timeout(Duration::from_secs(60), ended.acquire()).await.unwrap().unwrap().forget();
    assert!(began.elapsed() >= Duration::from_secs(40), "{:?}", began.elapsed());
    tokio::time::resume();
    fetch(&egress, &upstream, &get("/")).await.unwrap();
}
