//! `rhumb robots` and the questions of public suites.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::robots_command::{ask, folder, robots_file};

/// They are kept beside the project, when present.
fn public_cases() -> Option<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/robots_cases.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the cases are JSON")),
        Err(_) => {
            println!("left out: {} is not there", path.display());
            None
        }
    }
}

fn list<'a>(cases: &'a Value, name: &str) -> &'a [Value] {
    cases[name].as_array().expect("a list of cases")
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().expect("a text")
}

fn file_of(case: &Value) -> Vec<u8> {
    match case["robots_txt"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => data_encoding::BASE64
            .decode(text(case, "robots_txt_base64").as_bytes())
            .expect("base64"),
    }
}

#[test]
fn what_public_suites_agree_on_is_answered_so() {
    let Some(cases) = public_cases() else { return };
    let mut by_file: BTreeMap<(Vec<u8>, &str), Vec<&Value>> = BTreeMap::new();
    for case in list(&cases, "cases") {
        if matches!(text(case, "level"), "core" | "rfc") {
            let key = (file_of(case), text(case, "user_agent"));
            by_file.entry(key).or_default().push(case);
        }
    }
    let folder = folder();
    let mut held = 0;
    for ((robots_txt, agent), cases) in by_file {
        let file = robots_file(folder.path(), robots_txt);
        let questions: String = cases
            .iter()
            .map(|case| format!("{}\n", text(case, "url")))
            .collect();
        let answers = ask(&file, &["--agent", agent], &questions);
        assert_eq!(answers.len(), cases.len());
        for (case, answer) in cases.iter().zip(&answers) {
            assert_eq!(answer["allowed"], case["allowed"], "{case}\n{answer}");
            if answer["allowed"] == false {
                let rule = text(answer, "rule");
                assert!(rule.starts_with("Disallow: "), "{answer}");
                assert!(answer["line"].is_u64(), "{answer}");
            }
            held += 1;
        }
    }
    println!("{held} cases hold");
    assert!(held > 500);
}

#[test]
fn what_public_suites_take_for_the_path_of_a_url_is_asked_about() {
    let Some(cases) = public_cases() else { return };
    let cases = list(&cases, "path_of_url");
    let rule = |case: &Value| format!("Disallow: {}$", text(case, "path"));
    let rules: Vec<String> = cases.iter().map(rule).collect();
    let folder = folder();
    let file = robots_file(
        folder.path(),
        format!("User-agent: *\n{}", rules.join("\n")),
    );
    let questions: Vec<&str> = cases.iter().map(|case| text(case, "url")).collect();
    let answers = ask(&file, &[], &(questions.join("\n") + "\n"));
    for (rule, answer) in rules.iter().zip(&answers) {
        assert_eq!(answer["rule"], rule.as_str(), "{answer}");
    }
    assert_eq!(answers.len(), cases.len());
}
