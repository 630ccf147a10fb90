//! Tensor map: places for SBUF and PSUM tensors that the module does not place itself (`bir-json.md` 12).

use crate::ir::nearest::nearest;
use crate::ir::{MemoryType, Module, Storage};
use crate::{Code, Error, Result};
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// The keys of an entry.
const KEYS: [&str; 2] = ["partition_offset", "free_offset"];

/// (first partition, byte inside a partition) per tensor name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorMap {
    places: HashMap<String, (i64, u64)>,
    /// Every tensor that has an entry.
    names: BTreeSet<String>,
}

impl TensorMap {
    /// Reads `{"<tensor>": {"partition_offset": p, "free_offset": f}}`; entries without both keys place nothing, and other
    /// keys are left alone unless they look like a misspelt one of the two.
    pub fn from_json(text: &str) -> Result<TensorMap> {
        let json: serde_json::Value = serde_json::from_str(text)
            .map_err(|e| Error::new(Code::J001, format!("the tensor map is not JSON: {e}")))?;
        let serde_json::Value::Object(all) = json else {
            return Err(Error::new(Code::J002, "a tensor map is an object by tensor name"));
        };
        let (mut places, mut names) = (HashMap::new(), BTreeSet::new());
        for (name, entry) in all {
            let named = |e: Error| e.at(|p| p.tensor = Some(name.clone()));
            if !entry.is_object() {
                return Err(named(Error::new(Code::J002, "an entry of a tensor map is an object").received(&entry)));
            }
            let number = |key: &str| match entry.get(key) {
                None => Ok(None),
                Some(v) => v.as_u64().filter(|v| *v < 1 << 40).map(Some).ok_or_else(|| {
                    named(Error::new(Code::J011, "an offset of a tensor map is an integer from 0 to 2^40").received(v))
                        .operand(key)
                }),
            };
            for key in
                entry.as_object().into_iter().flatten().map(|(key, _)| key).filter(|k| !KEYS.contains(&k.as_str()))
            {
                if let Some(meant) = nearest(key, KEYS.into_iter()) {
                    return Err(named(Error::new(Code::J006, "a key of a tensor map places nothing"))
                        .received(key)
                        .advice(format!("did you mean '{meant}'?")));
                }
            }
            names.insert(name.clone());
            if let (Some(partition), Some(free)) = (number("partition_offset")?, number("free_offset")?) {
                places.insert(name, (partition as i64, free));
            }
        }
        Ok(TensorMap { places, names })
    }

    /// The module with the placed locations. A tensor is found by the name of its location or of its set; a name the
    /// module does not have is an error.
    pub fn apply(&self, module: &Module) -> Result<Module> {
        let mut out = module.clone();
        let mut known = BTreeSet::new();
        for f in out.functions.iter_mut().chain(&mut out.nki_functions) {
            for s in &mut f.allocations {
                let Storage::Set(set) = s else { continue };
                let single = set.locations.len() == 1;
                known.extend(single.then(|| set.name.clone()));
                for l in &mut set.locations {
                    known.insert(l.name.clone());
                    let by_set = || self.places.get(&set.name).filter(|_| single);
                    let Some((partition, free)) = self.places.get(&l.name).or_else(by_set) else { continue };
                    l.addr = *free;
                    if matches!(l.ty, MemoryType::Sb | MemoryType::Psum) {
                        (l.base, l.bank) = (*partition, 0);
                    }
                    l.allocated = true;
                }
            }
        }
        let Some(name) = self.names.iter().find(|n| !known.contains(*n)) else { return Ok(out) };
        let e = Error::new(Code::F006, format!("the tensor map places {name}, which the program lacks")).received(name);
        Err(match nearest(name, known.iter().map(String::as_str)) {
            Some(meant) => e.advice(format!("did you mean '{meant}'?")),
            None => e,
        })
    }
}
