//! Locations, accesses, several cores.

use crate::build::*;
use birsim_ir::{AddressSpace, Function, LocationSet, MemoryType, Storage, TensorKind};
use birsim_klr::ast::*;
use birsim_klr::{LowerOptions, lower};

fn copy(dst: TensorRef, src: TensorRef) -> Operator {
    Operator::NcCopy(Box::new(NcCopy { dst, src, dtype: None, engine: Engine::Dve }))
}

fn sets(function: &Function) -> Vec<&LocationSet> {
    function
        .allocations
        .iter()
        .filter_map(|s| match s {
            Storage::Set(set) => Some(set),
            Storage::Register(_) => None,
        })
        .collect()
}

fn lowered(k: LncKernel) -> Function {
    module(k).functions.remove(0)
}

fn copies(dst: TensorRef, src: TensorRef) -> LncKernel {
    kernel(vec![block("main.1", vec![stmt("s", copy(dst, src))])])
}

#[test]
fn tensors_become_locations() {
    let mut k = copies(f("t"), sb("u", Dtype::Bfloat16, &[16, 2, 4]));
    k.inputs = vec![tensor("x", Memory::Hbm, Dtype::Int32, &[4, 6])];
    k.outputs = vec![tensor("y", Memory::SharedHbm, Dtype::Int32, &[4, 6])];
    let mut placed = tensor("p", Memory::Psum, Dtype::Float32, &[32, 16]);
    placed.address.par_offset = Some(32);
    placed.address.free_offset = Some(2048 * 3 + 64);
    k.bodies[0][0].body.push(stmt("q", copy(f("t"), access(pattern(placed)))));
    let fun = lowered(k);
    let rows: Vec<_> = sets(&fun)
        .into_iter()
        .map(|s| {
            let l = &s.locations[0];
            (l.name.as_str(), s.name.as_str(), s.kind, l.ty, s.tensor_shape.clone(), l.dims.clone())
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("x", "x_set", TensorKind::ExternalInput, MemoryType::Dram, vec![4, 6], vec![4, 24]),
            ("y", "y_set", TensorKind::ExternalOutput, MemoryType::Dram, vec![4, 6], vec![4, 24]),
            ("t", "t_set", TensorKind::Internal, MemoryType::Sb, vec![32, 8], vec![32, 32]),
            ("u", "u_set", TensorKind::Internal, MemoryType::Sb, vec![16, 2, 4], vec![16, 16]),
            ("p", "p_set", TensorKind::Internal, MemoryType::Psum, vec![32, 16], vec![32, 64]),
        ]
    );
    let p = &sets(&fun)[4].locations[0];
    assert_eq!((p.allocated, p.base, p.bank, p.addr), (true, 32, 3, 64));
}

#[test]
fn constants_come_from_the_kernels_folder() {
    let mut k = copies(f("t"), hbm("c", Dtype::Float32, &[32, 8]));
    let file = |name: &str| vec![SharedConstantFile { name: "c".into(), file_name: name.into() }];
    k.shared_constants = file("shared_constants/ab.npy");
    let fun = lowered(k.clone());
    let c = sets(&fun).into_iter().find(|s| s.name == "c_set").expect("the constant");
    assert_eq!((c.kind, c.file.as_str()), (TensorKind::Const, "shared_constants/ab.npy"));
    for outside in ["/etc/passwd", "../c.npy", "a/../../c.npy", "", "..\\c.npy"] {
        k.shared_constants = file(outside);
        let errors = run(k.clone()).expect_err(outside);
        assert!(errors[0].what().contains("outside the kernel's folder"), "{errors:?}");
    }
}

