//! Errors of every crate: one registry of stable codes, each with its class, rule and advice.

use std::fmt;

pub mod codes;
pub use codes::Code;

/// Result with birsim's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an error is. The class alone decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Usage, or unreadable, malformed or dangling input.
    Invalid,
    /// A fault of the simulated program.
    Fault,
    /// Something birsim does not model.
    Unsupported,
    /// A defect of birsim itself.
    Bug,
}

impl Class {
    /// Process exit code of this class.
    pub const fn exit_code(self) -> i32 {
        match self {
            Class::Invalid => 2,
            Class::Fault => 3,
            Class::Unsupported => 4,
            Class::Bug => 70,
        }
    }

    /// Word used in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Class::Invalid => "invalid",
            Class::Fault => "fault",
            Class::Unsupported => "unsupported",
            Class::Bug => "bug",
        }
    }
}

/// Where an error happened, outermost first. Layers fill in what they know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// File the input came from.
    pub file: Option<String>,
    /// Rank, in a run of several.
    pub rank: Option<u32>,
    /// Core of the rank, in a run of several.
    pub core: Option<u32>,
    /// Function of the module.
    pub function: Option<String>,
    /// Basic block.
    pub block: Option<String>,
    /// Instruction name.
    pub instruction: Option<String>,
    /// Opcode of that instruction.
    pub opcode: Option<String>,
    /// Operand, as `ins[0]`, or the field's JSON key.
    pub operand: Option<String>,
    /// Memory location.
    pub tensor: Option<String>,
    /// Line of the program the instruction came from, `file:line`, or the position in the input text.
    pub source: Option<String>,
}

/// The line of a text that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Number of the line, from 1.
    pub line: usize,
    /// First marked character of the line, from 1.
    pub column: usize,
    /// The line, or the part of a long one around the mark.
    pub text: String,
    /// First marked character of `text`, from 0.
    pub caret: usize,
    /// Number of marked characters.
    pub width: usize,
}

impl Excerpt {
    /// The position as text.
    pub fn position(&self) -> String {
        format!("line {} column {}", self.line, self.column)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        write!(f, "  {number} | {}\n  {margin} | {}{}", self.text, " ".repeat(self.caret), "^".repeat(self.width))
    }
}

/// A typed error: which rule was broken, where, by which value, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    code: Code,
    what: String,
    received: Option<String>,
    advice: Option<String>,
    place: Place,
    excerpt: Option<Excerpt>,
}

impl Error {
    /// An error that says `what` went wrong. Rule and general advice come from the registry.
    #[cold]
    pub fn new(code: Code, what: impl Into<String>) -> Self {
        let place = Place::default();
        Error(Box::new(Inner { code, what: what.into(), received: None, advice: None, place, excerpt: None }))
    }

    /// Adds the value that broke the rule.
    #[must_use]
    pub fn received(mut self, value: impl fmt::Display) -> Self {
        self.0.received = Some(value.to_string());
        self
    }

    /// Replaces the registry's advice by one that fits this case better.
    #[must_use]
    pub fn advice(mut self, text: impl Into<String>) -> Self {
        self.0.advice = Some(text.into());
        self
    }

    /// Completes the place; parts that are already set stay.
    #[must_use]
    pub fn at(mut self, fill: impl FnOnce(&mut Place)) -> Self {
        let mut outer = Place::default();
        fill(&mut outer);
        let p = &mut self.0.place;
        p.file = p.file.take().or(outer.file);
        p.rank = p.rank.or(outer.rank);
        p.core = p.core.or(outer.core);
        p.function = p.function.take().or(outer.function);
        p.block = p.block.take().or(outer.block);
        p.instruction = p.instruction.take().or(outer.instruction);
        p.opcode = p.opcode.take().or(outer.opcode);
        p.operand = p.operand.take().or(outer.operand);
        p.tensor = p.tensor.take().or(outer.tensor);
        p.source = p.source.take().or(outer.source);
        self
    }

    /// Adds the line of the text that the error is about.
    #[must_use]
    pub fn excerpt(mut self, excerpt: Excerpt) -> Self {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// Shorthand for naming the operand or field.
    #[must_use]
    pub fn operand(self, name: impl Into<String>) -> Self {
        self.at(|p| p.operand = Some(name.into()))
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The class, which decides the exit code.
    pub fn class(&self) -> Class {
        self.0.code.class()
    }

    /// One sentence: what went wrong.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// The offending value.
    pub fn received_value(&self) -> Option<&str> {
        self.0.received.as_deref()
    }

    /// What to do about it.
    pub fn advice_text(&self) -> &str {
        self.0.advice.as_deref().unwrap_or_else(|| self.0.code.advice())
    }

    /// Where it happened.
    pub fn place(&self) -> &Place {
        &self.0.place
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut add = |label: &str, v: &Option<String>| {
            if let Some(v) = v {
                parts.push(format!("{label} {v}"));
            }
        };
        add("file", &self.file);
        add("rank", &self.rank.map(|n| n.to_string()));
        add("core", &self.core.map(|n| n.to_string()));
        add("function", &self.function);
        add("block", &self.block);
        match (&self.instruction, &self.opcode) {
            (Some(i), Some(o)) => parts.push(format!("instruction {i} ({o})")),
            (Some(i), None) => parts.push(format!("instruction {i}")),
            (None, Some(o)) => parts.push(format!("opcode {o}")),
            (None, None) => {}
        }
        let mut add = |label: &str, v: &Option<String>| {
            if let Some(v) = v {
                parts.push(format!("{label} {v}"));
            }
        };
        add("operand", &self.operand);
        add("tensor", &self.tensor);
        add("at", &self.source);
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "{}: {}", inner.code, inner.what)?;
        let place = inner.place.to_string();
        if !place.is_empty() {
            write!(f, "\n  where: {place}")?;
        }
        if let Some(excerpt) = &inner.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        write!(f, "\n  rule:  {}", inner.code.rule())?;
        if let Some(v) = &inner.received {
            write!(f, "\n  got:   {v}")?;
        }
        write!(f, "\n  help:  {}", self.advice_text())
    }
}

impl std::error::Error for Error {}
