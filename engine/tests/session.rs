//! Sessions: programs appended as blocks of native instructions.

use birsim_engine::ir::opcodes::elementwise::field::TensorScalar as ts;
use birsim_engine::ir::opcodes::pe::field::Matmult as mm;
use birsim_engine::ir::{ApPair, Engine, ImmValue, MemoryType, Opcode, TensorKind};
use birsim_engine::session::{
    Adding, Block, Dynamic, LocationId, LocationSpec, Progress, Register, Role, SourceId, Sources, View,
};
use birsim_engine::world::expr::Ex;
use birsim_engine::world::{AxisId, FieldValue};
use birsim_engine::{Builder, Check, Code, Fill, Remark, Session, Target};
use birsim_kernels::alu::AluOp;
use birsim_kernels::{Dtype, Named};

const F32: Dtype = Dtype::Float32;

fn id(number: u32) -> LocationId {
    LocationId { core: 0, number }
}

fn session() -> Session {
    Session::new(Target::Trn2, 1).unwrap()
}

fn sbuf(name: &str, columns: u64) -> LocationSpec {
    LocationSpec::new(name, MemoryType::Sb, F32, &[1, columns])
}

/// `columns` elements of one partition, from `offset` on.
fn row(columns: i64) -> [ApPair; 2] {
    [ApPair { step: columns, num: 1 }, ApPair { step: 1, num: columns }]
}

fn named<T: Named>(value: T) -> FieldValue {
    FieldValue::Int(i64::from(value.ordinal()))
}

/// to = from op value, element by element.
fn step(b: &mut Block, (to, from): (LocationId, LocationId), (op, value): (AluOp, f64), source: SourceId) {
    let pairs = row(4);
    let add = b.instr(Opcode::TensorScalar, Engine::Dve, source);
    scalar(add.input(View::new(from, F32, 0, &pairs)).output(View::new(to, F32, 0, &pairs)), op, value);
}

