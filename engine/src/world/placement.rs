//! Placement of storage: which arena a location is in, and whether it fits.

use super::spawn::ENGINES;
use super::{PHYSICAL_REGISTERS, Program};
use crate::ir::{self, MemoryType};
use crate::memory::{ArenaId, LocationInfo, PlaceRules};
use crate::target::{PSUM_BANK_BYTES, Sizes, Target};
use crate::{Code, Error, Result};
use birsim_kernels::profile::{Profile, PsumAddress};

/// Bytes between one partition of SBUF or PSUM and the next. Partition sizes are multiples of the distance after which the
/// sets of a cache repeat, so without a gap a column of all partitions would fit into very few of them.
const GAP: u64 = 64;

/// Memory of the machine as it is laid out while compiling: arena sizes and location placements still to be spawned.
pub struct Layout {
    /// Machine the program is compiled for.
    pub target: Target,
    /// Its sizes.
    pub sizes: Sizes,
    /// Locations are views of shared SBUF, PSUM and DRAM arenas.
    pub physical: bool,
    /// Alignment rules of the target hold too.
    pub strict: bool,
    /// Size of every arena; the first three are SBUF, PSUM and DRAM in physical mode.
    pub arenas: Vec<u64>,
    /// Placement of every location.
    pub placements: Vec<LocationInfo>,
    /// Number of symbolic register slots per engine.
    pub symbolic: [u32; ENGINES],
    /// Number of physical registers per engine.
    pub physical_registers: [u32; ENGINES],
    /// Choices that decide how modules are compiled.
    pub profile: Profile,
}

impl Layout {
    /// An empty layout.
    pub fn new(target: Target, physical: bool, profile: Profile) -> Self {
        let sizes = target.sizes();
        let arenas = if physical {
            vec![
                sizes.sbuf_partitions * (sizes.sbuf_partition_bytes + GAP),
                sizes.psum_partitions * (sizes.psum_banks * PSUM_BANK_BYTES + GAP),
                sizes.dram_bytes,
            ]
        } else {
            Vec::new()
        };
        Layout {
            target,
            sizes,
            physical,
            strict: false,
            arenas,
            placements: Vec::new(),
            symbolic: [0; ENGINES],
            physical_registers: [PHYSICAL_REGISTERS as u32; ENGINES],
            profile,
        }
    }

    pub(super) fn place(&mut self, set: &ir::LocationSet, loc: &ir::Location) -> Result<LocationInfo> {
        let (rows, row_bytes) = extent(set, loc)?;
        let bad = |what: &str| {
            Error::new(Code::S018, format!("the tensor does not fit {what}")).received(format!(
                "partitions {}..{}, bytes {}..{}",
                loc.base,
                i128::from(loc.base) + i128::from(rows),
                loc.addr,
                u128::from(loc.addr) + u128::from(row_bytes)
            ))
        };
        let base = loc.base.unsigned_abs();
        let rules = PlaceRules::of(&self.profile);
        if self.strict && loc.allocated {
            self.aligned(set, loc)?;
        }
        if self.physical && loc.allocated {
            let on_chip = match loc.ty {
                MemoryType::Sb => {
                    Some((ArenaId(0), self.sizes.sbuf_partitions, self.sizes.sbuf_partition_bytes, loc.addr, "SBUF"))
                }
                MemoryType::Psum => {
                    let bank = loc.bank.unsigned_abs();
                    // Whether `addr` contains the bank is not documented: it does when it is a bank or more.
                    let absolute = match self.profile.psum_address {
                        PsumAddress::BySize => loc.addr >= PSUM_BANK_BYTES || bank == 0,
                        PsumAddress::Absolute => true,
                        PsumAddress::InBank => false,
                    };
                    let addr = if absolute {
                        Some(loc.addr)
                    } else {
                        bank.checked_mul(PSUM_BANK_BYTES).and_then(|b| b.checked_add(loc.addr))
                    };
                    let bytes = self.sizes.psum_banks * PSUM_BANK_BYTES;
                    Some((ArenaId(1), self.sizes.psum_partitions, bytes, addr.unwrap_or(u64::MAX), "PSUM"))
                }
                _ => None,
            };
            if let Some((arena, parts, bytes, addr, name)) = on_chip {
                let fits = loc.base >= 0
                    && base.checked_add(rows).is_some_and(|e| e <= parts)
                    && addr.checked_add(row_bytes).is_some_and(|e| e <= bytes);
                if !fits {
                    return Err(bad(&format!("the {parts} x {bytes} bytes of {name}")));
                }
                let stride = bytes + GAP;
                return Ok(LocationInfo {
                    arena,
                    base,
                    start: base * stride + addr,
                    row_stride: stride,
                    row_bytes,
                    rows,
                    ty: loc.ty,
                    dtype: set.dtype,
                    bank_offset: if loc.ty == MemoryType::Psum { addr % PSUM_BANK_BYTES } else { 0 },
                    rules,
                });
            }
            if loc.ty.is_dram() {
                let bytes = rows * row_bytes;
                if loc.addr.checked_add(bytes).is_none_or(|e| e > self.sizes.dram_bytes) {
                    return Err(bad("device memory"));
                }
                return Ok(LocationInfo {
                    arena: ArenaId(2),
                    base: 0,
                    start: loc.addr,
                    row_stride: row_bytes,
                    row_bytes,
                    rows,
                    ty: loc.ty,
                    dtype: set.dtype,
                    bank_offset: 0,
                    rules,
                });
            }
        }
        let arena = ArenaId::of(self.arenas.len());
        self.arenas.push(rows * row_bytes);
        let bank_offset = if loc.ty == MemoryType::Psum && loc.allocated { loc.addr % PSUM_BANK_BYTES } else { 0 };
        let (ty, dtype) = (loc.ty, set.dtype);
        Ok(LocationInfo {
            arena,
            base,
            start: 0,
            row_stride: row_bytes,
            row_bytes,
            rows,
            ty,
            dtype,
            bank_offset,
            rules,
        })
    }
}

