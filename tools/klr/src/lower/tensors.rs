//! Memory locations of a kernel: tensors that share an address are one location (`klr.md` 8.3).

use super::maps;
use super::names::Names;
use crate::ast::{LncKernel, Memory, TensorName, TensorRef};
use crate::codec::{Part, Show};
use birsim_ir::{AddressSpace, Extra, Location, LocationSet, MemoryType, Storage, TensorKind};
use birsim_kernels::{Code, Dtype, Error, Result};
use std::collections::{HashMap, HashSet};

/// Bytes of one PSUM bank inside a partition.
const PSUM_BANK: u64 = 2048;

/// Where a tensor lives: the location and its place inside it.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Location name.
    pub location: String,
    /// Set name.
    pub set: String,
    /// Bytes per row of the location; `None` for linear memory, whose rows need no conversion.
    pub pitch: Option<u64>,
    /// Rows before the tensor.
    pub row: u64,
    /// Bytes before the tensor in each row.
    pub byte: u64,
}

/// A region that locations are made of: a tensor's, or an allocated reference's.
#[derive(Clone, Debug)]
pub struct Region {
    /// Address name: what shares storage.
    pub address: String,
    /// Tensor name.
    pub name: String,
    /// Memory space.
    pub memory: Memory,
    /// Element type.
    pub dtype: Dtype,
    /// Logical shape.
    pub shape: Vec<u64>,
    /// Rows.
    pub rows: u64,
    /// Bytes per row.
    pub bytes: u64,
    /// First partition, when allocated.
    pub par_offset: Option<u64>,
    /// First byte in each partition, when allocated.
    pub free_offset: Option<u64>,
}

impl Region {
    /// The region of a tensor. Checks that its shape, sizes and address agree.
    pub fn of(tensor: &TensorName) -> Result<Region> {
        let bad = |what: &str| Error::new(Code::K005, what).at(|p| p.tensor = Some(tensor.name.clone()));
        let dtype = maps::dtype(tensor.dtype);
        let bytes = tensor
            .shape
            .free_elements()
            .and_then(|n| n.checked_mul(dtype.size() as u64))
            .ok_or_else(|| bad("the shape of a tensor leaves 64 bits"))?;
        let a = &tensor.address;
        if tensor.shape.par_dim > a.par_size || bytes > a.free_size {
            return Err(bad("a tensor is larger than its address region").received(format!(
                "{} rows of {bytes} bytes in {} rows of {} bytes",
                tensor.shape.par_dim, a.par_size, a.free_size
            )));
        }
        if a.memory == Memory::Reg {
            return Err(Error::new(Code::K004, "a tensor operand is in the register file")
                .at(|p| p.tensor = Some(tensor.name.clone())));
        }
        Ok(Region {
            address: a.name.clone(),
            name: tensor.name.clone(),
            memory: a.memory,
            dtype,
            shape: tensor.shape.dims(),
            rows: tensor.shape.par_dim,
            bytes,
            par_offset: a.par_offset,
            free_offset: a.free_offset,
        })
    }

    /// The region of an allocated reference (tags 2, 3 and 4); `None` for the other forms.
    pub fn of_ref(reference: &TensorRef) -> Result<Option<Region>> {
        let (memory, t) = match reference {
            TensorRef::Sbuf(t) => (Memory::Sbuf, t),
            TensorRef::Psum(t) => (Memory::Psum, t),
            TensorRef::Hbm(t) => {
                let dtype = maps::dtype(t.dtype);
                let elements = extent(t.dims.iter().map(|p| (p.step, p.num, p.offset)));
                let bytes = elements
                    .and_then(|n| n.checked_mul(dtype.size() as u64))
                    .ok_or_else(|| Error::new(Code::K005, "the extent of an HBM reference leaves 64 bits"))?;
                return Ok(Some(Region {
                    address: t.name.clone(),
                    name: t.name.clone(),
                    memory: Memory::Hbm,
                    dtype,
                    shape: t.dims.iter().map(|p| p.num).collect(),
                    rows: 1,
                    bytes,
                    par_offset: None,
                    free_offset: None,
                }));
            }
            _ => return Ok(None),
        };
        let dtype = maps::dtype(t.dtype);
        let bytes = extent(t.pattern.iter().map(|p| (p.step, p.num, p.offset)))
            .and_then(|n| n.checked_mul(dtype.size() as u64))
            .ok_or_else(|| Error::new(Code::K005, "the extent of an allocated reference leaves 64 bits"))?;
        Ok(Some(Region {
            address: t.name.clone(),
            name: t.name.clone(),
            memory,
            dtype,
            shape: std::iter::once(t.par_num).chain(t.pattern.iter().map(|p| p.num)).collect(),
            rows: t.par_num,
            bytes,
            par_offset: Some(t.par_offset),
            free_offset: Some(t.free_offset),
        }))
    }

