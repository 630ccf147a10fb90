//! Storage records (`bir-json.md` 4).

use super::print::Item;
use super::{Entry, entries, name};
use crate::{Location, Storage};
use serde_json::{Value as Json, json};

pub(super) fn items(storage: &Storage) -> Vec<Entry<'_>> {
    match storage {
        Storage::Register(r) => {
            let mut items = entries(&r.extra);
            items.push(("Skind", Json::from("register").into()));
            items.push(("name", Json::from(r.name.as_str()).into()));
            items.push(("numPhysicalRegs", Json::from(r.num_physical_regs).into()));
            items.push(("engine", name(r.engine).into()));
            items.push(("dtype", name(r.dtype).into()));
            if r.reg_id != -1 {
                items.push(("reg_id", Json::from(r.reg_id).into()));
            }
            items
        }
        Storage::Set(set) => {
            let mut items = entries(&set.extra);
            items.push(("Skind", Json::from("memory_location_set").into()));
            items.push(("name", Json::from(set.name.as_str()).into()));
            items.push(("kind", name(set.kind).into()));
            items.push(("dtype", name(set.dtype).into()));
            items.push(("tensor_shape", Json::from(set.tensor_shape.clone()).into()));
            items.push(("partition_dim", Json::from(set.partition_dim).into()));
            items.push(("addr_space", name(set.addr_space).into()));
            if let Some(class) = set.tensor_class {
                items.push(("tensor_class", name(class).into()));
            }
            if !set.file.is_empty() {
                items.push(("file", Json::from(set.file.as_str()).into()));
            }
            items.push(("tensorId2MemLocSize", Json::from(set.locations.len()).into()));
            let locations = set.locations.iter().map(|l| Item::Json(location(l)));
            items.push(("memorylocations", Item::List(locations.collect())));
            items
        }
    }
}

fn location(l: &Location) -> Json {
    let mut r = l.extra.clone();
    let mut put = |key: &str, v: Json| r.insert(key.to_string(), v);
    put("Skind", "memory_location".into());
    put("name", l.name.as_str().into());
    put("type", name(l.ty));
    put("dims", l.dims.clone().into());
    put("addr", l.addr.into());
    put("base", l.base.into());
    put("bank", l.bank.into());
    put("allocated", l.allocated.into());
    for (key, flag) in [("user_allocated", l.user_allocated), ("pinned", l.pinned)] {
        if flag {
            put(key, true.into());
        }
    }
    if l.tensor_id != -1 {
        put("tensor_id", l.tensor_id.into());
    }
    if let Some(kind) = l.kind {
        put("kind", name(kind));
    }
    if let Some(space) = l.addr_space {
        put("addr_space", name(space));
    }
    if !l.alias.is_empty() {
        let entry = |(set, location, bits): &(String, String, i64)| match set.as_str() {
            "" => json!([location, bits]),
            set => json!([set, location, bits]),
        };
        put("alias", l.alias.iter().map(entry).collect());
    }
    if let Some(target) = &l.pointer_ref_memloc {
        put("pointer_ref_memloc", target.as_str().into());
    }
    Json::Object(r.into_map())
}
