//! Responses from the test suites of other clients: every one must end in a
//! document or a named failure, in bounded time and with honest bytes.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use rhumb_fetch::{Document, Failure};
use serde_json::Value;
use support::{config, fetch, run};

const CASES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/cases/http_cases.json"
);

#[test]
fn every_response_of_other_suites_is_survived() {
    let Ok(text) = std::fs::read_to_string(CASES) else {
        println!("left out: the third-party cases are not there");
        return;
    };
    let cases: Value = serde_json::from_str(&text).unwrap();
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in cases["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let raw = case["raw_base64"].as_str().unwrap();
        let raw = data_encoding::BASE64.decode(raw.as_bytes()).unwrap();
        let mut config = config();
        config.first_byte_timeout = Duration::from_secs(5);
        config.idle_timeout = Duration::from_secs(5);
        let result = run(fetch(config, &raw));
        if let Ok(document) = &result {
            check(id, document, &raw);
        }
        let outcome = format!("{:<44} curl: {}", outcome(&result), curl(case));
        outcomes.entry(outcome).or_default().push(id.to_owned());
    }
    for (outcome, ids) in outcomes {
        println!("{:>3}  {outcome}  {}", ids.len(), ids.join(" "));
    }
}

fn check(id: &str, document: &Document, raw: &[u8]) {
    let start = raw
        .windows(document.wire.len())
        .position(|window| window == &document.wire[..])
        .unwrap_or_else(|| panic!("{id}: these bytes were never sent"));
    let interim = &raw[..start];
    assert!(
        interim.iter().all(|byte| b"\r\n".contains(byte)) || interim.starts_with(b"HTTP/1.1 1"),
        "{id}: more than interim responses was left out before the response"
    );
    assert!(document.head_len <= document.wire.len(), "{id}");
    assert!(document.payload.len() <= document.wire.len(), "{id}");
}

fn outcome(result: &Result<Document, Failure>) -> String {
    match result {
        Ok(document) => format!(
            "{} {} bytes{}",
            document.status,
            document.body.len(),
            document
                .truncated
                .map_or(String::new(), |why| format!(" cut: {}", why.as_str()))
        ),
        Err(failure @ Failure::Protocol(why)) => format!("{}: {why}", failure.code()),
        Err(failure) => failure.code().to_owned(),
    }
}

fn curl(case: &Value) -> String {
    let curl = &case["curl_7_88"];
    format!(
        "exit {} status {} {} bytes",
        curl["exit"], curl["status"], curl["body_bytes"]
    )
}