    /// The region with the address that the listed tensor of its name has.
    fn in_address(mut self, addresses: &HashMap<String, String>) -> Region {
        if let Some(address) = addresses.get(&self.address) {
            self.address.clone_from(address);
        }
        self
    }

    fn is_hbm(&self) -> bool {
        !matches!(self.memory, Memory::Sbuf | Memory::Psum)
    }
}

/// True the first time a description of a tensor is seen; the rotation hint does not count.
fn fresh<'a>(seen: &mut HashMap<&'a str, Vec<&'a TensorName>>, tensor: &'a TensorName) -> bool {
    let list = seen.entry(&tensor.name).or_default();
    let known = list.iter().any(|t| t.dtype == tensor.dtype && t.shape == tensor.shape && t.address == tensor.address);
    if !known {
        list.push(tensor);
    }
    !known
}

/// Elements from the start to the last one of (step, num, offset) pairs with positive steps.
fn extent(mut pairs: impl Iterator<Item = (i64, u64, u64)>) -> Option<u64> {
    pairs.try_fold(1u64, |n, (step, num, offset)| {
        let last = num.saturating_sub(1).checked_add(offset)?;
        n.checked_add(last.checked_mul(u64::try_from(step).unwrap_or(0))?)
    })
}

/// What the kernel's lists say about an address.
#[derive(Default)]
struct Role {
    input: Option<String>,
    output: Option<String>,
    constant: Option<String>,
}

/// All locations of one core.
pub struct Tensors {
    /// Location of each address name. Allocated offsets choose a place inside it.
    groups: HashMap<String, Group>,
    /// Address name of each listed tensor whose own name differs. Allocated references contain only the tensor's name.
    addresses: HashMap<String, String>,
    /// In-place tensors: (input placement's location and set, output placement, region), copied at the start.
    pub in_place: Vec<(Region, Placement, Placement)>,
    /// The storage records, inputs and outputs first.
    pub storage: Vec<Storage>,
}

struct Group {
    placement: Placement,
    row_bytes: u64,
    par_base: u64,
    free_base: u64,
    memory: Memory,
}

impl Tensors {
    /// Collects the tensors of the lists and of one body.
    pub fn collect(kernel: &LncKernel, core: usize, names: &mut Names, errors: &mut Vec<Error>) -> Tensors {
        let mut order: Vec<String> = Vec::new();
        let mut regions: HashMap<String, Vec<Region>> = HashMap::new();
        let mut roles: HashMap<String, Role> = HashMap::new();
        let mut seen: HashMap<&str, Vec<&TensorName>> = HashMap::new();
        let mut refs: HashSet<String> = HashSet::new();
        let mut add = |region: Result<Option<Region>>, errors: &mut Vec<Error>| match region {
            Ok(None) => {}
            Ok(Some(region)) => {
                let list = regions.entry(region.address.clone()).or_insert_with(|| {
                    order.push(region.address.clone());
                    Vec::new()
                });
                list.push(region);
            }
            Err(e) => errors.push(e),
        };
        let listed = [&kernel.inputs, &kernel.outputs, &kernel.shared_buffers];
        let addresses: HashMap<String, String> = listed
            .into_iter()
            .flatten()
            .filter(|t| t.name != t.address.name)
            .map(|t| (t.name.clone(), t.address.name.clone()))
            .collect();
        for tensor in listed.into_iter().flatten() {
            if fresh(&mut seen, tensor) {
                add(Region::of(tensor).map(Some), errors);
            }
        }
        for stmt in kernel.bodies.get(core).into_iter().flatten().flat_map(|block| &block.body) {
            stmt.op.parts(&mut |part| {
                let region = match part {
                    Part::Tensor(tensor) if fresh(&mut seen, tensor) => Region::of(tensor).map(Some),
                    Part::Reference(r) if !matches!(r, TensorRef::Abstract(_)) && refs.insert(format!("{r:?}")) => {
                        Region::of_ref(r).map(|region| region.map(|r| r.in_address(&addresses)))
                    }
                    _ => return,
                };
                add(region.map_err(|e| e.at(|p| p.instruction.clone_from(&stmt.name))), errors);
            });
        }
        for (list, input) in [(&kernel.inputs, true), (&kernel.outputs, false)] {
            for tensor in list {
                let role = roles.entry(tensor.address.name.clone()).or_default();
                let slot = if input { &mut role.input } else { &mut role.output };
                match slot {
                    Some(other) if *other != tensor.name => errors.push(
                        Error::new(Code::K004, "two inputs, or two outputs, of one kernel share an address")
                            .received(format!("{other} and {}", tensor.name)),
                    ),
                    _ => *slot = Some(tensor.name.clone()),
                }
            }
        }
        for constant in &kernel.shared_constants {
            let file = constant_file(&constant.name, &constant.file_name).unwrap_or_else(|e| {
                errors.push(e);
                String::new()
            });
            roles.entry(constant.name.clone()).or_default().constant = Some(file);
        }

        let mut tensors = Tensors { groups: HashMap::new(), addresses, in_place: Vec::new(), storage: Vec::new() };
        let shared = kernel.bodies.len() > 1;
        for address in order {
            let regions = regions.remove(&address).unwrap_or_default();
            let role = roles.remove(&address).unwrap_or_default();
            if let Err(e) = tensors.build(&address, &regions, &role, shared, names) {
                errors.push(e);
            }
        }
        tensors
    }

