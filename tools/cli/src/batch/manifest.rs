//! The manifest: one JSON object per line, one item each. Lines without text and lines that start with `#` are skipped.

use super::line::Status;
use birsim_engine::ir::nearest::nearest;
use birsim_kernels::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Where one side of the tensors comes from, inputs or goldens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Tensors {
    /// A folder of `.npy` files, or an `.npz` archive.
    Place(PathBuf),
    /// One file per tensor.
    Files(BTreeMap<String, PathBuf>),
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Position in the manifest, from 0.
    pub index: usize,
    /// Name; the line number where none is given.
    pub id: String,
    /// Program, or the modules of its cores.
    pub program: Vec<PathBuf>,
    /// Cores of one rank.
    pub lnc: Option<u32>,
    /// Number of ranks.
    pub ranks: Option<u32>,
    /// Inputs.
    pub inputs: Option<Tensors>,
    /// Seed of inputs without a file.
    pub random_inputs: Option<u64>,
    /// Goldens.
    pub goldens: Option<Tensors>,
    /// Options of `birsim run`.
    pub args: Vec<String>,
    /// Time limit in seconds.
    pub timeout: Option<f64>,
    /// Memory limit in bytes.
    pub max_memory: Option<u64>,
    /// Threads; the item takes the place of as many jobs.
    pub threads: Option<u16>,
    /// For `--tag`.
    pub tags: Vec<String>,
    /// How it should end.
    pub expect: Status,
    /// The error code it should end with.
    pub expect_code: Option<String>,
}

const KEYS: [&str; 14] = [
    "id",
    "program",
    "lnc",
    "ranks",
    "inputs",
    "random_inputs",
    "goldens",
    "args",
    "timeout",
    "max_memory",
    "threads",
    "tags",
    "expect",
    "expect_code",
];

impl Item {
    /// Reads one line; `None` for one without an item. `number` counts lines from 1, `index` items from 0.
    pub fn parse(text: &str, number: usize, index: usize) -> Result<Option<Item>> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|e| wrong(format!("this line is not JSON: {}", reason(&e))).received(short(text)))?;
        let Value::Object(map) = value else {
            return Err(wrong("an item is one JSON object").received(short(text)));
        };
        Fields { map }.item(number, index).map(Some)
    }

    /// The item ended as it should.
    pub fn expects(&self, status: Status, code: Option<&str>) -> bool {
        status == self.expect && self.expect_code.as_deref().is_none_or(|c| Some(c) == code)
    }
}

/// The items of a manifest, all of them checked: the error of every wrong line.
pub fn read_all(text: &str, name: &str) -> Result<Vec<Item>, Vec<Error>> {
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    let mut ids: HashMap<String, usize> = HashMap::new();
    for (k, line) in text.lines().enumerate() {
        let number = k + 1;
        let at = |e: Error| e.at(|p| p.file = Some(format!("{name}:{number}")));
        match Item::parse(line, number, items.len()) {
            Ok(None) => {}
            Ok(Some(item)) => match ids.insert(item.id.clone(), number) {
                Some(first) => errors.push(at(wrong("two items have one id")
                    .received(format!("{:?}, first in line {first}", item.id))
                    .at(|p| p.operand = Some("id".into())))),
                None => items.push(item),
            },
            Err(e) => errors.push(at(e)),
        }
    }
    if errors.is_empty() { Ok(items) } else { Err(errors) }
}

struct Fields {
    map: Map<String, Value>,
}

