//! Connections whose bytes a test writes itself: callers that send nothing, half of something, or
//! never read.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::MAX_WAIT;
use crate::setup::KEY;

/// The first bytes of every HTTP/2 connection (RFC 9113, section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection to a gateway, by its base URL, that has sent these bytes.
///
/// # Panics
/// When the gateway does not accept it.
pub fn connection(address: &str, bytes: &[u8]) -> TcpStream {
    having_sent(TcpStream::connect(address.trim_start_matches("http://")).unwrap(), bytes)
}

/// The same as [`connection`], but the buffers of both systems hold little of an answer that is not
/// read.
///
/// # Panics
/// When the gateway does not accept it.
pub fn narrow_connection(address: &str, bytes: &[u8]) -> TcpStream {
    let address: SocketAddr = address.trim_start_matches("http://").parse().unwrap();
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
    // The other system's buffer is a multiple of the size of a segment.
    socket.set_tcp_mss(1400).unwrap();
    socket.set_recv_buffer_size(16 << 10).unwrap();
    socket.connect(&address.into()).unwrap();
    having_sent(socket.into(), bytes)
}

fn having_sent(mut stream: TcpStream, bytes: &[u8]) -> TcpStream {
    stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// An HTTP/2 frame (RFC 9113, section 4.1).
///
/// # Panics
/// When the payload is too long for a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The header block of an HTTP/2 POST request with a JSON body, without compression (RFC 7541,
/// section 6.2.2).
///
/// # Panics
/// When the path is too long.
pub fn post(path: &str) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "x"),
        ("authorization", &format!("Bearer {KEY}")),
        ("content-type", "application/json"),
    ];
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect()
}

/// The head of an HTTP/1.1 POST request with a JSON body of this length.
pub fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// Reads one answer with a declared length over HTTP/1.1: its head and its body.
///
/// # Panics
/// When the connection closes before the end, or the answer declares no length.
#[track_caller]
pub fn answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    let head = String::from_utf8(answer).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}