    fn build(&mut self, address: &str, regions: &[Region], role: &Role, shared: bool, names: &mut Names) -> Result<()> {
        let wanted = role.output.as_deref().or(role.input.as_deref());
        let primary = regions.iter().find(|r| Some(r.name.as_str()) == wanted).or(regions.first());
        let Some(primary) = primary else { return Ok(()) };
        let bad = |what: &str| Error::new(Code::K005, what).at(|p| p.tensor = Some(primary.name.clone()));
        if regions.iter().any(|r| r.is_hbm() != primary.is_hbm() || (!r.is_hbm() && r.memory != primary.memory)) {
            return Err(bad("tensors of one address are in different memories").received(address));
        }
        let base = |f: fn(&Region) -> Option<u64>| regions.iter().map(|r| f(r).unwrap_or(0)).min().unwrap_or(0);
        let par_base = base(|r| r.par_offset);
        let free_base = base(|r| r.free_offset);
        let mut rows = primary.rows;
        let mut bytes = primary.bytes;
        for r in regions {
            let row_end = (r.par_offset.unwrap_or(0) - par_base).checked_add(r.rows);
            let byte_end = (r.free_offset.unwrap_or(0) - free_base).checked_add(r.bytes);
            match (row_end, byte_end) {
                (Some(_), Some(_)) if r.is_hbm() => {}
                (Some(row), Some(byte)) => {
                    rows = rows.max(row);
                    bytes = bytes.max(byte);
                }
                _ => return Err(bad("an address region leaves 64 bits")),
            }
        }
        if primary.is_hbm() {
            // Linear memory has no rows: the location is as long as its longest tensor.
            let total = |r: &Region| {
                let skip = (r.par_offset.unwrap_or(0) - par_base)
                    .checked_mul(primary.bytes)?
                    .checked_add(r.free_offset.unwrap_or(0) - free_base)?;
                r.rows.checked_mul(r.bytes)?.checked_add(skip)
            };
            let longest = regions.iter().try_fold(0, |n: u64, r| total(r).map(|t| n.max(t)));
            let longest = longest.ok_or_else(|| bad("the size of a tensor leaves 64 bits"))?;
            if rows.checked_mul(bytes).is_none_or(|n| n < longest) {
                (rows, bytes) = (1, longest);
            }
        } else if rows.checked_mul(bytes).is_none() {
            return Err(bad("the size of a tensor leaves 64 bits"));
        }

        let kind = match role {
            Role { output: Some(_), .. } => TensorKind::ExternalOutput,
            Role { input: Some(_), .. } => TensorKind::ExternalInput,
            Role { constant: Some(_), .. } => TensorKind::Const,
            _ => TensorKind::Internal,
        };
        let file = role.constant.clone().unwrap_or_default();
        let mut record = |wanted: &str, kind: TensorKind, file: &str| {
            let name = names.claim(wanted);
            let set = names.claim(&format!("{name}_set"));
            let memory = match primary.memory {
                Memory::Sbuf => MemoryType::Sb,
                Memory::Psum => MemoryType::Psum,
                _ => MemoryType::Dram,
            };
            let on_chip = !primary.is_hbm();
            let allocated = on_chip && primary.par_offset.is_some() && primary.free_offset.is_some();
            let bank = if memory == MemoryType::Psum { free_base / PSUM_BANK } else { 0 };
            let location = Location {
                name: name.clone(),
                ty: memory,
                dims: vec![rows, bytes],
                addr: if allocated { free_base - bank * PSUM_BANK } else { 0 },
                base: if allocated { i64::try_from(par_base).unwrap_or(i64::MAX) } else { 0 },
                bank: if allocated { i64::try_from(bank).unwrap_or(i64::MAX) } else { 0 },
                allocated,
                user_allocated: allocated,
                pinned: false,
                tensor_id: 0,
                kind: None,
                addr_space: None,
                alias: Vec::new(),
                pointer_ref_memloc: None,
                extra: Extra::new(),
            };
            let everyone = shared && primary.is_hbm() && primary.memory != Memory::PrivateHbm;
            self.storage.push(Storage::Set(LocationSet {
                name: set.clone(),
                kind,
                dtype: primary.dtype,
                tensor_shape: primary.shape.clone(),
                partition_dim: 0,
                addr_space: if everyone { AddressSpace::Shared } else { AddressSpace::Local },
                tensor_class: None,
                locations: vec![location],
                file: file.to_owned(),
                extra: Extra::new(),
            }));
            Placement { location: name, set, pitch: on_chip.then_some(bytes), row: 0, byte: 0 }
        };
        // An in-place tensor is two locations: the input as bound, and the output, which starts as its copy.
        let input = match (&role.input, &role.output) {
            (Some(input), Some(output)) => {
                let name = if input == output { format!("{input}.must_alias_input") } else { input.clone() };
                Some(record(&name, TensorKind::ExternalInput, ""))
            }
            _ => None,
        };
        let placement = record(&primary.name, kind, &file);
        if let Some(input) = input {
            self.in_place.push((primary.clone(), input, placement.clone()));
        }
        self.groups.insert(
            address.to_owned(),
            Group { placement, row_bytes: primary.bytes, par_base, free_base, memory: primary.memory },
        );
        Ok(())
    }