#[test]
fn tensors_of_one_address_share_their_storage() {
    // A view of the first half of each row, and one with another dtype.
    let mut half = tensor("half", Memory::Sbuf, Dtype::Float32, &[16, 4]);
    let mut bits = tensor("bits", Memory::Sbuf, Dtype::Int16, &[32, 16]);
    for view in [&mut half, &mut bits] {
        view.address.name = "t".into();
        view.address.par_size = 32;
        view.address.free_size = 32;
    }
    let mut k = copies(f("t"), access(pattern(half)));
    k.bodies[0][0].body.push(stmt("q", copy(f("t"), access(pattern(bits)))));
    let fun = lowered(k);
    assert_eq!(sets(&fun).len(), 1);
    let lines: Vec<String> = fun.blocks[0].instructions.iter().map(text).collect();
    assert_eq!(
        lines,
        ["TensorCopy DVE (t[8:16,1:4]) -> (t[8:32,1:8])", "TensorCopy DVE (t[16:32,1:16]) -> (t[8:32,1:8])",]
    );
}

#[test]
fn allocated_parts_of_an_address_keep_their_distance() {
    let mut part = tensor("part", Memory::Sbuf, Dtype::Float32, &[32, 4]);
    part.address.name = "t".into();
    part.address.par_offset = Some(64);
    part.address.free_offset = Some(1024 + 16);
    let mut whole = tensor("t", Memory::Sbuf, Dtype::Float32, &[128, 8]);
    whole.address.par_offset = Some(0);
    whole.address.free_offset = Some(1024);
    let fun = lowered(copies(access(pattern(whole)), access(pattern(part))));
    assert_eq!(text(&fun.blocks[0].instructions[0]), "TensorCopy DVE (t+516[8:32,1:4]) -> (t[8:128,1:8])");
}

#[test]
fn in_place_outputs_start_as_a_copy_of_their_input() {
    let mut k = copies(hbm("x", Dtype::Float32, &[32, 8]), f("t"));
    k.inputs = vec![tensor("x", Memory::Hbm, Dtype::Float32, &[32, 8])];
    k.outputs = k.inputs.clone();
    let fun = lowered(k.clone());
    let rows: Vec<_> = sets(&fun).into_iter().map(|s| (s.locations[0].name.as_str(), s.kind)).collect();
    assert_eq!(
        rows,
        [
            ("x.must_alias_input", TensorKind::ExternalInput),
            ("x", TensorKind::ExternalOutput),
            ("t", TensorKind::Internal),
        ]
    );
    let lines: Vec<String> = fun.blocks[0].instructions.iter().map(text).collect();
    assert_eq!(
        lines,
        [
            "DMACopy DMA (x.must_alias_input[8:32,1:8]) -> (x[8:32,1:8]) dge_type=Unassigned mode=Copy",
            "TensorCopy DVE (t[8:32,1:8]) -> (x[8:32,1:8])",
        ]
    );
    // Under another name, the input keeps its own.
    k.outputs[0].name = "y".into();
    let fun = lowered(k.clone());
    let names: Vec<_> = sets(&fun).into_iter().map(|s| s.locations[0].name.as_str()).collect();
    assert_eq!(names, ["x", "y", "t"]);
    // With two cores, one copies and both meet.
    k.bodies.push(k.bodies[0].clone());
    let both = run(k).expect("lowers").modules;
    let opcodes = |m: usize| -> Vec<String> {
        both[m].functions[0].blocks[0].instructions.iter().map(|i| i.opcode.to_string()).collect()
    };
    assert_eq!(opcodes(0), ["DMACopy", "CoreBarrier", "TensorCopy"]);
    assert_eq!(opcodes(1), ["CoreBarrier", "TensorCopy"]);
}

#[test]
fn cores_share_hbm_and_nothing_else() {
    let private = access(pattern(tensor("own", Memory::PrivateHbm, Dtype::Float32, &[32, 8])));
    let mut k = copies(f("t"), hbm("x", Dtype::Float32, &[32, 8]));
    k.bodies[0][0].body.push(stmt("q", copy(f("t"), private)));
    k.bodies.push(k.bodies[0].clone());
    let both = run(k).expect("lowers").modules;
    assert_eq!(both.len(), 2);
    for (core, m) in both.iter().enumerate() {
        assert_eq!(m.attributes["neuron_core_id"], core);
        let spaces: Vec<_> = sets(&m.functions[0]).into_iter().map(|s| (s.name.as_str(), s.addr_space)).collect();
        assert_eq!(
            spaces,
            [("t_set", AddressSpace::Local), ("x_set", AddressSpace::Shared), ("own_set", AddressSpace::Local),]
        );
    }
}