impl Fields {
    fn item(mut self, number: usize, index: usize) -> Result<Item> {
        if let Some(unknown) = self.map.keys().find(|k| !KEYS.contains(&k.as_str())) {
            let e = wrong("an item has no such key").received(format!("{unknown:?}"));
            return Err(match nearest(unknown, KEYS.into_iter()) {
                Some(best) => e.advice(format!("the nearest key is {best:?}")),
                None => e.advice(format!("the keys are {}", KEYS.join(", "))),
            });
        }
        let program = match self.map.remove("program") {
            None => return Err(wrong("the key \"program\" is missing").advice("name the file of the program")),
            Some(Value::Array(list)) if list.is_empty() => return Err(bad("program", "at least one file", "[]")),
            Some(Value::Array(list)) => list.iter().map(|v| path("program", v)).collect::<Result<Vec<_>>>()?,
            Some(one) => vec![path("program", &one)?],
        };
        let id = match self.map.remove("id") {
            None | Some(Value::Null) => number.to_string(),
            Some(Value::String(id)) if usable(&id) => id,
            Some(Value::Number(n)) if n.is_u64() => n.to_string(),
            Some(other) => return Err(bad("id", "a text that is not empty and has no control characters", &other)),
        };
        let timeout = match self.take("timeout") {
            None => None,
            Some(v) => match v.as_f64().filter(|s| *s > 0.0 && *s < 1e9) {
                Some(s) => Some(s),
                None => return Err(bad("timeout", "a number of seconds above 0", &v)),
            },
        };
        let max_memory = match self.take("max_memory") {
            None => None,
            Some(Value::Number(n)) if n.is_u64() => n.as_u64(),
            Some(Value::String(s)) => match crate::args::bytes(&s) {
                Ok(n) => Some(n),
                Err(_) => return Err(bad("max_memory", "a number of bytes, such as 500000 or \"500M\"", s)),
            },
            Some(v) => return Err(bad("max_memory", "a number of bytes, such as 500000 or \"500M\"", &v)),
        };
        let expect = match self.take("expect") {
            None => Status::Ok,
            Some(v) => match v.as_str().and_then(Status::from_name) {
                Some(s) => s,
                None => {
                    let names: Vec<&str> = Status::ALL.iter().map(|s| s.name()).collect();
                    return Err(bad("expect", &format!("one of {}", names.join(", ")), &v));
                }
            },
        };
        let expect_code = match self.take("expect_code") {
            None => None,
            Some(v) => match v.as_str().and_then(Code::parse) {
                Some(code) => Some(code.to_string()),
                None => return Err(bad("expect_code", "an error code, such as BIR-S003", &v)),
            },
        };
        let texts = |key: &str, v: Option<Value>| match v {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                Ok(list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
            }
            Some(v) => Err(bad(key, "a list of texts", &v)),
        };
        Ok(Item {
            index,
            id,
            program,
            lnc: self.count("lnc")?,
            ranks: self.count("ranks")?,
            inputs: self.tensors("inputs")?,
            random_inputs: match self.take("random_inputs") {
                None => None,
                Some(v) => Some(v.as_u64().ok_or_else(|| bad("random_inputs", "a number of at least 0", &v))?),
            },
            goldens: self.tensors("goldens")?,
            args: texts("args", self.take("args"))?,
            timeout,
            max_memory,
            threads: match self.take("threads") {
                None => None,
                Some(v) => match v.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0) {
                    Some(n) => Some(n),
                    None => return Err(bad("threads", "a number from 1 to 65535", &v)),
                },
            },
            tags: texts("tags", self.take("tags"))?,
            expect,
            expect_code,
        })
    }

    /// A value that is given; null counts as left out.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key).filter(|v| !v.is_null())
    }

    fn count(&mut self, key: &str) -> Result<Option<u32>> {
        let Some(v) = self.take(key) else { return Ok(None) };
        match v.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0) {
            Some(n) => Ok(Some(n)),
            None => Err(bad(key, "a number of at least 1", &v)),
        }
    }

    fn tensors(&mut self, key: &str) -> Result<Option<Tensors>> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(map)) => {
                let files = map.iter().map(|(name, v)| Ok((name.clone(), path(key, v)?)));
                Ok(Some(Tensors::Files(files.collect::<Result<_>>()?)))
            }
            Some(v) if v.is_string() => path(key, &v).map(|p| Some(Tensors::Place(p))),
            Some(v) => Err(bad(key, "a folder, an .npz archive, or an object of files by tensor name", &v)),
        }
    }
}

fn usable(id: &str) -> bool {
    !id.is_empty() && id.len() <= 200 && !id.chars().any(char::is_control)
}

fn path(key: &str, v: &Value) -> Result<PathBuf> {
    match v.as_str() {
        Some("-") => Err(bad(key, "a file: standard input belongs to the batch", v)),
        Some(text) if !text.is_empty() => Ok(Path::new(text).to_path_buf()),
        _ => Err(bad(key, "the name of a file", v)),
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Code::F010, what)
}

fn bad(key: &str, accepted: &str, got: impl std::fmt::Display) -> Error {
    wrong(format!("{key:?} takes {accepted}"))
        .received(short(&got.to_string()))
        .at(|p| p.operand = Some(key.to_string()))
}