/// Makes the last instruction a TensorScalar: in op value.
fn scalar(add: Adding, op: AluOp, value: f64) {
    add.field(ts::op0, named(op))
        .field(ts::const0, FieldValue::Float(value))
        .field(ts::reverse0, FieldValue::Int(0))
        .field(ts::op1, named(AluOp::Bypass))
        .field(ts::const1, FieldValue::Float(0.0))
        .field(ts::reverse1, FieldValue::Int(0));
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A chain of sums and products over one tile, cut into blocks of `piece` instructions.
fn chain(piece: usize, n: usize) -> Vec<u8> {
    let mut s = session();
    let x = s.location(0, &sbuf("x", 4)).unwrap();
    s.bind(x, &bytes(&[1.0, -2.0, 0.5, 3.25])).unwrap();
    let mut done = 0;
    while done < n {
        let mut b = Block::new();
        for k in done..(done + piece).min(n) {
            let op = if k % 3 == 0 { (AluOp::Mult, 1.01) } else { (AluOp::Add, k as f64 * 0.37 - 5.0) };
            step(&mut b, (x, x), op, SourceId(0));
        }
        done += piece;
        s.append(0, &b).unwrap();
        if done % 2 == 0 {
            assert_eq!(s.run(0).unwrap(), Progress::Done);
        }
    }
    s.run_all().unwrap();
    s.read(x).unwrap()
}

#[test]
fn a_program_in_pieces_gives_the_bits_of_the_whole() {
    let whole = chain(1000, 1000);
    assert!(floats(&whole).iter().all(|v| v.is_finite()));
    for piece in [1, 7, 64, 999] {
        assert_eq!(chain(piece, 1000), whole, "{piece} instructions a block");
    }
}

#[test]
fn never_written_memory_holds_nan_or_four() {
    let mut s = session();
    let f = s.location(0, &LocationSpec::new("f", MemoryType::Sb, Dtype::Bfloat16, &[2, 3])).unwrap();
    let i = s.location(0, &LocationSpec::new("i", MemoryType::Dram, Dtype::Int32, &[3])).unwrap();
    let big = s.location(0, &LocationSpec::new("big", MemoryType::Dram, Dtype::Int16, &[3 << 20])).unwrap();
    assert!(
        s.read(f)
            .unwrap()
            .chunks(2)
            .all(|b| f32::from_bits(u32::from(u16::from_le_bytes([b[0], b[1]])) << 16).is_nan())
    );
    assert_eq!(s.read(i).unwrap(), [4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0]);
    // Touched in part: pages that nothing wrote still hold the fill.
    s.bind(big, &[9; 7]).unwrap();
    let read = s.read(big).unwrap();
    assert_eq!((&read[..9], &read[read.len() - 2..]), (&[9, 9, 9, 9, 9, 9, 9, 0, 4][..], &[4, 0][..]));
    let mut s = Session::with(Builder::default().fill(Fill::Byte(0xA5)), Target::Trn2, 1).unwrap();
    let f = s.location(0, &sbuf("f", 1)).unwrap();
    assert_eq!(s.read(f).unwrap(), [0xA5; 4]);
}

#[test]
fn released_locations_are_reused_and_their_numbers_are_gone() {
    let mut s = session();
    let mut most = 0;
    for k in 0..300 {
        let mut b = Block::new();
        b.declare(id(2 * k), sbuf("from", 4));
        b.declare(id(2 * k + 1), sbuf("to", 4));
        step(&mut b, (id(2 * k + 1), id(2 * k)), (AluOp::Add, 1.0), SourceId(0));
        b.release(id(2 * k));
        s.append(0, &b).unwrap();
        s.run(0).unwrap();
        assert_eq!(s.read(id(2 * k)).unwrap_err().code(), Code::J006);
        s.release(id(2 * k + 1)).unwrap();
        s.run(0).unwrap();
        let world = s.world_mut(0).unwrap();
        most = most.max(world.query::<&birsim_engine::world::Placement>().iter(world).count());
        let touched: u64 = world.query::<&birsim_engine::memory::ArenaMem>().iter(world).map(|a| a.touched()).sum();
        assert_eq!(touched, 0);
    }
    assert!(most <= 4, "{most} slots for two tiles that are alive at a time");
    assert_eq!(s.report().alive, [vec![]]);
    let mut b = Block::new();
    step(&mut b, (id(0), id(0)), (AluOp::Add, 1.0), SourceId(0));
    assert_eq!(s.append(0, &b).unwrap_err().code(), Code::J006);
}

#[test]
fn storage_is_freed_while_a_block_runs() {
    // Every tile is dead after the instruction that follows it, so few are alive at a time though one block names all.
    let mut s = Session::with(
        Builder::default().limits(birsim_engine::Limits { max_memory: Some(3 << 20), ..Default::default() }),
        Target::Trn2,
        1,
    )
    .unwrap();
    let mut b = Block::new();
    let tile = || LocationSpec::new("tile", MemoryType::Sb, F32, &[128, 128]);
    for k in 0..3000 {
        b.declare(id(k), tile());
        let all = [ApPair { step: 128, num: 128 }, ApPair { step: 1, num: 128 }];
        b.instr(Opcode::Memset, Engine::Pool, SourceId(0))
            .output(View::new(id(k), F32, 0, &all))
            .field(birsim_engine::ir::opcodes::copy::field::Memset::mode, FieldValue::Int(0))
            .field(birsim_engine::ir::opcodes::copy::field::Memset::constant, FieldValue::Int(i64::from(k)));
        b.release(id(k));
    }
    s.append(0, &b).unwrap();
    s.run(0).unwrap();
    assert_eq!(s.report().cores[0].stats.instructions, 3000);
}

#[test]
fn a_hundred_thousand_instructions_stay_within_the_rows_of_one_block() {
    let mut s = session();
    let x = s.location(0, &sbuf("x", 4)).unwrap();
    s.bind(x, &bytes(&[0.0; 4])).unwrap();
    let mut b = Block::new();
    for _ in 0..100_000_usize.div_ceil(4096) {
        b.clear();
        (0..4096).for_each(|_| step(&mut b, (x, x), (AluOp::Add, 1.0), SourceId(0)));
        s.append(0, &b).unwrap();
        s.run(0).unwrap();
    }
    let world = s.world_mut(0).unwrap();
    assert_eq!(world.query::<&birsim_engine::world::SyncSet>().iter(world).count(), 4096);
    let program = world.resource::<birsim_engine::world::Program>();
    assert_eq!((program.insts.len(), program.blocks.len(), program.lists.len()), (0, 0, 1));
    assert!(program.insts.capacity() <= 8192 && program.patterns.capacity() <= 4 * 8192);
    assert_eq!(floats(&s.read(x).unwrap()), [102_400.0; 4]);
    assert_eq!(s.finish().unwrap().cores[0].stats.instructions, 102_400);
}

#[test]
fn an_error_names_the_source_line_and_the_session_stays_readable() {
    let mut s = session();
    let sources: Sources = s.sources().clone();
    let x = s.location(0, &sbuf("x", 4)).unwrap();
    s.bind(x, &bytes(&[1.0, 2.0, 3.0, 4.0])).unwrap();
    let mut b = Block::new();
    step(&mut b, (x, x), (AluOp::Add, 1.0), sources.add("kernel.py", 11));
    let wide = row(5);
    b.instr(Opcode::TensorCopy, Engine::Dve, sources.add("kernel.py", 12))
        .input(View::new(x, F32, 0, &wide))
        .output(View::new(x, F32, 0, &wide));
    s.append(0, &b).unwrap();
    let e = s.run(0).unwrap_err();
    assert_eq!(e.code(), Code::S001);
    let p = e.place();
    assert_eq!((p.source.as_deref(), p.opcode.as_deref()), (Some("kernel.py:12"), Some("TensorCopy")));
    assert_eq!((p.instruction.as_deref(), p.block.as_deref(), p.tensor.as_deref()), (None, None, Some("x")));
    assert_eq!(floats(&s.read(x).unwrap()), [2.0, 3.0, 4.0, 5.0]);
    // Nothing runs on after a fault.
    assert_eq!(s.run(0).unwrap_err().code(), Code::S001);
}

#[test]
fn a_block_that_is_refused_leaves_nothing_behind() {
    let mut s = Session::with(Builder::default().checks([Check::Uninit]), Target::Trn2, 1).unwrap();
    let x = s.location(0, &sbuf("x", 4)).unwrap();
    let sources = s.sources().clone();
    let mut b = Block::new();
    step(&mut b, (x, x), (AluOp::Add, 1.0), SourceId(0));
    let at = sources.add("k.py", 7);
    step(&mut b, (x, id(99)), (AluOp::Add, 1.0), at);
    let e = s.append(0, &b).unwrap_err();
    assert_eq!(
        (e.code(), e.place().operand.as_deref(), e.place().source.as_deref()),
        (Code::J006, Some("ins[0]"), Some("k.py:7"))
    );
    for opcode in [Opcode::Return, Opcode::DMATrigger, Opcode::Call, Opcode::GroupResetSemaphores, Opcode::Loop] {
        let mut b = Block::new();
        b.instr(opcode, Engine::Sp, SourceId(0));
        assert_eq!(s.append(0, &b).unwrap_err().code(), Code::U002, "{opcode}");
    }
    let mut b = Block::new();
    b.instr(Opcode::NoOp, Engine::Sp, SourceId(0)).field(99, FieldValue::Int(1));
    assert_eq!(s.append(0, &b).unwrap_err().code(), Code::B001);
    assert_eq!(s.append(3, &Block::new()).unwrap_err().code(), Code::S008);
    assert_eq!(s.run(0).unwrap(), Progress::Done);
    assert_eq!(s.report().cores[0].stats.instructions, 0);
    // The next block runs, and what its instruction reads is told of its own operand.
    let mut b = Block::new();
    let at = sources.add("k.py", 9);
    step(&mut b, (x, x), (AluOp::Add, 1.0), at);
    s.append(0, &b).unwrap();
    assert_eq!(s.run(0).unwrap(), Progress::Done);
    let core = s.report().cores.remove(0);
    assert_eq!(core.stats.instructions, 1);
    let found: Vec<_> = core.diagnostics.iter().map(|d| (d.code, d.message.as_str())).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, Remark::Uninit);
    assert!(found[0].1.starts_with("TensorScalar at k.py:9 reads memory of x"), "{found:?}");
}

