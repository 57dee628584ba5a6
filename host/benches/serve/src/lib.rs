//! The job of a thin operation as a component of the world `wasi:http/proxy`, for `wasmtime serve`:
//! it reads the body of a call, sends GET with the path of the call to the upstream, and streams
//! the answer back. The variable `UPSTREAM` has the upstream's address.

use wasip2::cli::environment::get_environment;
use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingRequest, IncomingResponse, OutgoingBody, OutgoingRequest, OutgoingResponse,
    ResponseOutparam, Scheme,
};
use wasip2::io::streams::StreamError;

/// The most bytes of one piece of a body.
const PIECE_BYTES: u64 = 64 << 10;

struct Thin;

wasip2::http::proxy::export!(Thin);

impl Guest for Thin {
    fn handle(request: IncomingRequest, answer: ResponseOutparam) {
        match forward(&request) {
            Ok(response) => deliver(&response, answer),
            Err(error) => ResponseOutparam::set(answer, Err(error)),
        }
    }
}

fn forward(request: &IncomingRequest) -> Result<IncomingResponse, ErrorCode> {
    read(request)?;
    let upstream = get_environment().into_iter().find(|(name, _)| name == "UPSTREAM");
    let (_, upstream) = upstream.ok_or_else(|| failed("UPSTREAM is not set"))?;
    // The method of a new request is GET.
    let call = OutgoingRequest::new(Fields::new());
    call.set_scheme(Some(&Scheme::Http)).map_err(|()| failed("the scheme"))?;
    call.set_authority(Some(&upstream)).map_err(|()| failed("the address"))?;
    call.set_path_with_query(request.path_with_query().as_deref()).map_err(|()| failed("the path"))?;
    let response = outgoing_handler::handle(call, None)?;
    response.subscribe().block();
    response.get().ok_or_else(|| failed("no answer"))?.map_err(|()| failed("the answer was taken"))?
}

/// Reads the body to its end.
fn read(request: &IncomingRequest) -> Result<(), ErrorCode> {
    let body = request.consume().map_err(|()| failed("the body was taken"))?;
    let stream = body.stream().map_err(|()| failed("the body was taken"))?;
    loop {
        match stream.blocking_read(PIECE_BYTES) {
            Ok(_) => {}
            Err(StreamError::Closed) => return Ok(()),
            Err(StreamError::LastOperationFailed(_)) => return Err(failed("the body broke off")),
        }
    }
}

/// Streams a response to the caller. A caller that has gone away gets nothing more.
fn deliver(response: &IncomingResponse, answer: ResponseOutparam) {
    let outgoing = OutgoingResponse::new(response.headers().clone());
    let (Ok(()), Ok(to), Ok(from)) = (outgoing.set_status_code(response.status()), outgoing.body(), response.consume())
    else {
        return ResponseOutparam::set(answer, Err(failed("the answer was taken")));
    };
    ResponseOutparam::set(answer, Ok(outgoing));
    if let (Ok(sink), Ok(source)) = (to.write(), from.stream()) {
        while sink.blocking_splice(&source, PIECE_BYTES).is_ok() {}
    }
    let _ = OutgoingBody::finish(to, None);
}

fn failed(what: &str) -> ErrorCode {
    ErrorCode::InternalError(Some(what.to_owned()))
}
