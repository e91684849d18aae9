//! A peer: hyper on one thread, which answers every request with what the file ANSWER holds.
//!
//!     hyper-peer PORT ANSWER
//!
//! Built by `cargo build --release --locked`, from crates.io. hyper adds Content-Length and Date itself.
use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue, CONTENT_LENGTH, DATE};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// The fields and the body of an answer as it goes over the wire.
fn parse(answer: &str) -> (HeaderMap, Bytes) {
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let mut fields = HeaderMap::new();
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(": ").expect("a field has a value");
        let name: HeaderName = name.parse().expect("a field has a name");
        if name != CONTENT_LENGTH && name != DATE {
            fields.append(name, HeaderValue::from_str(value).expect("a value is text"));
        }
    }
    (fields, Bytes::copy_from_slice(body.as_bytes()))
}

async fn serve(port: u16, fields: HeaderMap, body: Bytes) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (fields, body) = (fields.clone(), body.clone());
        let service = service_fn(move |_: Request<Incoming>| {
            let mut response = Response::new(Full::new(body.clone()));
            *response.headers_mut() = fields.clone();
            async { Ok::<_, Infallible>(response) }
        });
        tokio::task::spawn_local(async move {
            // A client that breaks its connection is no concern of ours.
            let _ = hyper::server::conn::http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, port, path] = &words[..] else {
        eprintln!("usage: hyper-peer PORT ANSWER");
        std::process::exit(2);
    };
    let (fields, body) = parse(&std::fs::read_to_string(path)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let port = port.parse().expect("PORT is a number");
    tokio::task::LocalSet::new().block_on(&runtime, serve(port, fields, body))
}