#[test]
fn a_kernel_has_at_most_64_cores() {
    let mut k = kernel(vec![]);
    k.bodies = vec![vec![]; 64];
    assert_eq!(run(k.clone()).expect("64 cores").modules.len(), 64);
    k.bodies = vec![vec![]; 100_000];
    let errors = run(k).expect_err("too many");
    assert_eq!((errors.len(), errors[0].what()), (1, "a kernel of more than 64 cores"));
}

#[test]
fn every_form_of_access() {
    let t = || tensor("t", Memory::Sbuf, Dtype::Float32, &[32, 6, 8]);
    let line = |src: TensorRef| one(copy(f("d"), src));
    let of = |src: &str| format!("TensorCopy DVE ({src}) -> (d[8:32,1:8])");
    assert_eq!(line(TensorRef::Abstract(Access::Simple(t()))), of("t[48:32,1:1,1:48]"));
    let indexes = vec![
        Index::Slice(Slice { l: 0, u: 32, step: 1 }),
        Index::Coord(2),
        Index::Slice(Slice { l: 1, u: 8, step: 3 }),
    ];
    let basic = AccessBasic { tensor: t(), indexes };
    assert_eq!(line(TensorRef::Abstract(Access::Basic(basic))), of("t+17[48:32,8:1,3:3]"));
    let pair = |step, num, offset| ApPair { step, num, offset };
    let explicit = AccessPattern {
        tensor: t(),
        par_num: 32,
        pattern: vec![pair(48, 32, 0), pair(1, 8, 8)],
        par_offset: 0,
        free_offset: 8,
        fixed_axis: vec![],
    };
    assert_eq!(line(TensorRef::Abstract(Access::Pattern(explicit.clone()))), of("t+8[48:32,1:8]"));
    let summary = AccessPattern { pattern: vec![pair(48, 16, 0), pair(1, 8, 0)], par_offset: 16, ..explicit };
    assert_eq!(line(TensorRef::Abstract(Access::Pattern(summary))), of("t+776[48:16,1:8]"));
    // Offsets of pairs are part of the linear offset already; negative and zero steps pass.
    let lowered =
        BirAccessPattern { offset: 47, pattern: vec![pair(48, 32, 0), pair(0, 2, 0), pair(-1, 8, 40)], ..pattern(t()) };
    assert_eq!(line(access(lowered)), of("t+47[48:32,0:2,-1:8]"));
    let sram = TensorSram {
        name: "s".into(),
        dtype: Dtype::Float32,
        par_num: 32,
        pattern: vec![pair(1, 8, 0)],
        par_offset: 32,
        free_offset: 256,
    };
    assert_eq!(line(TensorRef::Sbuf(sram)), of("s[8:32,1:8]"));
    let flat =
        TensorHbm { name: "h".into(), dtype: Dtype::Float32, address: 0, dims: vec![pair(8, 32, 0), pair(1, 8, 0)] };
    assert_eq!(line(TensorRef::Hbm(flat)), of("h[8:32,1:8]"));
    assert_eq!(refused(copy(f("d"), TensorRef::Register(4))), "K004 unsupported tensorRef type");
}

#[test]
fn broken_accesses_are_refused() {
    let t = || tensor("t", Memory::Sbuf, Dtype::Float32, &[32, 8]);
    let basic = |indexes| TensorRef::Abstract(Access::Basic(AccessBasic { tensor: t(), indexes }));
    let refuse = |src: TensorRef| refused(copy(f("d"), src));
    assert_eq!(refuse(basic(vec![Index::Coord(0)])), "K005 an access has another rank than its tensor");
    let zero = Index::Slice(Slice { l: 0, u: 4, step: 0 });
    assert_eq!(refuse(basic(vec![Index::Coord(0), zero])), "K005 a slice has step 0");
    let far = BirAccessPattern { offset: u64::MAX, ..pattern(t()) };
    assert_eq!(refuse(access(far)), "K005 an access pattern leaves 64 bits");
    let odd = BirAccessPattern {
        dtype_override: Some(Dtype::Int64),
        ..pattern(tensor("o", Memory::Sbuf, Dtype::Float32, &[32, 3]))
    };
    assert!(refuse(access(odd)).starts_with("K005 a row does not hold whole elements"));
    let scalar = BirAccessPattern { scalar_offset: Some(ScalarOffset::Reg("r".into())), ..pattern(t()) };
    let reciprocal = Reciprocal { dst: f("d"), src: access(scalar), dtype: None };
    assert_eq!(
        refused(Operator::Reciprocal(Box::new(reciprocal))),
        "K004 Dynamic Access is not allowed in the instruction."
    );
    let mut huge = t();
    huge.shape.par_dim = 64;
    assert!(run(copies(f("d"), access(pattern(huge)))).expect_err("too large")[0].what().contains("larger than"));
}

