//! The listing of a module, pinned.

use birsim_ir::format::read;
use birsim_ir::listing::{listing, listing_json};

fn module() -> birsim_ir::Module {
    read(include_bytes!("data/reference_module.json")).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn text_names_everything() {
    let text = listing(&module());
    let lines: Vec<&str> = text.lines().collect();
    for expected in [
        "module: BIR-JSON version 2, arch gen3, 22 instructions",
        "entry function main",
        "  tensor x ExternalInput float32 [4, 8] in DRAM [4, 32]",
        "  register r0 uint32 on ALL",
        "  block Block1",
        "    DMA        Load             load: t[8:4 1:8] float32 <- x[8:4 1:8] float32",
        "    PE         Matmult          product: p[512:8 1:8] float32 <- t[8:4 1:8] float32, t[8:4 1:8] float32 \
         {accumulation_flag=1, tile_size=[-1, -1]}",
        "    ALL        Loop             loop: {LoopAxis=i in 0..2 step 1}",
        "        Pool       Memset           fill: b_set[(i, 0); 8:4 1:8] float32 {mode=Const, constant=0}",
        "    ALL        DynamicForLoop   dynamic: {DynamicForLoopAxis=j in 0..r0 step 1}",
        "    SP         NoOp             wait: wait sem 3 >= 0 sem 4 + 1",
        "    DMA        DMACopy          gather: o[8:2 1:8] float32 <- x_set[r0; 8:2 1:8] float32",
        "    DMA        Save             save: o[8:4 1:8] float32 <- t[8:4 1:8] float32 if 1 ge 0",
        "function callee",
        "queue q0 (DATA)",
        "        DMA        DMADescriptorCopy d0: t[8:4 1:8] float32 <- x[8:4 1:8] float32",
        "        2  DMACopy",
        "        8  ALL",
    ] {
        assert!(lines.contains(&expected), "missing: {expected}\n{text}");
    }
}

#[test]
fn json_agrees_with_the_text() {
    let json = listing_json(&module());
    assert_eq!(json["instructions"], 22);
    assert_eq!(json["entry"], "main");
    assert_eq!(json["functions"][0]["tensors"][0]["name"], "x");
    assert_eq!(json["functions"][0]["tensors"][0]["kind"], "ExternalInput");
    assert_eq!(json["functions"][0]["registers"][0]["name"], "r0");
    assert_eq!(json["functions"][0]["blocks"][0]["instructions"][1]["opcode"], "TensorScalar");
    let nested = &json["functions"][0]["blocks"][0]["instructions"][3]["blocks"][0]["instructions"][0];
    assert_eq!(nested["name"], "fill");
    assert_eq!(json["opcodes"]["DMACopy"], 2);
    assert_eq!(json["engines"]["ALL"], 8);
    let total: u64 = json["opcodes"].as_object().into_iter().flatten().filter_map(|(_, n)| n.as_u64()).sum();
    assert_eq!(total, 22);
}
