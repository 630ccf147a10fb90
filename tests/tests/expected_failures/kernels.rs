//! KLR files.

use super::*;
use birsim_klr::ast::*;
use birsim_klr::{LowerOptions, lower, read, write};

fn stmt(name: &str, op: Operator) -> Stmt {
    let pos = Pos { line: 3, column: 1, line_end: None, column_end: None, filename: Some("k.py".into()) };
    Stmt { op, name: Some(name.into()), pos }
}

fn block(label: &str, body: Vec<Stmt>) -> Block {
    Block { label: label.into(), no_reorder: false, body }
}

fn kernel(body: Vec<Block>) -> Program {
    let bodies = if body.is_empty() { vec![] } else { vec![body] };
    let none = Vec::new;
    Program::Lnc(LncKernel {
        name: "k".into(),
        inputs: vec![],
        outputs: vec![],
        bodies,
        shared_constants: vec![],
        shared_buffers: none(),
        edges: vec![],
    })
}

fn jump(to: &str) -> Stmt {
    let p = CmpBranch {
        reg1: String::new(),
        reg2: String::new(),
        imm: 0,
        op: BrCmpOp::Always,
        true_label: to.into(),
        false_label: String::new(),
    };
    stmt("jump", Operator::CmpBranch(Box::new(p)))
}

fn mask(n: u64) -> Stmt {
    stmt("mask", Operator::LoadMaskRegister(Box::new(LoadMaskRegister { reg_num: n })))
}

/// Bytes that are read, lowered and thrown away.
fn bytes(id: &str, bytes: Vec<u8>) -> Row {
    action(id, move || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.klr");
        std::fs::write(&path, bytes).unwrap();
        let args = ["birsim", "run"].map(Into::into).into_iter().chain([path.clone().into_os_string()]);
        birsim_cli::attempt(args.collect()).map_err(|e| files::bare(&e, folder.path()))
    })
}

fn lowered(id: &str, body: Vec<Block>) -> Row {
    action(id, move || lower(&kernel(body), &LowerOptions::default()).map(|_| ()).map_err(|mut all| all.remove(0)))
}

pub(super) fn rows(rows: &mut Vec<Row>) {
    let whole = write(&kernel(vec![block("main.1", vec![jump("main.1")])]));
    assert!(read(&whole).is_ok());
    let with = |at: usize, value: u8| {
        let mut b = whole.clone();
        b[at] = value;
        b
    };
    rows.push(bytes("a kernel that is cut off", whole[..whole.len() / 2].to_vec()));
    rows.push(bytes("a kernel with a damaged frame", with(3, 0x82)));
    rows.push(bytes("a kernel with a damaged name", with(10, 0xff)));
    rows.push(bytes("a kernel of another version", with(6, 11)));
    let contents = whole.windows(2).position(|w| w == [0xd9, 0xec]).unwrap();
    let mut hlo = whole[..contents].to_vec();
    hlo.extend([0xd9, 0xec, 4, 0x81, 0x63, b'h', b'l', b'o']);
    rows.push(bytes("contents that are no kernel", hlo));
    rows.push(lowered("an operator without a lowering", vec![block("main.1", vec![mask(3)])]));
    rows.push(lowered("a kernel without a body", vec![]));
    rows.push(lowered("a jump to nowhere", vec![block("main.1", vec![jump("end.1")])]));
    rows.push(lowered("two blocks of one label", vec![block("main.1", vec![]), block("main.1", vec![])]));
    rows.push(lowered("a jump before the end", vec![block("main.1", vec![jump("main.1"), jump("main.1")])]));
}
