//! Providers that close the connections of token requests. No token request is lost, because none
//! uses a connection that the provider may close between two requests.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use support::{Dialect, Endpoint, OAuthProvider, Setup};

use super::{connect, me, started, who};

/// The time at which a connection is closed.
#[derive(Clone, Copy, Debug)]
enum Closing {
    /// After its first answer.
    AfterAnswer,
    /// When a second request arrives, without an answer.
    AtNextRequest,
}

/// An address at which a provider answers one request on each connection, and keeps the connection
/// open for more.
fn in_front_of(provider: &OAuthProvider, closing: Closing) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let target = provider.url().trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let target = target.clone();
            thread::spawn(move || stream.and_then(|stream| answer_once(stream, &target, closing)));
        }
    });
    format!("http://{address}")
}

fn answer_once(mut client: TcpStream, target: &str, closing: Closing) -> io::Result<()> {
    let request = read_request(&mut client)?;
    let mut provider = TcpStream::connect(target)?;
    provider.write_all(request.replacen("\r\n", "\r\nconnection: close\r\n", 1).as_bytes())?;
    let mut answer = String::new();
    provider.read_to_string(&mut answer)?;
    client.write_all(answer.replacen("connection: close\r\n", "", 1).as_bytes())?;
    if matches!(closing, Closing::AtNextRequest) {
        // The next request is not answered. A closed connection is no error here.
        let _ = client.read(&mut [0; 1])?;
    }
    Ok(())
}

/// Reads a request whose body has a declared length.
fn read_request(client: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let length = client.read(&mut bytes)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&bytes[..length]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let declared = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.len() >= declared.unwrap_or(0)) {
            return Ok(text);
        }
    }
}

#[test]
fn a_provider_that_closes_connections_loses_no_token_request() {
    for closing in [Closing::AfterAnswer, Closing::AtNextRequest] {
        let provider = OAuthProvider::start(Dialect::strict());
        let token_url = format!("{}/token", in_front_of(&provider, closing));
        let setup = Setup::new()
            .account("account", &provider)
            .variable("GATEWAY__CONNECTORS__ACCOUNT__OAUTH__TOKEN_URL", &token_url);
        let gateway = started(setup, &provider);
        connect(&gateway.client(), "account", "ada");
        for count in 1..=10 {
            provider.expire();
            assert_eq!(who(&gateway.client()).ok(), me("ada"), "{closing:?}, refresh {count}");
            assert_eq!(provider.count(Endpoint::Refresh), count, "{closing:?}");
        }
        assert_eq!(provider.reuses(), 0);
    }
}