/// Partitions that on-chip operands start at are multiples of this (`machine.md` 3).
const QUADRANT: u64 = 32;

impl Layout {
    /// Checks that a tensor may start here on the target. The reference does not check it, so it is done under `strict` only.
    fn aligned(&self, set: &ir::LocationSet, loc: &ir::Location) -> Result<()> {
        let on_chip = matches!(loc.ty, MemoryType::Sb | MemoryType::Psum);
        if on_chip && !loc.base.unsigned_abs().is_multiple_of(QUADRANT) {
            return Err(Error::new(Code::S018, "an on-chip tensor starts in a partition that is a multiple of 32")
                .received(format!("partition {}", loc.base)));
        }
        let size = set.dtype.size() as u64;
        if !loc.addr.is_multiple_of(size) {
            return Err(Error::new(
                Code::S018,
                format!("a tensor of {} starts at a multiple of {size} bytes", set.dtype),
            )
            .received(format!("byte {}", loc.addr)));
        }
        Ok(())
    }
}

/// Rows and bytes per row of a location (`bir-json.md` 4.2).
fn extent(set: &ir::LocationSet, loc: &ir::Location) -> Result<(u64, u64)> {
    let size = set.dtype.size() as u64;
    let bad = || Error::new(Code::J013, "dims do not describe a memory").received(format!("{:?}", loc.dims));
    let (rows, row_bytes) = match loc.dims.as_slice() {
        [] => return Err(bad()),
        [bytes] => (1, *bytes),
        [rows, bytes] => (*rows, *bytes),
        // Further dims are each scaled by the element size.
        [rows, free @ ..] => {
            let elements = free.iter().try_fold(1u64, |t, d| t.checked_mul(d / size)).ok_or_else(bad)?;
            (*rows, elements.checked_mul(size).ok_or_else(bad)?)
        }
    };
    match rows.checked_mul(row_bytes) {
        Some(total) if total < 1 << 46 => Ok((rows, row_bytes)),
        _ => Err(bad()),
    }
}

/// Tensors that a capacity error names at most.
const LIVE: usize = 16;

/// Adds the tensors that are placed in the same memory, largest first, as the compiler does.
pub(super) fn with_live(e: Error, program: &Program, layout: &Layout, ty: MemoryType) -> Error {
    let mut live: Vec<(u64, &str, u64)> = program
        .locations
        .iter()
        .zip(&layout.placements)
        .filter(|(_, p)| p.ty == ty)
        .map(|(m, p)| (p.row_bytes, m.name.as_ref(), m.addr))
        .collect();
    live.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let total: u64 = live.iter().map(|(n, ..)| n).sum();
    let mut text: Vec<String> =
        live.iter().take(LIVE).map(|(n, name, at)| format!("{name} {n} bytes at {at}")).collect();
    if live.len() > LIVE {
        text.push(format!("{} more", live.len() - LIVE));
    }
    let list = if text.is_empty() { "none".to_string() } else { text.join(", ") };
    let got = e.received_value().unwrap_or_default().to_string();
    e.received(format!("{got}; live tensors ({total} bytes per partition): {list}"))
}
