//! Readable listing of a KLR file.

use crate::ast::{Block, Contents, File, LncKernel, Stmt, TensorName};
use crate::codec::{Part, Record, Show};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

/// `name=value` for every field that has a value.
pub(crate) fn show_record(record: &dyn Record, out: &mut String) {
    let mut first = true;
    record.fields(&mut |name, value| {
        if value.absent() {
            return;
        }
        if !first {
            out.push(' ');
        }
        first = false;
        out.push_str(name);
        out.push('=');
        value.show(out);
    });
}

/// A name as it is, or escaped when it contains control characters that a terminal would interpret.
pub(crate) fn plain(name: &str) -> Cow<'_, str> {
    if name.contains(char::is_control) { name.escape_debug().to_string().into() } else { name.into() }
}

/// The listing: header, kind, and for an executable kernel its tensors, blocks and operators.
pub fn inspect(file: &File) -> String {
    let mut out = String::new();
    let [major, minor, patch] = file.version;
    let _ =
        writeln!(out, "KLR {major}.{minor}.{patch}  metadata {:?}  contents {}", file.metadata, file.contents.kind());
    match &file.contents {
        Contents::Python(p) | Contents::Nki(p) => {
            let _ = writeln!(out, "syntax tree: tag {}, {} fields, {} bytes", p.tag, p.fields, p.bytes);
        }
        Contents::Hlo(name) => {
            let _ = writeln!(out, "call site {name:?}");
        }
        Contents::Program(program) => listing(&program.as_lnc(), &mut out),
    }
    if file.trailing_bytes > 0 {
        let _ = writeln!(out, "note: {} bytes after the contents", file.trailing_bytes);
    }
    out
}

fn listing(kernel: &LncKernel, out: &mut String) {
    let _ = writeln!(out, "kernel {:?}, {}", kernel.name, plural(kernel.bodies.len(), "core"));
    tensor_table("inputs", &kernel.inputs, out);
    tensor_table("outputs", &kernel.outputs, out);
    tensor_table("shared buffers", &kernel.shared_buffers, out);
    for constant in &kernel.shared_constants {
        let _ = writeln!(out, "shared constant {:?} from {:?}", constant.name, constant.file_name);
    }
    tensor_table("tensors", locals(kernel), out);
    histogram(kernel, out);
    for edge in &kernel.edges {
        let _ = writeln!(out, "edge {:?} before {}", edge.from_edge, plain(&edge.to_edges.join(", ")));
    }
    for (core, body) in kernel.bodies.iter().enumerate() {
        let _ = writeln!(out, "\ncore {core}: {}", plural(body.len(), "block"));
        body.iter().for_each(|b| block(b, out));
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Tensors that only operators name, each distinct description once, in order of first use.
fn locals(kernel: &LncKernel) -> Vec<&TensorName> {
    let listed = [&kernel.inputs, &kernel.outputs, &kernel.shared_buffers];
    let mut seen: HashSet<(&str, String)> = listed.into_iter().flatten().map(|t| (t.name.as_str(), row(t))).collect();
    let mut found = Vec::new();
    kernel.bodies.parts(&mut |part| {
        let Part::Tensor(t) = part else { return };
        if seen.insert((&t.name, row(t))) {
            found.push(t);
        }
    });
    found
}

fn tensor_table<'a>(title: &str, tensors: impl IntoIterator<Item = &'a TensorName>, out: &mut String) {
    let mut tensors = tensors.into_iter().peekable();
    if tensors.peek().is_some() {
        let _ = writeln!(out, "{title}:");
    }
    for tensor in tensors {
        let _ = writeln!(out, "  {:<16} {}", plain(&tensor.name), row(tensor));
    }
}

/// The description of a tensor without its name.
fn row(tensor: &TensorName) -> String {
    let dims: Vec<String> = tensor.shape.dims().iter().map(u64::to_string).collect();
    let a = &tensor.address;
    let mut text = format!("{}[{}] {}", tensor.dtype, dims.join("x"), a.memory);
    if a.name != tensor.name {
        let _ = write!(text, " in {}", plain(&a.name));
    }
    let _ = write!(text, " {}x{}B", a.par_size, a.free_size);
    let offset = |o: Option<u64>| o.map_or("?".to_owned(), |n| n.to_string());
    if a.par_offset.is_some() || a.free_offset.is_some() {
        let _ = write!(text, " at partition {}, byte {}", offset(a.par_offset), offset(a.free_offset));
    }
    if a.is_shared {
        text.push_str(" shared");
    }
    text
}

/// How often each operator occurs, by name.
fn histogram(kernel: &LncKernel, out: &mut String) {
    let mut counts = BTreeMap::<&str, usize>::new();
    for stmt in kernel.bodies.iter().flatten().flat_map(|b| &b.body) {
        *counts.entry(stmt.op.constructor()).or_default() += 1;
    }
    if !counts.is_empty() {
        let parts: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {n}")).collect();
        let _ = writeln!(out, "operators: {}", parts.join(", "));
    }
}

fn block(block: &Block, out: &mut String) {
    let order = if block.no_reorder { " no_reorder" } else { "" };
    let _ = writeln!(out, "block {}{order}: {}", plain(&block.label), plural(block.body.len(), "statement"));
    block.body.iter().for_each(|s| statement(s, out));
}

/// The operator on one line with its scalar fields, then one line per tensor operand.
fn statement(stmt: &Stmt, out: &mut String) {
    let name = plain(stmt.name.as_deref().unwrap_or("-"));
    let mut scalars = String::new();
    let mut operands = String::new();
    stmt.op.record().fields(&mut |field, value| {
        if value.absent() {
            return;
        }
        let mut has_tensor = false;
        value.parts(&mut |_| has_tensor = true);
        if has_tensor {
            let _ = write!(operands, "      {field:<12} ");
            value.show(&mut operands);
            operands.push('\n');
        } else {
            let _ = write!(scalars, " {field}=");
            value.show(&mut scalars);
        }
    });
    let _ = writeln!(out, "  {name}: {}{scalars}  ; {}", stmt.op.constructor(), plain(&stmt.pos.to_string()));
    out.push_str(&operands);
}
