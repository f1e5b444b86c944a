//! What goes into the analytic engine, and what comes out.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Host, Solution, Stream, TWIN_VERSION, Target, TwinError, solve};

/// One what-if.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Index into the document's targets.
    #[serde(default)]
    pub target: usize,
    /// Index into the document's hosts.
    #[serde(default)]
    pub host: usize,
    /// The target so many times side by side, so that a document holds it once ([`Target::times`]); at least 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub members: u32,
    /// What runs at the same time.
    pub streams: Vec<Stream>,
}

fn one() -> u32 {
    1
}

// Serde wants a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// Any number of what-ifs on any number of targets and hosts: complete in itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// [`TWIN_VERSION`].
    pub version: u32,
    /// Targets, complete with every parameter.
    pub targets: Vec<Target>,
    /// Hosts, complete with every parameter.
    pub hosts: Vec<Host>,
    /// The what-ifs.
    pub questions: Vec<Question>,
}

/// The answer to one what-if.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Answer {
    /// The twin knows.
    Solved {
        /// What it knows.
        solution: Solution,
    },
    /// The twin cannot know.
    Refused {
        /// Why: one sentence.
        reason: String,
        /// What to do: one sentence.
        fix: String,
    },
}

/// Answers in the order of the questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// [`TWIN_VERSION`].
    pub version: u32,
    /// One per question.
    pub answers: Vec<Answer>,
}

impl Questions {
    /// Reads the document.
    ///
    /// # Errors
    /// Where it is not one, or of another version.
    pub fn parse(document: &str) -> Result<Self, TwinError> {
        let questions: Self = serde_json::from_str(document).map_err(|error| TwinError::Document(error.to_string()))?;
        if questions.version != TWIN_VERSION {
            return Err(TwinError::Version { seen: questions.version, wanted: TWIN_VERSION });
        }
        Ok(questions)
    }

    /// Answers every question; a refusal does not stop the others.
    pub fn answer(&self) -> Answers {
        let mut made = HashMap::new();
        let answers = self.questions.iter().map(|question| match self.solve(question, &mut made) {
            Ok(solution) => Answer::Solved { solution },
            Err(error) => Answer::Refused { reason: error.to_string(), fix: error.fix() },
        });
        Answers { version: TWIN_VERSION, answers: answers.collect() }
    }

    /// `made` keeps arrays that were asked for before, by target and members.
    fn solve(&self, question: &Question, made: &mut HashMap<(usize, u32), Target>) -> Result<Solution, TwinError> {
        let missing = |what: &str, index: usize| TwinError::field(what, index, "name one that the document holds");
        let target = self.targets.get(question.target).ok_or_else(|| missing("target", question.target))?;
        let host = self.hosts.get(question.host).ok_or_else(|| missing("host", question.host))?;
        if question.members == 1 {
            return solve(target, host, &question.streams);
        }
        let many = made.entry((question.target, question.members)).or_insert_with(|| target.times(question.members));
        solve(many, host, &question.streams)
    }
}
