//! Tensors: the place of each of their bytes.

use super::*;

impl<'a> Plain<'a> {
    pub(super) fn words(&self, keys: &[Key]) -> Vec<u32> {
        let byte = |k: &Key| self.memory.get(k).copied().unwrap_or(0xFF);
        keys.chunks_exact(4).map(|k| u32::from_le_bytes([byte(&k[0]), byte(&k[1]), byte(&k[2]), byte(&k[3])])).collect()
    }

    pub(super) fn read(&mut self, f: &Function, i: &Instruction, k: usize) -> Run<Vec<u32>> {
        self.seen(format!("operand {}", i.ins[k].kind()));
        let keys = self.keys(f, i, &i.ins[k])?;
        let name = &self.tensor_of(f, &i.ins[k]).name;
        let others = keys
            .iter()
            .filter_map(|k| self.writers.get(k))
            .fold([false; 2], |[tensor, engine], (t, e)| [tensor | (t != name), engine | (*e != i.engine)]);
        for (other, what) in others.into_iter().zip(["reads through an overlap", "reads across engines"]) {
            if other {
                self.seen(what);
            }
        }
        Ok(self.words(&keys))
    }

    /// The location of a tensor operand.
    pub(super) fn tensor_of(&self, f: &Function, o: &Operand) -> &'a Location {
        let set = match o {
            Operand::Physical(a) => set_name(f, &a.memref, &a.memsetref),
            Operand::Symbolic(a) => a.memsetref.to_string(),
            Operand::RegisterAp(a) => a.memsetref.to_string(),
            other => unreachable!("{other:?} is no tensor"),
        };
        self.location(f, &set).1
    }

    pub(super) fn write(&mut self, f: &Function, i: &Instruction, v: &[u32]) -> Run<()> {
        self.seen(format!("operand {}", i.outs[0].kind()));
        let keys = self.keys(f, i, &i.outs[0])?;
        assert_eq!(keys.len(), v.len() * 4, "{}", i.name);
        let writer = (self.tensor_of(f, &i.outs[0]).name.clone(), i.engine);
        for (k, b) in keys.iter().zip(v.iter().flat_map(|v| v.to_le_bytes())) {
            self.memory.insert(*k, b);
            self.writers.insert(*k, writer.clone());
        }
        Ok(())
    }

    /// The bytes an operand means now, element by element; the documented fault when one is outside its tensor.
    pub fn keys(&self, f: &Function, i: &Instruction, o: &Operand) -> Run<Vec<Key>> {
        let (set, offset, ap) = match o {
            Operand::Physical(a) => {
                let offset = match &a.dynamic {
                    Some(d) => d.c.unwrap_or(a.offset) + d.offset_expr.as_ref().map_or(0, |e| self.value(f, e)),
                    None => a.offset,
                };
                (set_name(f, &a.memref, &a.memsetref), offset, &a.ap)
            }
            Operand::Symbolic(a) => {
                let pitch = self.location(f, &a.memsetref).1.dims[1] as i64 / 4;
                let offset = self.value(f, &a.addrs[0]) * pitch + self.value(f, &a.addrs[1]);
                (a.memsetref.to_string(), offset, &a.ap)
            }
            Operand::RegisterAp(a) => {
                let offset = match &a.reg_ap_offset {
                    Some(r) => self.register(f, r),
                    None => a.const_ap_offset,
                };
                (a.memsetref.to_string(), offset, &a.ap)
            }
            other => unreachable!("{other:?} is no tensor"),
        };
        let (space, loc) = self.location(f, &set);
        let mut elements = vec![offset];
        for p in ap.iter() {
            elements = elements.iter().flat_map(|e| (0..p.num).map(move |n| e + n * p.step)).collect();
        }
        let pitch = loc.dims[1] as i64 / 4;
        if elements.iter().any(|e| *e < 0 || *e >= pitch * loc.dims[0] as i64) {
            return Err(("BIR-S001".into(), i.name.clone()));
        }
        Ok(elements
            .iter()
            .flat_map(|e| (0..4).map(move |b| (*e * 4 + b) as u64))
            .map(|b| place(space, loc, b))
            .collect())
    }

    /// Space and record of a set's location, through the bindings of a call.
    pub(super) fn location(&self, f: &Function, set: &str) -> (u32, &'a Location) {
        let (owner, set) = match self.bindings.get(set) {
            Some(actual) if f.arguments.iter().any(|a| a == set) => {
                (self.module.entry().expect("a module has an entry"), actual.as_str())
            }
            _ => (f, set),
        };
        find(self.module, self.physical, &owner.name, set)
    }

    /// The bytes of a tensor of a function.
    pub fn tensor(&self, function: &str, set: &str) -> Vec<u8> {
        let (space, loc) = find(self.module, self.physical, function, set);
        let bytes = loc.dims[0] * loc.dims[1];
        (0..bytes).map(|b| self.memory.get(&place(space, loc, b)).copied().unwrap_or(0xFF)).collect()
    }

    /// Sets the bytes of a tensor of the entry function.
    pub fn bind(&mut self, set: &str, bytes: &[u8]) {
        let (space, loc) = find(self.module, self.physical, "main", set);
        for (b, v) in bytes.iter().enumerate() {
            self.memory.insert(place(space, loc, b as u64), *v);
        }
    }

    /// Every byte that a tensor of the entry function covers.
    pub fn extent(module: &Module, physical: bool, function: &str, set: &str) -> BTreeSet<Key> {
        let (space, loc) = find(module, physical, function, set);
        (0..loc.dims[0] * loc.dims[1]).map(|b| place(space, loc, b)).collect()
    }
}

pub(super) fn place(space: u32, loc: &Location, byte: u64) -> Key {
    let (row, col) = (byte / loc.dims[1], byte % loc.dims[1]);
    match space {
        0 => (0, loc.base as u64 + row, loc.addr + col),
        1 => (1, loc.base as u64 + row, loc.bank as u64 * 2048 + loc.addr + col),
        own => (own, row, col),
    }
}

pub(super) fn find<'m>(module: &'m Module, physical: bool, function: &str, set: &str) -> (u32, &'m Location) {
    let mut own = 2;
    for f in module.functions.iter().chain(&module.nki_functions) {
        for s in &f.allocations {
            let Storage::Set(LocationSet { name, locations, .. }) = s else { continue };
            own += 1;
            let l = &locations[0];
            if f.name == function && name == set {
                return match (physical && l.allocated, l.ty) {
                    (true, MemoryType::Sb) => (0, l),
                    (true, MemoryType::Psum) => (1, l),
                    _ => (own, l),
                };
            }
        }
    }
    unreachable!("{function} has no set {set}")
}

pub(super) fn set_name(f: &Function, memref: &str, memsetref: &str) -> String {
    let of = f.allocations.iter().find_map(|s| match s {
        Storage::Set(set) if set.locations[0].name == memref => Some(set.name.clone()),
        _ => None,
    });
    of.unwrap_or_else(|| memsetref.to_string())
}
