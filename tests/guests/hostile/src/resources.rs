//! Uses more CPU time, memory, stack, output or log than an invocation is allowed.

use std::hint::black_box;

use serde_json::{Value, json};

use crate::bindings::gateway::connector::json::Document;
use crate::bindings::gateway::connector::log::{self, Level};
use crate::bindings::gateway::connector::outcome::{Fault, Outcome};
use crate::{Answer, reply};

pub(crate) fn endless_loop(_: &Value) -> Answer {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

pub(crate) fn grow_memory(_: &Value) -> Answer {
    let mut blocks = Vec::new();
    loop {
        blocks.push(black_box(vec![1_u8; 1 << 20]));
    }
}

/// As [`grow_memory`], and reports the end of the memory as a defect, as the engine of a language
/// does.
pub(crate) fn catch_refused_memory(_: &Value) -> Answer {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    loop {
        let mut block = Vec::new();
        if block.try_reserve_exact(1 << 20).is_err() {
            drop(blocks);
            return Err(Fault::Failed("out of memory".to_owned()));
        }
        block.resize(1 << 20, 1);
        blocks.push(black_box(block));
    }
}

pub(crate) fn deep_recursion(input: &Value) -> Answer {
    let depth = input["depth"].as_u64().and_then(|depth| u32::try_from(depth).ok()).unwrap_or(u32::MAX);
    reply(&json!({"deepest": deeper(depth, 1)}))
}

/// Needs no linear memory, so that the WebAssembly stack grows.
#[inline(never)]
fn deeper(depth: u32, sum: u32) -> u32 {
    if depth == 0 { sum } else { deeper(depth - 1, sum.rotate_left(3)).wrapping_mul(31) ^ depth }
}

/// Panics with `message`.
#[expect(clippy::panic, reason = "the operation tests a panic")]
pub(crate) fn panic(input: &Value) -> Answer {
    panic!("{}", input["message"].as_str().unwrap_or("the guest panics"))
}

pub(crate) fn huge_reply(input: &Value) -> Answer {
    let bytes = input["bytes"].as_u64().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or_default();
    Ok(Outcome::Reply(format!("\"{}\"", "x".repeat(bytes))))
}

pub(crate) fn huge_log(input: &Value) -> Answer {
    let lines = input["lines"].as_u64().unwrap_or_default();
    let line = input["text"].as_str().map_or_else(|| "guest-line ".repeat(1000), str::to_owned);
    for _ in 0..lines {
        log::write(Level::Info, &line);
    }
    reply(&json!({"lines": lines}))
}

pub(crate) fn many_documents(_: &Value) -> Answer {
    let mut documents = Vec::new();
    while let Ok(document) = Document::parse("[]") {
        documents.push(document);
    }
    reply(&json!({"documents": documents.len()}))
}
