//! Names of one function, and the aliases between them.

use super::placement::{Layout, with_live};
use super::spawn::engine_index;
use super::{FunctionId, LocId, LocationMeta, Program, RegRef, SetId, SetInfo};
use crate::ir::{self, AddressSpace, Storage};
use crate::memory::LocationInfo;
use crate::{Code, Error, Result};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Names declared by one function.
#[derive(Default)]
pub struct Scope {
    /// Set name to set.
    pub sets: HashMap<String, SetId>,
    /// Location name to location.
    pub locations: HashMap<String, LocId>,
    /// Register name to register.
    pub registers: HashMap<String, RegRef>,
}

/// Declares the storage of a function: sets, locations, registers.
pub fn declare(
    program: &mut Program,
    layout: &mut Layout,
    scope: &mut Scope,
    storages: &[Storage],
    (function, formals): (FunctionId, &[String]),
) -> Result<()> {
    let mut later = Vec::new();
    for storage in storages {
        match storage {
            Storage::Set(set) => {
                let id = SetId::of(program.sets.len());
                let mut order: Vec<(i64, LocId)> = Vec::new();
                for loc in &set.locations {
                    let index = LocId::of(program.locations.len());
                    let placed = layout.place(set, loc).map_err(|e| {
                        let e = e.at(|p| p.tensor = Some(loc.name.clone()));
                        if e.code() == Code::S018 { with_live(e, program, layout, loc.ty) } else { e }
                    })?;
                    layout.placements.push(placed);
                    program.locations.push(LocationMeta {
                        name: loc.name.as_str().into(),
                        set: id,
                        kind: loc.kind.unwrap_or(set.kind),
                        ty: loc.ty,
                        shape: set.tensor_shape.clone().into(),
                        dtype: set.dtype,
                        file: set.file.as_str().into(),
                        addr: loc.addr,
                        pinned: loc.pinned,
                        aliased: !loc.alias.is_empty(),
                        shared: loc.addr_space.unwrap_or(set.addr_space) == AddressSpace::Shared,
                        window: window(loc).map_err(|e| e.at(|p| p.tensor = Some(loc.name.clone())))?,
                    });
                    if scope.locations.insert(loc.name.clone(), index).is_some() {
                        return Err(duplicate("memory location", &loc.name));
                    }
                    order.push((if loc.tensor_id < 0 { order.len() as i64 } else { loc.tensor_id }, index));
                    if let Some(target) = &loc.pointer_ref_memloc {
                        later.push((index, target.clone()));
                    }
                    for (_, target, kind) in &loc.alias {
                        // Bit 2 of the kind says "must": both names are one memory.
                        if kind & 2 != 0 {
                            later.push((index, target.clone()));
                        }
                    }
                }
                order.sort();
                program.sets.push(SetInfo {
                    name: set.name.as_str().into(),
                    locations: order.into_iter().map(|(_, l)| l).collect(),
                    formal: formals.contains(&set.name),
                    function,
                });
                if scope.sets.insert(set.name.clone(), id).is_some() {
                    return Err(duplicate("memory-location set", &set.name));
                }
            }
            Storage::Register(r) => {
                // A register without an engine is in the file that all engines share.
                let engine = if r.engine == ir::Engine::Unassigned { ir::Engine::All } else { r.engine };
                let e = engine_index(engine);
                let physical = r.reg_id >= 0;
                let wide = r.num_physical_regs == 2;
                let slot = if physical {
                    let id = u32::try_from(r.reg_id).ok().filter(|id| *id < 1024).ok_or_else(|| {
                        Error::new(Code::J011, "a physical register id is below 1024").received(r.reg_id)
                    })?;
                    layout.physical_registers[e] = layout.physical_registers[e].max(id + 1 + u32::from(wide));
                    id
                } else {
                    layout.symbolic[e] += 1;
                    layout.symbolic[e] - 1
                };
                let reg = RegRef { engine, slot, physical, wide, signed: r.dtype.is_signed() };
                program.registers.push((r.name.as_str().into(), reg));
                if scope.registers.insert(r.name.clone(), reg).is_some() {
                    return Err(duplicate("register", &r.name));
                }
            }
        }
    }
    join_aliases(program, layout, scope, &later)
}

