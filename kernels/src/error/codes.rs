//! The registry of error codes: stable, one line of rule and one of advice each.

use super::Class;
use std::fmt;

macro_rules! codes {
    ($($id:ident $class:ident $title:literal, rule: $rule:literal, advice: $advice:literal;)+) => {
        /// Stable error code, written `BIR-<id>`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $title] $id),+ }

        impl Code {
            /// Every code, in the order of the registry.
            pub const ALL: &'static [Code] = &[$(Code::$id),+];

            /// Identifier without the `BIR-` prefix.
            pub const fn id(self) -> &'static str {
                match self { $(Code::$id => stringify!($id)),+ }
            }

            /// Class of the error.
            pub const fn class(self) -> Class {
                match self { $(Code::$id => Class::$class),+ }
            }

            /// Short title.
            pub const fn title(self) -> &'static str {
                match self { $(Code::$id => $title),+ }
            }

            /// The rule that was broken.
            pub const fn rule(self) -> &'static str {
                match self { $(Code::$id => $rule),+ }
            }

            /// What to do in general.
            pub const fn advice(self) -> &'static str {
                match self { $(Code::$id => $advice),+ }
            }
        }
    };
}

// F: files and command line. J: module text and structure. K: KLR. S: faults of the simulated program.
// U: not modelled. B: defects of birsim. Numbers are never reused: S011 is gone.
codes! {
    F001 Invalid "file cannot be read",
        rule: "every file named on the command line or in the module must exist and be readable",
        advice: "check the path and its permissions";
    F002 Invalid "program not recognised",
        rule: "a program is BIR-JSON (starts with '{') or KLR (starts with the CBOR tag d9 d9 f7)",
        advice: "pass a BIR module or a .klr file; compressed files must be unpacked first";
    F003 Invalid "malformed .npy or .npz file",
        rule: "tensor files are NumPy .npy format 1.0 to 3.0, or .npz archives of them",
        advice: "write the file with numpy.save";
    F004 Invalid "tensor file does not fit the tensor",
        rule: "shape and element type of an input file agree with the tensor's declaration",
        advice: "compare the file with `birsim inspect PROGRAM`";
    F005 Invalid "input not bound",
        rule: "every input that the program reads is bound by the command line or by the location's file",
        advice: "add --input NAME=FILE, --inputs DIR or --random-inputs SEED";
    F006 Invalid "unknown tensor name",
        rule: "on the command line a tensor is named by its memory location, or by its set when only one location has that set",
        advice: "list the tensors with `birsim inspect PROGRAM`";
    F007 Invalid "output cannot be written",
        rule: "the output directory must be creatable and writable",
        advice: "choose another directory with --out";
    F008 Invalid "usage",
        rule: "options and arguments follow `birsim --help`",
        advice: "see `birsim --help`";
    F009 Invalid "one file for two purposes",
        rule: "a run writes each file once, and no file that it reads",
        advice: "choose another file; nothing was run or written";
    F010 Invalid "malformed manifest or results of a batch",
        rule: "a manifest holds one JSON object per line, an item with at least the key \"program\"; results hold one line per item",
        advice: "correct the line; see `birsim batch --help`";
    J001 Invalid "malformed JSON",
        rule: "a BIR module is one JSON object",
        advice: "the text is damaged or cut off; write the module again";
    J002 Invalid "wrong type of a value",
        rule: "every key holds a value of its documented type",
        advice: "write the value in the type that the key has; `birsim ops OPCODE` lists the keys of an instruction";
    J003 Invalid "required key missing",
        rule: "required keys must be present",
        advice: "add the key";
    J004 Invalid "unknown opcode",
        rule: "an opcode is one of the 110 InstructionType names",
        advice: "list them with `birsim ops`";
    J005 Invalid "unknown enumeration value",
        rule: "enumerations are written by one of their documented names or by ordinal",
        advice: "check the spelling";
    J006 Invalid "dangling reference",
        rule: "every name in the module resolves to an object of the right kind",
        advice: "declare the object or correct the name";
    J007 Invalid "duplicate name",
        rule: "names are unique inside their container",
        advice: "rename one of the two";
    J008 Invalid "malformed access pattern",
        rule: "an access pattern has one to eight [step, num] pairs with num >= 0, inside 64-bit arithmetic",
        advice: "correct the pattern";
    J009 Invalid "operand count or kind",
        rule: "an instruction has the operands its opcode documents",
        advice: "see its operands with `birsim ops OPCODE`";
    J010 Invalid "abstract opcode",
        rule: "the six abstract base types are never instantiated",
        advice: "use a concrete opcode of the family";
    J011 Invalid "value out of range",
        rule: "a value is in its documented range",
        advice: "correct the value";
    J012 Invalid "malformed expression",
        rule: "affine expressions use the documented kinds and stay inside 64-bit arithmetic",
        advice: "correct the expression";
    J013 Invalid "malformed storage record",
        rule: "storage records declare type, dims and dtype as documented, and sizes that a machine can address",
        advice: "correct the record";
    J014 Invalid "nesting too deep",
        rule: "records and expressions nest at most 64 deep",
        advice: "flatten the module";
    J015 Invalid "key written twice",
        rule: "a key occurs once in an object",
        advice: "delete the key that is not meant";
    J016 Invalid "malformed groups of ranks",
        rule: "a rank is in one group, once, and is the target of one pair",
        advice: "correct the groups";
    K001 Invalid "malformed KLR file",
        rule: "a KLR file is the documented CBOR form: header, metadata, contents",
        advice: "the file is damaged or cut off; write it again";
    K002 Invalid "unsupported KLR version",
        rule: "the KLR version is 0.0.12",
        advice: "write the file with a matching compiler";
    K003 Unsupported "KLR contents without a kernel",
        rule: "only `kernel` and `lnc` contents hold an executable kernel",
        advice: "the file holds a source; let the KLR compiler trace it, and pass the .klr file with `kernel` or `lnc` contents that it writes";
    K004 Unsupported "KLR operator not lowered",
        rule: "a KLR operator must have a documented lowering to BIR",
        advice: "express the kernel with other operators";
    K005 Invalid "KLR kernel inconsistent",
        rule: "tensors, registers, labels and shapes of a KLR kernel agree with each other",
        advice: "the kernel was not written by a correct compiler";
    S001 Fault "access out of bounds",
        rule: "an access pattern stays inside its memory location",
        advice: "check offset, steps and counts against the location's dims";
    S002 Fault "operand shapes disagree",
        rule: "element and partition counts of an instruction's operands agree as its opcode documents",
        advice: "check the access patterns; broadcasting is written with step 0";
    S003 Fault "deadlock",
        rule: "some engine can always run until all are finished",
        advice: "check the wait that no remaining instruction satisfies";
    S004 Fault "event protocol",
        rule: "an event is set once and cleared by its waiter before it is set again or the block ends",
        advice: "check the synchronisation of the named event";
    S005 Fault "semaphore protocol",
        rule: "semaphore ids are 0..255, waits are sem-ge, sem-inc and sem-dec have value 1",
        advice: "correct the sync_info";
    S006 Fault "ALU operation not in its map",
        rule: "an instruction computes in float32, int32 or int64, and each of these has its own set of ALU operations",
        advice: "use an operation that this arithmetic has, or operands of another kind of dtype";
    S007 Fault "dtype not supported by the instruction",
        rule: "each instruction accepts only the dtypes that are documented for it",
        advice: "give the operand a dtype that the instruction accepts; a TensorCopy before it converts";
    S008 Fault "kernel contract violated",
        rule: "the operands and fields of an instruction satisfy its documented contract",
        advice: "change the operand or field that the message names";
    S009 Fault "limit reached",
        rule: "a run stays inside --max-memory, --max-instructions and --timeout",
        advice: "raise the limit, or look for a loop that never ends";
    S010 Fault "dynamic bound is not a single register term",
        rule: "Only scalar values supported in Dynamic For Loop upper bound expressions currently (1910)",
        advice: "write the upper bound as constant + coefficient * register";
    S012 Fault "write to an induction variable",
        rule: "the body of a loop does not write its induction variable",
        advice: "use another register";
    S013 Fault "call protocol",
        rule: "a called function does not call another one",
        advice: "inline one of the two calls";
    S014 Fault "index out of range",
        rule: "indices of indirect accesses are inside the indexed extent",
        advice: "check the index tensor";
    S015 Fault "memory guard",
        rule: "DRAM is accessed through register patterns only by DMACopy, Save, Load and TensorLoad; PSUM patterns stay in one bank",
        advice: "use one of these instructions";
    S016 Fault "engine not assigned",
        rule: "an instruction that executes has an engine",
        advice: "assign an engine";
    S017 Fault "checker",
        rule: "a program keeps the rule of every checker that --check selects",
        advice: "correct the instruction that the message names, or leave the checker out of --check";
    S018 Fault "capacity exceeded",
        rule: "allocated locations fit the memory of the target",
        advice: "choose a larger target or smaller tiles";
    S019 Fault "external kernel failed",
        rule: "kernel_sim ends with status 0 and writes every output",
        advice: "see the output of kernel_sim in the message, or run it by hand with the same inputs";
    S020 Fault "start partition",
        rule: "operands of an engine that computes start at partition 0, 32, 64 or 96, of more than 32 partitions at 0 or 64, of more than 64 at 0; checked with --strict",
        advice: "place the tensor at such a partition, or move it by DMA, which starts anywhere";
    S021 Fault "partition step",
        rule: "engines that compute step from partition to partition by whole rows of the tensor; checked with --strict",
        advice: "make the step of the first pair a multiple of the elements in a row";
    S022 Fault "memory out of an engine's reach",
        rule: "PE reads SBUF and writes PSUM, Pool reaches SBUF, Activation and DVE reach SBUF and PSUM, DMA reaches DRAM and SBUF; checked with --strict",
        advice: "copy the tensor with an engine that reaches both memories, or use another engine";
    S023 Fault "too many waits or updates",
        rule: "an instruction has at most 2 waits and 5 updates; checked with --strict",
        advice: "move some to a NoOp on the same engine";
    S024 Fault "instruction that the target lacks",
        rule: "some instructions exist from gen3 or from core_v4 on; checked with --strict",
        advice: "choose a later target with --target, or other instructions";
    U001 Unsupported "instruction not modelled",
        rule: "birsim executes the instructions listed as implemented by `birsim ops`",
        advice: "see `birsim ops --fidelity`";
    U002 Unsupported "mode not modelled",
        rule: "the documented modes of an instruction are executed",
        advice: "see `birsim ops --fidelity`";
    U003 Unsupported "architecture not modelled",
        rule: "targets are inf1, trn1, trn2 and trn3",
        advice: "choose one with --target";
    U004 Unsupported "external kernel not allowed",
        rule: "CustomOp and BIRKernel start a program only when --allow-external-kernels names it",
        advice: "pass --allow-external-kernels PATH";
    B001 Bug "internal invariant broken",
        rule: "birsim's own invariants hold for every program",
        advice: "please report it, with the program if possible";
}

impl Code {
    /// Looks a code up by its text, with or without the prefix, in any case.
    pub fn parse(text: &str) -> Option<Code> {
        let up = text.trim().to_ascii_uppercase();
        let id = up.strip_prefix("BIR-").unwrap_or(&up);
        Code::ALL.iter().copied().find(|c| c.id() == id)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BIR-{}", self.id())
    }
}