/// The start of a long text.
fn short(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// The message of a syntax error without its line number, which is always 1 here.
fn reason(e: &serde_json::Error) -> String {
    e.to_string().replace(" at line 1 column ", " at column ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        let e = read_all(line, "m.jsonl").unwrap_err().remove(0);
        assert_eq!((e.code(), e.place().file.as_deref()), (Code::F010, Some("m.jsonl:1")));
        format!("{}|{}", e.what(), e.received_value().unwrap_or(""))
    }

    #[test]
    fn every_key_is_read() {
        let text = r#"{"id":"a","program":["x.json","y.json"],"lnc":2,"ranks":4,"inputs":"in","random_inputs":7,
            "goldens":{"o":"g.npy"},"args":["--strict"],"timeout":1.5,"max_memory":"2M","threads":2,"tags":["t"],
            "expect":"fault","expect_code":"S003"}"#
            .replace('\n', " ");
        let item = read_all(&text, "m").unwrap().remove(0);
        assert_eq!((item.id.as_str(), item.program.len(), item.lnc, item.ranks), ("a", 2, Some(2), Some(4)));
        assert_eq!((item.inputs, item.random_inputs), (Some(Tensors::Place("in".into())), Some(7)));
        assert_eq!(item.goldens, Some(Tensors::Files([("o".to_string(), "g.npy".into())].into())));
        assert_eq!((item.timeout, item.max_memory, item.threads), (Some(1.5), Some(2 << 20), Some(2)));
        assert_eq!((item.expect, item.expect_code.as_deref()), (Status::Fault, Some("BIR-S003")));
        assert_eq!((item.args, item.tags), (vec!["--strict".to_string()], vec!["t".to_string()]));
    }

    #[test]
    fn an_id_defaults_to_the_line_number() {
        let items = read_all("# a comment\n\n{\"program\":\"a\"}\n{\"program\":\"b\",\"id\":\"x\"}\n", "m").unwrap();
        assert_eq!((items[0].id.as_str(), items[0].index, items[1].index), ("3", 0, 1));
    }

    #[test]
    fn every_wrong_line_is_an_error_that_names_key_and_value() {
        assert!(error("{").starts_with("this line is not JSON: EOF while parsing an object at column 1|{"));
        assert_eq!(error("[]"), "an item is one JSON object|[]");
        assert_eq!(error(r#"{"id":"a"}"#), "the key \"program\" is missing|");
        assert_eq!(error(r#"{"program":"a","golden":"x"}"#), "an item has no such key|\"golden\"");
        assert_eq!(error(r#"{"program":7}"#), "\"program\" takes the name of a file|7");
        assert_eq!(error(r#"{"program":"-"}"#), "\"program\" takes a file: standard input belongs to the batch|\"-\"");
        assert_eq!(error(r#"{"program":[]}"#), "\"program\" takes at least one file|[]");
        assert!(error(r#"{"program":"a","id":""}"#).starts_with("\"id\" takes a text"));
        assert_eq!(error(r#"{"program":"a","lnc":0}"#), "\"lnc\" takes a number of at least 1|0");
        assert_eq!(error(r#"{"program":"a","ranks":-1}"#), "\"ranks\" takes a number of at least 1|-1");
        assert!(error(r#"{"program":"a","inputs":3}"#).starts_with("\"inputs\" takes a folder"));
        assert!(error(r#"{"program":"a","goldens":{"o":1}}"#).starts_with("\"goldens\" takes the name of a file"));
        assert_eq!(
            error(r#"{"program":"a","random_inputs":"x"}"#),
            "\"random_inputs\" takes a number of at least 0|\"x\""
        );
        assert_eq!(error(r#"{"program":"a","args":"--strict"}"#), "\"args\" takes a list of texts|\"--strict\"");
        assert_eq!(error(r#"{"program":"a","timeout":0}"#), "\"timeout\" takes a number of seconds above 0|0");
        assert!(error(r#"{"program":"a","max_memory":"2Q"}"#).starts_with("\"max_memory\" takes a number of bytes"));
        assert_eq!(error(r#"{"program":"a","threads":0}"#), "\"threads\" takes a number from 1 to 65535|0");
        assert_eq!(error(r#"{"program":"a","tags":[1]}"#), "\"tags\" takes a list of texts|[1]");
        assert!(error(r#"{"program":"a","expect":"good"}"#).starts_with("\"expect\" takes one of ok, mismatch"));
        assert!(error(r#"{"program":"a","expect_code":"Z9"}"#).starts_with("\"expect_code\" takes an error code"));
        let two = read_all("{\"program\":\"a\",\"id\":\"2\"}\n{\"program\":\"b\"}\n", "m").unwrap_err();
        assert_eq!(two[0].received_value(), Some("\"2\", first in line 1"));
    }
}
