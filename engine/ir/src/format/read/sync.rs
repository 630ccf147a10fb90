//! Synchronisation records (`bir-json.md` 8).

use super::context::Context;
use super::list::few;
use super::scalar::{Name, Shared, U32, keep, record, value};
use crate::{Extra, SyncInfo, SyncKind, UpdateMode, UpdateRef, WaitMode, WaitRef};

record! {
    /// `sync_info`.
    Sync -> SyncInfo, "a sync_info record", |cx, map| {
        let mut sync = SyncInfo::default();
        while let Some(key) = map.next_key()? {
            match &*key {
                "on_wait" => sync.on_wait = value(cx, &mut map, "on_wait", few(cx, "on_wait", Wait(cx)))?
                    .unwrap_or_default(),
                "on_update" => sync.on_update = value(cx, &mut map, "on_update", few(cx, "on_update", Update(cx)))?
                    .unwrap_or_default(),
                _ => keep(cx, &mut map, &mut sync.extra, key)?,
            }
        }
        Ok(sync)
    }
}

record! {
    /// One wait.
    Wait -> WaitRef, "a wait", |cx, map| {
        let (mut kind, mut id, mut mode, mut wanted, mut regref, mut from) = (None, None, None, None, None, None);
        let mut extra = Extra::new();
        while let Some(key) = map.next_key()? {
            match &*key {
                "type" => kind = value(cx, &mut map, "type", Name::new(cx))?,
                "id" => id = value(cx, &mut map, "id", U32)?,
                "wait_mode" | "mode" => mode = value(cx, &mut map, "wait_mode", Name::new(cx))?,
                "wait_value" => wanted = value(cx, &mut map, "wait_value", U32)?,
                "regref" | "reg" => regref = value(cx, &mut map, "regref", Shared(cx))?,
                "from" => from = value(cx, &mut map, "from", Shared(cx))?,
                _ => keep(cx, &mut map, &mut extra, key)?,
            }
        }
        let kind = kind.unwrap_or(SyncKind::Semaphore);
        let usual = if kind == SyncKind::Event { WaitMode::EvtSetClear } else { WaitMode::SemGeImm };
        Ok(WaitRef {
            kind,
            id: id.ok_or_else(|| cx.missing("id", "a wait"))?,
            mode: mode.unwrap_or(usual),
            value: wanted.unwrap_or(1),
            regref,
            from,
            extra,
        })
    }
}

record! {
    /// One update.
    Update -> UpdateRef, "an update", |cx, map| {
        let (mut kind, mut id, mut mode, mut by, mut target_core) = (None, None, None, None, None);
        let mut extra = Extra::new();
        while let Some(key) = map.next_key()? {
            match &*key {
                "type" => kind = value(cx, &mut map, "type", Name::new(cx))?,
                "id" => id = value(cx, &mut map, "id", U32)?,
                "update_mode" | "mode" => mode = value(cx, &mut map, "update_mode", Name::new(cx))?,
                "update_value" => by = value(cx, &mut map, "update_value", U32)?,
                "target_core" => target_core = value(cx, &mut map, "target_core", U32)?,
                _ => keep(cx, &mut map, &mut extra, key)?,
            }
        }
        let kind = kind.unwrap_or(SyncKind::Semaphore);
        let usual = if kind == SyncKind::Event { UpdateMode::EvtSet } else { UpdateMode::SemAddImm };
        Ok(UpdateRef {
            kind,
            id: id.ok_or_else(|| cx.missing("id", "an update"))?,
            mode: mode.unwrap_or(usual),
            value: by.unwrap_or(1),
            target_core,
            extra,
        })
    }
}
