//! Answers of the laboratory: a JSON text with `ok`, `mistakes` or `refused`, and the arrays that it names.

use serde_json::{Value as Json, json};
use varicap_experiment::{Mistakes, ScenarioError};

/// An answer.
#[derive(Debug, Default)]
pub struct Answer {
    json: Json,
    /// The arrays that the text names, one after another.
    pub bytes: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Refusal {
    /// The scenario has mistakes.
    Mistakes(Mistakes),
    /// The request cannot be met.
    Request(String),
}

/// Columns of the terminal for which mistakes are shown.
const COLUMNS: usize = 100;

impl Answer {
    /// The answer to a request that was met.
    pub fn new(answer: Json, bytes: Vec<u8>) -> Answer {
        Answer { json: json!({ "ok": answer }), bytes }
    }

    /// The answer as a JSON text.
    pub fn text(&self) -> String {
        self.json.to_string()
    }

    /// The answer as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let json = match refusal {
            Refusal::Mistakes(mistakes) => json!({ "mistakes": mistakes_json(&mistakes) }),
            Refusal::Request(why) => json!({ "refused": why }),
        };
        Answer { json, bytes: Vec::new() }
    }
}

fn mistakes_json(mistakes: &Mistakes) -> Json {
    let errors: Vec<Json> = mistakes.errors.iter().map(error_json).collect();
    let text = mistakes.to_string();
    json!({ "errors": errors, "more": mistakes.more, "text": text, "shown": mistakes.show(COLUMNS) })
}

fn error_json(error: &ScenarioError) -> Json {
    let excerpt = error.excerpt.as_deref();
    json!({
        "file": error.file,
        "line": error.line,
        "column": error.column,
        "key": error.key,
        "found": error.found,
        "expected": error.expected,
        "hint": error.hint,
        "excerpt": excerpt.map(|excerpt| json!([excerpt.text, excerpt.start, excerpt.length])),
    })
}
