//! Results that are the same for all members of a group, computed once.

use super::{Floor, Side, at, placed};
use crate::cores::agree::other_size;
use crate::sim::Core;
use crate::world::{Contribution, Extent, Folded, Group, Settings};
use crate::{Code, Error, Result};
use birsim_kernels::access::{Dst, Src};
use birsim_kernels::{Dtype, Profile, collective as kernel, halt};
use std::sync::Arc;

impl Floor {
    /// Folds every input of an AllReduce, in group order, and narrows the sum to the element types of the outputs.
    pub(super) fn fold(
        &mut self,
        cores: &mut [Core],
        sides: &[Side],
        group: &Group,
        members: &[Arc<Contribution>],
        profile: &Profile,
    ) -> Result<Vec<Folded>> {
        let wrong = sides.iter().zip(members).filter_map(|(side, m)| Some((*side, other_size(m)?)));
        if let Some((side, e)) = wrong.min_by_key(|(side, _)| *side) {
            return Err(at(cores, e, side));
        }
        let mut all = Vec::new();
        for (k, extent) in members.first().map_or([].as_slice(), |m| &m.ins).iter().enumerate() {
            let wide = Extent { dtype: Dtype::Float32, ..*extent };
            self.lend(cores, sides[0], wide.bytes())?;
            let mut sum = room::<f32>(extent.len()).map_err(|e| at(cores, e, sides[0]))?;
            for (n, (core, row)) in sides.iter().enumerate() {
                let core = &mut cores[*core as usize];
                core.fold(*row, k, group.op, n == 0, &mut sum).map_err(|e| placed(core, e))?;
            }
            let mut found = Folded::new();
            for dtype in members.iter().filter_map(|m| m.outs.get(k)).map(|o| o.dtype) {
                if found.iter().all(|(d, _)| *d != dtype) {
                    let narrow = Extent { dtype, ..*extent };
                    self.lend(cores, sides[0], narrow.bytes())?;
                    let stop = cores[0].world.resource::<Settings>().stop.clone();
                    let bytes = halt::scope(stop, || narrowed(group, &sum, (wide, narrow), profile));
                    found.push((dtype, bytes.map_err(|e| at(cores, e, sides[0]))?));
                }
            }
            all.push(found);
        }
        Ok(all)
    }
}

fn narrowed(group: &Group, sum: &[f32], (wide, narrow): (Extent, Extent), profile: &Profile) -> Result<Vec<u8>> {
    let mut bytes = room(narrow.bytes() as usize)?;
    let (from, to) = (wide.dense()?, narrow.dense()?);
    let src = Src::new(bytemuck::cast_slice(sum), &from)?;
    kernel::all_reduce(group.op, &[src], &mut Dst::new(&mut bytes, &to)?, profile)?;
    Ok(bytes)
}

fn room<T: Clone + Default>(n: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(n).map_err(|_| {
        Error::new(Code::S009, "the result of a collective needs more memory than there is")
            .received(format!("{n} elements"))
    })?;
    room.resize(n, T::default());
    Ok(room)
}