#[test]
fn loops_count_by_registers_and_address_by_their_axis() {
    let mut s = session();
    let x = s.location(0, &sbuf("x", 8)).unwrap();
    s.bind(x, &bytes(&[0.0; 8])).unwrap();
    let trips = Register { number: 0, dtype: Dtype::Int32 };
    let load = |b: &mut Block, r: Register, v: i128| {
        b.instr(Opcode::RegisterMove, Engine::Sp, SourceId(0))
            .imm(Dtype::Int32, ImmValue::Int(v))
            .register(Role::Out, r);
    };
    let one = row(1);
    let bump = |b: &mut Block, at: Ex| {
        let view =
            || View { dynamic: Some(Dynamic { scalar: Some(at.clone()), vector: None }), ..View::new(x, F32, 1, &one) };
        let add = b.instr(Opcode::TensorScalar, Engine::Dve, SourceId(0));
        scalar(add.input(view()).output(view()), AluOp::Add, 1.0);
    };
    let mut b = Block::new();
    load(&mut b, trips, 5);
    let mut inner = Block::new();
    bump(&mut inner, Ex::Lin(Box::new([(Ex::Axis(AxisId(0)), 1), (Ex::Axis(AxisId(1)), 1)]), 0));
    let mut outer = Block::new();
    outer.repeat((Ex::C(0), Ex::C(2), Ex::C(1)), SourceId(0), inner);
    b.repeat((Ex::C(0), trips.value(), Ex::C(2)), SourceId(0), outer);
    s.append(0, &b).unwrap();
    s.run(0).unwrap();
    // Trips 0, 2, 4 of the outer loop, 0 and 1 of the inner one.
    assert_eq!(floats(&s.read(x).unwrap()), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(s.register(0, trips).unwrap(), 5);

    // A loop that runs until its register is zero, and a bound of zero that guards its body.
    let left = Register { number: 1, dtype: Dtype::Int32 };
    let mut b = Block::new();
    load(&mut b, left, 3);
    let mut body = Block::new();
    bump(&mut body, Ex::C(-1));
    body.instr(Opcode::RegisterAlu, Engine::Sp, SourceId(0))
        .register(Role::In, left)
        .imm(Dtype::Int32, ImmValue::Int(1))
        .register(Role::Out, left)
        .field(birsim_engine::ir::opcodes::registers::field::RegisterAlu::op, named(AluOp::Subtract));
    b.do_while(left.value(), SourceId(0), body);
    let mut never = Block::new();
    bump(&mut never, Ex::C(0));
    b.repeat((Ex::C(0), left.value(), Ex::C(1)), SourceId(0), never);
    s.append(0, &b).unwrap();
    s.run(0).unwrap();
    assert_eq!(floats(&s.read(x).unwrap())[0], 3.0);
    assert_eq!(s.register(0, left).unwrap(), 0);
}

#[test]
fn auto_accumulation_copies_first_and_then_adds_element_by_element() {
    let mut s = session();
    let hbm = |n| LocationSpec::new("w", MemoryType::Sb, F32, &[2, n]);
    let (a, w) = (s.location(0, &hbm(2)).unwrap(), s.location(0, &hbm(2)).unwrap());
    let acc = s.location(0, &LocationSpec::new("acc", MemoryType::Psum, F32, &[2, 2])).unwrap();
    s.bind(a, &bytes(&[1.0, 2.0, 3.0, 4.0])).unwrap();
    s.bind(w, &bytes(&[1.0, 0.0, 0.0, 1.0])).unwrap();
    let mut b = Block::new();
    let matmul = |b: &mut Block, columns: i64| {
        let part = [ApPair { step: 2, num: 2 }, ApPair { step: 1, num: columns }];
        let all = [ApPair { step: 2, num: 2 }, ApPair { step: 1, num: 2 }];
        b.instr(Opcode::Matmult, Engine::Pe, SourceId(0))
            .input(View::new(a, F32, 0, &part))
            .input(View::new(w, F32, 0, &all))
            .output(View::new(acc, F32, 0, &part))
            .field(mm::accumulation_flag, FieldValue::Int(0))
            .auto_accumulate();
    };
    matmul(&mut b, 1);
    matmul(&mut b, 2);
    s.append(0, &b).unwrap();
    s.run(0).unwrap();
    // Column 0 was written twice, column 1 once.
    assert_eq!(floats(&s.read(acc).unwrap()), [2.0, 2.0, 6.0, 4.0]);
}

#[test]
fn views_are_read_element_by_element() {
    let mut s = session();
    let x = s.location(0, &LocationSpec::new("x", MemoryType::Sb, F32, &[2, 3])).unwrap();
    s.bind(x, &bytes(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])).unwrap();
    let turned = [ApPair { step: 1, num: 3 }, ApPair { step: 3, num: 2 }];
    assert_eq!(floats(&s.read_view(x, F32, 0, &turned).unwrap()), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(s.read_view(x, F32, 1, &turned).unwrap_err().code(), Code::S001);
}

#[test]
fn an_uninitialised_read_is_found_and_a_reused_slot_is_judged_anew() {
    let options = || Builder::default().fill(Fill::NanOrFour).checks([Check::Uninit]);
    let mut s = Session::with(options(), Target::Trn2, 1).unwrap();
    let line = s.sources().add("k.py", 3);
    for k in 0..2 {
        let mut b = Block::new();
        b.declare(id(k), sbuf("x", 4));
        step(&mut b, (id(k), id(k)), (AluOp::Add, 1.0), SourceId(line.0));
        b.release(id(k));
        s.append(0, &b).unwrap();
        s.run(0).unwrap();
    }
    let found = s.report().cores.remove(0).diagnostics;
    // The same line and tensor again, so it is said once.
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [Remark::Uninit]);
    assert_eq!(found[0].place.as_ref().unwrap().source.as_deref(), Some("k.py:3"));
    assert!(found[0].message.starts_with("TensorScalar at k.py:3 reads memory of x"), "{}", found[0].message);
    assert_eq!(s.finish().unwrap_err().code(), Code::S017);
    assert_eq!(Session::with(options().checks([Check::Race]), Target::Trn2, 1).err().unwrap().code(), Code::U002);
}