    /// Bytes of an element of a set, as it is declared.
    pub fn element_bytes(&self, set: &str) -> Option<usize> {
        self.storage.iter().find_map(|s| match s {
            Storage::Set(own) if own.name == set => Some(own.dtype.size()),
            _ => None,
        })
    }

    /// The region of an allocated reference, and where it lives.
    pub fn place_ref(&self, reference: &TensorRef) -> Result<Option<(Region, Placement)>> {
        let Some(region) = Region::of_ref(reference)?.map(|r| r.in_address(&self.addresses)) else { return Ok(None) };
        let placement = self.place(&region)?;
        Ok(Some((region, placement)))
    }

    /// Where a region lives.
    pub fn place(&self, region: &Region) -> Result<Placement> {
        let group = self.groups.get(&region.address).ok_or_else(|| {
            Error::new(Code::K005, "a tensor has no storage").at(|p| p.tensor = Some(region.name.clone()))
        })?;
        let mut placement = group.placement.clone();
        let row = region.par_offset.unwrap_or(0).saturating_sub(group.par_base);
        let byte = region.free_offset.unwrap_or(0).saturating_sub(group.free_base);
        (placement.row, placement.byte) =
            if region.is_hbm() { (0, row.saturating_mul(group.row_bytes).saturating_add(byte)) } else { (row, byte) };
        debug_assert!(region.is_hbm() || region.memory == group.memory);
        Ok(placement)
    }
}

/// A constant's file stays inside the folder of the kernel.
fn constant_file(constant: &str, file: &str) -> Result<String> {
    let path = std::path::Path::new(file);
    let inside = path.components().all(|c| matches!(c, std::path::Component::Normal(_) | std::path::Component::CurDir));
    if file.is_empty() || !inside || file.contains('\\') {
        return Err(Error::new(Code::K005, "the file of a shared constant is outside the kernel's folder")
            .received(format!("{file:?}"))
            .advice("constants are read from the folder of the KLR file or from --constants DIR only")
            .at(|p| p.tensor = Some(constant.to_owned())));
    }
    Ok(file.to_owned())
}
