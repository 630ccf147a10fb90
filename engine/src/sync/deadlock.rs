//! The report of a deadlock: who waits for what, who could satisfy it, and in which circle.

use crate::control::ProgramCounter;
use crate::exec::read_register;
use crate::ir::{Engine, SyncKind, UpdateMode, WaitMode};
use crate::world::*;
use std::fmt::Write as _;

/// Text of the report. One line per engine: instruction, condition, present value, possible producers.
pub fn report(
    program: &Program,
    pc: &ProgramCounter,
    cursors: &[Cursor],
    status: &[Status],
    semaphores: &[SemValue],
    touched: &[Touched],
    registers: &[RegisterFile],
) -> String {
    let plan = &program.blocks[pc.block as usize];
    let segment = &program.segments[(plan.first_segment + pc.segment) as usize];
    let mut out = format!("no engine can go on in block {}", plan.name);
    let finished = cursors.iter().all(|c| c.next >= c.end);
    let mut waiting: Vec<(Engine, u32, u32)> = Vec::new();
    for (e, (cursor, state)) in cursors.iter().zip(status).enumerate() {
        match state {
            Status::Waiting(w) if cursor.next < cursor.end => waiting.push((Engine::QUEUES[e], cursor.next, *w)),
            Status::Joining => {
                let i = &program.insts[cursor.next as usize];
                let _ =
                    write!(out, "\n    {}: {} ({}) waits for every other engine", Engine::QUEUES[e], i.name, i.opcode);
            }
            _ => {}
        }
    }
    if let (true, Some(join), Some(Status::Waiting(w))) = (finished, segment.join, status.first()) {
        waiting.push((Engine::All, join, *w));
    }
    for (engine, row, wait) in &waiting {
        let i = &program.insts[*row as usize];
        let w = &program.waits[*wait as usize];
        let _ =
            write!(out, "\n    {engine}: {} ({}) waits for {}", i.name, i.opcode, condition(w, semaphores, registers));
        let producers = producers(program, plan, pc.segment, cursors, w);
        if producers.is_empty() {
            let _ = write!(out, "; no instruction still to come updates it");
        } else {
            let list: Vec<String> = producers
                .iter()
                .take(3)
                .map(|p| {
                    let inst = &program.insts[*p as usize];
                    let at = waiting.iter().find(|(_, r, _)| r == p).map_or("behind the head", |_| "itself waiting");
                    format!("{} on {} ({at})", inst.name, inst.engine)
                })
                .collect();
            let more = producers.len().saturating_sub(3);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let _ = write!(out, "; updated by {}{more}", list.join(", "));
        }
        if w.kind == SyncKind::Semaphore && touched[w.id as usize].0 && semaphores[w.id as usize].0 > u32::MAX / 2 {
            let _ = write!(out, "; the value has wrapped below zero");
        }
    }
    if let Some(circle) = circle(program, cursors, &waiting) {
        let _ = write!(out, "\n    circle: {circle}");
    }
    out
}

fn condition(w: &Wait, semaphores: &[SemValue], registers: &[RegisterFile]) -> String {
    let id = w.id;
    match (w.kind, w.mode, w.reg) {
        (SyncKind::Event, ..) => format!("event {id} to be set, it is clear"),
        (_, WaitMode::SemGeReg, Some(r)) => format!(
            "semaphore {id} >= {} (from a register), it is {}",
            read_register(registers, r) as u32,
            semaphores[id as usize].0
        ),
        _ => format!("semaphore {id} >= {}, it is {}", w.value, semaphores[id as usize].0),
    }
}

/// Rows still to be issued in this block that could raise what a wait looks at.
fn producers(program: &Program, plan: &BlockPlan, segment: u32, cursors: &[Cursor], w: &Wait) -> Vec<u32> {
    let mut rows: Vec<u32> = cursors.iter().flat_map(|c| c.next..c.end).collect();
    for s in segment..plan.segments {
        let seg = &program.segments[(plan.first_segment + s) as usize];
        if s > segment {
            rows.extend(seg.ranges.iter().flat_map(|r| r.next..r.end));
        }
        rows.extend(seg.join);
    }
    rows.retain(|r| raises(program, *r, w));
    rows
}

fn raises(program: &Program, row: u32, w: &Wait) -> bool {
    program
        .updates_of(&program.insts[row as usize].sync)
        .iter()
        .any(|u| u.kind == w.kind && u.id == w.id && !matches!(u.mode, UpdateMode::SemSubImm | UpdateMode::SemDec))
}

/// Engines that wait for each other, in order.
fn circle(program: &Program, cursors: &[Cursor], waiting: &[(Engine, u32, u32)]) -> Option<String> {
    let next = |(_, _, wait): &(Engine, u32, u32)| {
        let w = &program.waits[*wait as usize];
        waiting.iter().position(|(engine, _, _)| {
            let Some(q) = Engine::QUEUES.iter().position(|e| e == engine) else { return false };
            (cursors[q].next..cursors[q].end).any(|r| raises(program, r, w))
        })
    };
    for start in 0..waiting.len() {
        let mut path = vec![start];
        let mut at = start;
        while let Some(n) = next(&waiting[at]) {
            if n == start {
                let mut names: Vec<&str> =
                    path.iter().map(|k| program.insts[waiting[*k].1 as usize].name.as_ref()).collect();
                names.push(names[0]);
                return Some(names.join(" -> "));
            }
            if path.contains(&n) {
                break;
            }
            path.push(n);
            at = n;
        }
    }
    None
}
