//! The opcode table against the catalogue of InstructionType (`opcodes.md` 1).

use birsim_ir::opcodes::{FAMILIES, field};
use birsim_ir::table::Absence;
use birsim_ir::{Engine, Fidelity, FieldType, Opcode, Role, RouteClass, Rule, Trait, When};
use std::collections::HashSet;

/// Names in ordinal order; a suffix marks the class when it is not kernel: a abstract, s skipped, n no-op, c control flow.
const CATALOGUE: &str = "\
    Generic/a GenericCopy GenericRelu/s AbstractCopy Activation ReadActivationAccumulator LoadActFuncSet \
    MatmultBase/a Matmult MatmultSparse Memset GetGlobalRankId NoOp/n EventSemaphore/n GroupResetSemaphores \
    AllEngineBarrier/n Drain Halt DMA/a Load Pool Reciprocal Save TensorCopy TensorCopyDynamicSrc \
    TensorCopyDynamicDst IndirectCopy TensorReduce TensorScalar TensorScalarPtr TensorScalarCache TensorTensor \
    DMACopy GPSIMDSB2SB BNStats BNStatsAggregate BNGradients BNBackprop BNBackprop2 StreamShuffle \
    StreamTranspose ReadVarAddr GenericIndirectLoad IndirectLoad GenericIndirectSave IndirectSave \
    IndirectSaveAccumulate Collective/a CollectiveCompute CollectiveSend CollectiveRecv Select CopyPredicated \
    CustomOp BIRKernel NKIKernel NKIKLIRKernel/s DevicePrint GetRandState SetRandState Rand Iota \
    TensorScalarAffineSelect RangeSelect GetSequenceBounds Dropout GetCurProcessingRankID DMATrigger \
    DMADescriptor/a DMADescriptorCopy DMADescriptorCCE DMADescriptorTranspose DMADescriptorReplicate \
    RegisterAlu RegisterMove TensorLoad TensorSave Terminator/a CompareAndBranch UnconditionalBranch BranchHint \
    Return Exit Break Call SwitchQueueInstance ResetQueueInstance CoreBarrier Max MaxIndex MatchReplace \
    MaxIndexAndMatchReplace Gather InlineASMBytes/s TensorCompletion MatmultMx QuantizeMx Rand2 RandSetState \
    RandGetState Rng/s ActivationReadAccumulator DveReadAccumulator Exponential NonzeroWithCount/s Loop/c \
    DynamicForLoop/c DMABlock DoWhile/c TongaReduceMacroSymbolic";

#[test]
fn names_ordinals_and_classes_are_the_catalogue() {
    let rows: Vec<_> = FAMILIES.iter().flat_map(|f| f.iter()).collect();
    assert_eq!(rows.len(), 110);
    let ordinals: HashSet<u8> = rows.iter().map(|r| r.opcode.ordinal()).collect();
    assert_eq!(ordinals.len(), 110, "an ordinal is used twice");
    let entries: Vec<&str> = CATALOGUE.split_whitespace().collect();
    assert_eq!(entries.len(), 110);
    for (ordinal, entry) in entries.iter().enumerate() {
        let (name, class) = entry.split_once('/').unwrap_or((entry, "k"));
        let opcode = Opcode::from_ordinal(ordinal as u8).unwrap();
        assert_eq!(opcode.name(), name);
        assert_eq!(Opcode::from_name(name), Some(opcode));
        assert_eq!(opcode.row().opcode, opcode);
        let expected = match class {
            "a" => RouteClass::Abstract,
            "s" => RouteClass::Skipped,
            "n" => RouteClass::NoOp,
            "c" => RouteClass::ControlFlow,
            _ => RouteClass::Kernel,
        };
        assert_eq!(opcode.row().class, expected, "{name}");
    }
    assert_eq!(Opcode::from_ordinal(110), None);
    assert_eq!(Opcode::from_name("Shuffle"), None);
}

#[test]
fn classes_sum_to_93_6_5_3_3() {
    let count = |class| Opcode::all().filter(|o| o.row().class == class).count();
    assert_eq!(
        [RouteClass::Kernel, RouteClass::Abstract, RouteClass::Skipped, RouteClass::NoOp, RouteClass::ControlFlow]
            .map(count),
        [93, 6, 5, 3, 3]
    );
}

#[test]
fn fidelity_follows_the_class() {
    for opcode in Opcode::all() {
        let row = opcode.row();
        let fits = match row.class {
            RouteClass::Abstract => row.fidelity == Fidelity::Unsupported,
            RouteClass::Skipped => matches!(row.fidelity, Fidelity::Skipped | Fidelity::Extension),
            _ => matches!(row.fidelity, Fidelity::Exact | Fidelity::Approximate),
        };
        assert!(fits, "{opcode}: {:?}", row.fidelity);
        assert!(!row.spec.is_empty(), "{opcode}");
    }
}