#[test]
fn a_modified_input_names_the_line_that_modified_it() {
    let mut s = session();
    let x = s.location(0, &sbuf("x", 4).kind(TensorKind::ExternalInput)).unwrap();
    s.location(0, &sbuf("y", 4).kind(TensorKind::ExternalOutput)).unwrap();
    s.bind(x, &bytes(&[0.0; 4])).unwrap();
    let line = s.sources().add("k.py", 9);
    let mut b = Block::new();
    step(&mut b, (x, x), (AluOp::Add, 1.0), line);
    s.append(0, &b).unwrap();
    let report = s.finish().unwrap();
    let told: Vec<&str> = report.cores[0].diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(told, ["input x was modified, first by k.py:9", "output y was never written"]);
}

/// Both cores write their half of a shared tensor, meet at a barrier, and copy the other's half.
#[test]
fn two_cores_meet_and_share() {
    let mut s = Session::new(Target::Trn2, 2).unwrap();
    let spec = |name: &str| LocationSpec::new(name, MemoryType::Dram, F32, &[8]);
    let ids: Vec<[LocationId; 2]> = (0..2)
        .map(|core| [s.location(core, &spec("shared").share("s")).unwrap(), s.location(core, &spec("own")).unwrap()])
        .collect();
    s.bind(ids[0][0], &bytes(&[0.0; 8])).unwrap();
    assert_eq!(floats(&s.read(ids[1][0]).unwrap()), [0.0; 8]);
    let half = [ApPair { step: 4, num: 1 }, ApPair { step: 1, num: 4 }];
    let block = |core: usize| {
        let ([shared, own], mine) = (ids[core], 4 * core as i64);
        let mut b = Block::new();
        let half_of = |location| View::new(location, F32, mine, &half);
        let add = b.instr(Opcode::TensorScalar, Engine::Dve, SourceId(0));
        scalar(add.input(half_of(shared)).output(half_of(shared)), AluOp::Add, core as f64 + 1.0);
        b.instr(Opcode::CoreBarrier, Engine::Sp, SourceId(0));
        b.instr(Opcode::TensorCopy, Engine::Dve, SourceId(0))
            .input(View::new(shared, F32, 4 - mine, &half))
            .output(View::new(own, F32, 0, &half));
        b
    };
    s.append(0, &block(0)).unwrap();
    let Progress::Blocked(why) = s.run(0).unwrap() else { panic!("core 0 went past the barrier alone") };
    assert!(why.contains("CoreBarrier"), "{why}");
    s.append(1, &block(1)).unwrap();
    assert_eq!(s.run(1).unwrap(), Progress::Done);
    assert_eq!(s.run(0).unwrap(), Progress::Done);
    assert_eq!(floats(&s.read(ids[0][1]).unwrap())[..4], [2.0; 4]);
    assert_eq!(floats(&s.read(ids[1][1]).unwrap())[..4], [1.0; 4]);

    // Again, both at once; then one core alone waits for ever.
    (0..2).for_each(|core| s.append(core, &block(core as usize)).unwrap());
    s.run_all().unwrap();
    assert_eq!(floats(&s.read(ids[0][0]).unwrap()), [2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 4.0]);
    s.append(0, &block(0)).unwrap();
    let e = s.run_all().unwrap_err();
    assert_eq!(e.code(), Code::S003);
    assert!(e.what().contains("core 1: has finished"), "{e}");
}