#[test]
fn strict_mode_refuses_what_the_reference_refuses() {
    let strict = LowerOptions { strict: true, ..LowerOptions::default() };
    let t = tensor("t", Memory::Sbuf, Dtype::Float32, &[32, 8]);
    let basic = AccessBasic { tensor: t, indexes: vec![Index::Coord(0), Index::Coord(1)] };
    let dma = NcDmaCopy {
        dst: f("d"),
        src: f("a"),
        compute_op: DgeComputeOp::Add,
        oob_mode: DmaBounds::Error,
        dge_mode: 0,
        unique_indices: false,
        priority: None,
        engine: Engine::Unassigned,
    };
    let on_sp = NcDmaCopy { compute_op: DgeComputeOp::None, engine: Engine::Sp, ..dma.clone() };
    let list = vec![
        stmt("a", copy(f("d"), TensorRef::Abstract(Access::Basic(basic)))),
        stmt("b", Operator::NcDmaCopy(Box::new(dma))),
        stmt("c", Operator::NcDmaCopy(Box::new(on_sp))),
    ];
    let program = Program::Lnc(kernel(vec![block("main.1", list)]));
    assert!(lower(&program, &LowerOptions::default()).is_ok());
    let errors = lower(&program, &strict).expect_err("three refusals");
    let whats: Vec<&str> = errors.iter().map(|e| e.what()).collect();
    assert_eq!(
        whats,
        [
            "unsupported access type",
            "an accumulating scatter needs a destination with indices",
            "dma_copy engine can only be specified when HWDGE mode is used.",
        ]
    );
}

#[test]
fn allocated_references_find_listed_tensors_by_name() {
    let pair = |step, num| ApPair { step, num, offset: 0 };
    let whole = || vec![pair(8, 32), pair(1, 8)];
    let h =
        |name: &str| TensorRef::Hbm(TensorHbm { name: name.into(), dtype: Dtype::Float32, address: 0, dims: whole() });
    let p = TensorSram {
        name: "p".into(),
        dtype: Dtype::Float32,
        par_num: 32,
        pattern: vec![pair(1, 8)],
        par_offset: 64,
        free_offset: 2048 + 32,
    };
    let mut k = copies(TensorRef::Psum(p.clone()), h("x"));
    // The input's storage has a name of its own, and another tensor is called like that.
    k.inputs = vec![tensor("x", Memory::Hbm, Dtype::Float32, &[32, 8])];
    k.inputs[0].address.name = "t".into();
    k.bodies[0][0].body.push(stmt("q", copy(f("t2"), TensorRef::Psum(TensorSram { par_num: 16, ..p }))));
    let fun = lowered(k);
    let rows: Vec<_> = sets(&fun)
        .into_iter()
        .map(|s| {
            let l = &s.locations[0];
            (l.name.as_str(), l.dims.clone(), l.base, l.bank, l.addr)
        })
        .collect();
    assert_eq!(rows, [("x", vec![32, 32], 0, 0, 0), ("p", vec![32, 32], 64, 1, 32), ("t2", vec![32, 32], 0, 0, 0)]);
    let lines: Vec<String> = fun.blocks[0].instructions.iter().map(text).collect();
    assert_eq!(
        lines,
        ["TensorCopy DVE (x[8:32,1:8]) -> (p[8:32,1:8])", "TensorCopy DVE (p[8:16,1:8]) -> (t2[8:32,1:8])"]
    );
}
