//! Compact forms of what operands and instructions hold. A large module is mostly names and patterns that repeat, and lists
//! and maps that are empty: names and patterns are shared, what is empty takes one word.

use super::ApPair;
use serde_json::{Map, Value as Json};
use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

/// A name. Everything in a module that has the same name shares one copy of the text.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Option<Arc<str>>);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl std::hash::Hash for Name {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name(Some(text).filter(|t| !t.is_empty()).map(Arc::from))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&String> for Name {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The pairs of an access pattern, shared by all operands that have the same.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Pairs(Option<Arc<[ApPair]>>);

impl Deref for Pairs {
    type Target = [ApPair];

    fn deref(&self) -> &[ApPair] {
        self.0.as_deref().unwrap_or(&[])
    }
}

impl DerefMut for Pairs {
    fn deref_mut(&mut self) -> &mut [ApPair] {
        self.0.as_mut().map_or(&mut [], Arc::make_mut)
    }
}

impl Borrow<[ApPair]> for Pairs {
    fn borrow(&self) -> &[ApPair] {
        self
    }
}

impl std::hash::Hash for Pairs {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl From<&[ApPair]> for Pairs {
    fn from(pairs: &[ApPair]) -> Self {
        Pairs(Some(pairs).filter(|p| !p.is_empty()).map(Arc::from))
    }
}

impl From<Vec<ApPair>> for Pairs {
    fn from(pairs: Vec<ApPair>) -> Self {
        pairs.as_slice().into()
    }
}

impl FromIterator<ApPair> for Pairs {
    fn from_iter<I: IntoIterator<Item = ApPair>>(pairs: I) -> Self {
        pairs.into_iter().collect::<Vec<ApPair>>().into()
    }
}

impl<'a> IntoIterator for &'a Pairs {
    type Item = &'a ApPair;
    type IntoIter = std::slice::Iter<'a, ApPair>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Keys that the reader does not know, kept for writing back.
#[derive(Clone, Default, PartialEq)]
pub struct Extra(Option<Box<Map<String, Json>>>);

static EMPTY: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);

impl Extra {
    /// No keys.
    pub const fn new() -> Self {
        Extra(None)
    }

    /// The keys as a JSON object.
    pub fn into_map(self) -> Map<String, Json> {
        self.0.map_or_else(Map::new, |map| *map)
    }

    /// There are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|map| map.is_empty())
    }
}

impl Deref for Extra {
    type Target = Map<String, Json>;

    fn deref(&self) -> &Map<String, Json> {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl DerefMut for Extra {
    fn deref_mut(&mut self) -> &mut Map<String, Json> {
        self.0.get_or_insert_default()
    }
}

impl From<Map<String, Json>> for Extra {
    fn from(map: Map<String, Json>) -> Self {
        Extra(Some(map).filter(|m| !m.is_empty()).map(Box::new))
    }
}

impl FromIterator<(String, Json)> for Extra {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(entries: I) -> Self {
        entries.into_iter().collect::<Map<String, Json>>().into()
    }
}

impl IntoIterator for Extra {
    type Item = (String, Json);
    type IntoIter = serde_json::map::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.into_map().into_iter()
    }
}

impl<'a> IntoIterator for &'a Extra {
    type Item = (&'a String, &'a Json);
    type IntoIter = serde_json::map::Iter<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