#[test]
fn item_6_labels_name_what_is_open() {
    let labels = |name: &str| {
        let row = Opcode::from_name(name).unwrap().row();
        (row.fidelity, row.open.unwrap_or_default(), row.partial.unwrap_or_default())
    };
    for name in ["Activation", "Exponential"] {
        assert_eq!(labels(name).0, Fidelity::Exact, "{name}");
    }
    for (name, fact) in [
        ("Matmult", "order"),
        ("IndirectLoad", "one index moves"),
        ("IndirectSave", "one index moves"),
        ("MatmultMx", "fp4 lanes"),
        ("QuantizeMx", "fp4 lanes"),
    ] {
        let (fidelity, open, _) = labels(name);
        assert!(fidelity == Fidelity::Approximate && open.contains(fact), "{name}: {open}");
    }
    // One story: the reference skips it, which is its class; birsim executes it as an extension.
    let row = Opcode::NonzeroWithCount.row();
    assert_eq!((row.class, row.fidelity), (RouteClass::Skipped, Fidelity::Extension));
    assert!(row.open.unwrap().starts_with("the reference skips it; birsim executes it"));
    for row in Opcode::all().map(Opcode::row) {
        assert!(row.partial.is_none_or(|missing| missing.len() > 20), "{}", row.name);
    }
}

#[test]
fn keys_are_unique_and_do_not_hide_header_keys() {
    const HEADER: [&str; 20] = [
        "name",
        "opcode",
        "engine",
        "engine_id",
        "ins",
        "outs",
        "indirection_ins",
        "scheduled_start",
        "scheduled_end",
        "origin",
        "optin_passes",
        "dependencies",
        "loop_carried_dependencies",
        "unroll_dependencies",
        "sync_info",
        "loopnest",
        "predicates",
        "order",
        "debug",
        "blocks",
    ];
    for opcode in Opcode::all() {
        let keys: HashSet<&str> = opcode.row().fields.iter().map(|f| f.key).collect();
        assert_eq!(keys.len(), opcode.row().fields.len(), "{opcode}");
        assert!(HEADER.iter().all(|h| !keys.contains(h)), "{opcode}");
    }
}

#[test]
fn defaults_fit_their_types() {
    for opcode in Opcode::all() {
        for f in opcode.row().fields {
            let fits = match (f.ty, f.default) {
                (_, Absence::Required | Absence::Absent) => true,
                (FieldType::Bool, Absence::Bool(_)) | (FieldType::Float, Absence::Float(_)) => true,
                (FieldType::Int(lo, hi), Absence::Int(v)) => lo <= v && v <= hi,
                (FieldType::Enum(def), Absence::Enum(o)) => def.name_of(o).is_some(),
                (FieldType::Str, Absence::Str(_)) => true,
                _ => false,
            };
            assert!(fits, "{opcode}.{}", f.key);
        }
    }
}

#[test]
fn dma_base_opcodes_share_the_base_keys() {
    for ordinal in [18, 19, 22, 32, 41, 42, 43, 44, 45, 46, 67] {
        let opcode = Opcode::from_ordinal(ordinal).unwrap();
        for key in ["queue", "dge_type", "duplicate"] {
            assert!(opcode.row().field_index(key).is_some(), "{opcode} lacks {key}");
        }
    }
    for opcode in [Opcode::Matmult, Opcode::MatmultSparse, Opcode::MatmultMx] {
        assert_eq!(opcode.row().field_index("accumulation_flag"), Some(field::Matmult::accumulation_flag));
        assert!(opcode.is_matmul());
    }
}

#[test]
fn field_indices_match_the_rows() {
    assert_eq!(Opcode::TensorScalar.row().field_index("const1"), Some(field::TensorScalar::const1));
    assert_eq!(Opcode::DMACopy.row().field_index("mode"), Some(field::DMACopy::mode));
    assert_eq!(Opcode::Loop.row().field_index("LoopAxis"), Some(field::Loop::LoopAxis));
    assert_eq!(field::CollectiveCompute::COUNT, Opcode::CollectiveCompute.row().fields.len());
}

#[test]
fn roles_parse() {
    for opcode in Opcode::all() {
        for text in opcode.row().ins.iter().chain(opcode.row().outs) {
            let role = Role::parse(text);
            assert!(!role.name.is_empty(), "{opcode}: {text}");
            assert!(role.kinds.chars().all(|c| "air".contains(c)) && !role.kinds.is_empty(), "{opcode}: {text}");
        }
        // An optional or repeated role is never followed by a mandatory one.
        for list in [opcode.row().ins, opcode.row().outs] {
            let roles: Vec<Role> = list.iter().map(|t| Role::parse(t)).collect();
            let tail = roles.iter().skip_while(|r| !r.optional && !r.repeated);
            assert!(tail.into_iter().all(|r| r.optional || r.repeated), "{opcode}");
        }
    }
    let role = Role { name: "scalar1", kinds: "air", optional: true, ..Role::default() };
    assert_eq!(Role::parse("scalar1:air?"), role);
    let role = Role { name: "table", kinds: "a", table: true, adds: true, ..Role::default() };
    assert_eq!(Role::parse("table#+"), role);
    assert_eq!(Opcode::Matmult.row().engines, [Engine::Pe]);
}

/// A condition that names no key, or a rule for no operand, would hold for ever without anybody noticing.
#[test]
fn rules_name_keys_and_roles_of_their_row() {
    for opcode in Opcode::all() {
        let row = opcode.row();
        for rule in row.rules {
            for c in rule.conditions() {
                let counts = matches!(c, When::Outs(_));
                assert!(counts || row.field_index(c.key()).is_some(), "{opcode}: {rule:?}");
            }
            if let Rule::Used(name, _) | Rule::Unused(name, _) = rule {
                let mut roles = row.ins.iter().chain(row.outs).map(|r| Role::parse(r));
                assert!(roles.any(|r| r.name == *name && (r.optional || r.repeated)), "{opcode}: {rule:?}");
            }
        }
        assert!(!row.is(Trait::ImpliesEngine) || row.engines.len() == 1, "{opcode}");
    }
}