/// Gives every alias and pointer the memory of what it names. A name may lead to another one, in any order of declaration.
fn join_aliases(program: &mut Program, layout: &mut Layout, scope: &Scope, pairs: &[(LocId, String)]) -> Result<()> {
    let mut named: BTreeMap<LocId, LocId> = BTreeMap::new();
    for (index, target) in pairs {
        let tensor = program.locations[*index].name.to_string();
        let refuse = |e: Error| e.at(|p| p.tensor = Some(tensor.clone()));
        let to = *scope.locations.get(target).ok_or_else(|| {
            refuse(Error::new(Code::J006, format!("the alias or pointer target {target} does not exist")))
        })?;
        let (from, to) = (last(&mut named, *index), last(&mut named, to));
        if from == to {
            continue;
        }
        if from != *index {
            let first = &program.locations[from].name;
            return Err(refuse(
                Error::new(Code::J013, "an alias names two different memories")
                    .received(format!("{first} and {target}")),
            ));
        }
        named.insert(from, to);
    }
    let aliases: Vec<LocId> = named.keys().copied().collect();
    for index in &aliases {
        let to = last(&mut named, *index);
        let dst = layout.placements[to].clone();
        let own = &mut layout.placements[*index];
        let fits = match (own.ty.is_dram(), dst.ty.is_dram()) {
            (true, true) => own.bytes() <= dst.bytes(),
            (false, false) => own.ty == dst.ty && own.rows <= dst.rows && own.row_bytes <= dst.row_bytes,
            _ => false,
        };
        if !fits {
            let shape = |l: &LocationInfo| format!("{} {} x {} bytes", l.ty, l.rows, l.row_bytes);
            return Err(Error::new(Code::J013, "an alias does not fit into the memory it names")
                .received(format!("{} onto {}", shape(own), shape(&dst)))
                .at(|p| p.tensor = Some(program.locations[*index].name.to_string())));
        }
        (own.arena, own.start) = (dst.arena, dst.start);
        if !own.ty.is_dram() {
            (own.base, own.row_stride, own.bank_offset) = (dst.base, dst.row_stride, dst.bank_offset);
        }
        program.locations[*index].aliased = true;
        program.locations[to].aliased = true;
    }
    Ok(())
}

/// The end of a chain of names; the steps to it are shortened, so that long chains stay cheap.
fn last(named: &mut BTreeMap<LocId, LocId>, from: LocId) -> LocId {
    let mut end = from;
    while let Some(next) = named.get(&end) {
        end = *next;
    }
    let mut at = from;
    while let Some(next) = named.get_mut(&at) {
        at = std::mem::replace(next, end);
    }
    end
}

fn duplicate(what: &str, name: &str) -> Error {
    Error::new(Code::J007, format!("the {what} {name} is declared twice")).received(name)
}

/// The tensor of another core that `remote_local_target` names.
fn window(loc: &crate::ir::Location) -> Result<Option<Box<(String, u32)>>> {
    let Some(target) = loc.extra.get("remote_local_target").filter(|t| !t.is_null()) else { return Ok(None) };
    let named = match target.as_array().map(Vec::as_slice) {
        Some([name, core]) => name.as_str().zip(core.as_u64().and_then(|c| u32::try_from(c).ok())),
        _ => None,
    };
    let (name, core) = named.ok_or_else(|| {
        Error::new(Code::J013, "remote_local_target is [NAME, CORE]").received(target).operand("remote_local_target")
    })?;
    Ok(Some(Box::new((name.to_string(), core))))
}
