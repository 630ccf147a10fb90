//! The table of ALU operations: one row says everything about one operation. The macro that reads it, and what each
//! column means, are in `declare.rs`. Closures may use what `floats.rs` and `integers.rs` define.

use super::declare::{entry, operations, value};

operations! {
    Bypass = 0 "bypass" [Unary]
        float [|a, _| a]
        integer [|a, _| a] in [Int Address Register];
    BitwiseNot = 1 "bitwise_not" [Unary Bitvec]
        integer [|a, _| !a] in [Int Address Register];
    ArithShiftLeft = 2 "arith_shift_left" [Bitvec]
        integer [|a, b| a.left(b), masked_shifts: |a, b| a.left_masked(b)] in [Int Address Register];
    ArithShiftRight = 3 "arith_shift_right" [Bitvec]
        integer [|a, b| a.right_signed(b), masked_shifts: |a, b| a.right_signed_masked(b)] in [Int Address Register];
    Add = 4 "add" [Pool AnyOrderWrapping]
        float [|a, b| a + b]
        integer [|a, b| a.plus(b), wrapping: |a, b| a.wrapping_plus(b)] in [Int Address Register]
        accumulator [0.0] cache [0.0];
    Subtract = 5 "subtract" [Pool]
        float [|a, b| a - b]
        integer [|a, b| a.minus(b), wrapping: |a, b| a.wrapping_minus(b)] in [Int Address Register]
        accumulator [0.0] cache [0.0];
    Mult = 6 "mult" [Pool AnyOrderWrapping]
        float [|a, b| a * b]
        integer [|a, b| a.times(b), wrapping: |a, b| a.wrapping_times(b)] in [Int Address Register]
        accumulator [1.0] cache [1.0];
    Divide = 7 "divide" []
        float [|a, b| a / b]
        integer [|a, b| a.quotient(b)] in [Int Address Register]
        cache [1.0];
    Max = 8 "max" [Extreme]
        float [sse_max, ieee_max_min: ieee_max]
        integer [|a, b| a.max(b)] in [Int Address Register]
        accumulator [f32::NEG_INFINITY] cache [f32::NEG_INFINITY];
    Min = 9 "min" [Extreme]
        float [sse_min, ieee_max_min: ieee_min]
        integer [|a, b| a.min(b)] in [Int Address Register]
        accumulator [f32::INFINITY] cache [f32::INFINITY];
    BitwiseAnd = 10 "bitwise_and" [Bitvec AnyOrder]
        integer [|a, b| a & b] in [Int Address Register];
    BitwiseOr = 11 "bitwise_or" [Bitvec AnyOrder]
        integer [|a, b| a | b] in [Int Address Register];
    BitwiseXor = 12 "bitwise_xor" [Bitvec AnyOrder]
        integer [|a, b| a ^ b] in [Int Address Register];
    LogicalAnd = 13 "logical_and" []
        float [|a, b| truth((a != 0.0) & (b != 0.0))]
        integer [|a, b| truth(a.is_true() & b.is_true())] in [Int Address Register]
        cache [1.0];
    LogicalOr = 14 "logical_or" []
        float [|a, b| truth((a != 0.0) | (b != 0.0))]
        integer [|a, b| truth(a.is_true() | b.is_true())] in [Int Address Register];
    LogicalXor = 15 "logical_xor" []
        float [|a, b| truth((a != 0.0) != (b != 0.0))]
        integer [|a, b| truth(a.is_true() != b.is_true())] in [Int Address Register];
    LogicalShiftLeft = 16 "logical_shift_left" [Bitvec]
        integer [|a, b| a.left(b), masked_shifts: |a, b| a.left_masked(b)] in [Int Address Register];
    LogicalShiftRight = 17 "logical_shift_right" [Bitvec]
        integer [|a, b| a.right(b), masked_shifts: |a, b| a.right_masked(b)] in [Int Address Register];
    IsEqual = 18 "is_equal" []
        float [|a, b| truth(a == b)]
        integer [|a, b| truth(a == b)] in [Int Address Register]
        compare [==];
    NotEqual = 19 "not_equal" []
        float [|a, b| truth(a != b)]
        integer [|a, b| truth(a != b)] in [Int Address Register]
        compare [!=];
    IsGt = 20 "is_gt" []
        float [|a, b| truth(a > b)]
        integer [|a, b| truth(a > b)] in [Int Address Register]
        compare [>];
    IsGe = 21 "is_ge" []
        float [|a, b| truth(a >= b)]
        integer [|a, b| truth(a >= b)] in [Int Address Register]
        compare [>=];
    IsLt = 22 "is_lt" []
        float [|a, b| truth(a < b)]
        integer [|a, b| truth(a < b)] in [Int Address Register]
        compare [<];
    IsLe = 23 "is_le" []
        float [|a, b| truth(a <= b)]
        integer [|a, b| truth(a <= b)] in [Int Address Register]
        compare [<=];
    // Depends on the number of values, so it is in no map; see `average_op`.
    Average = 24 "average" [];
    ElemwiseMul = 25 "elemwise_mul" []
        integer [|a, b| a.times(b)] in [Register];
    Pow = 26 "pow" []
        float [pow]
        cache [1.0];
    Mod = 27 "mod" []
        float [floored_mod] if [float_mod]
        integer [|a, b| a.floored_mod(b)] in [Int Address Register];
    Rsqrt = 28 "rsqrt" [Unary]
        float [|a, _| 1.0 / a.sqrt()];
    Abs = 29 "abs" [Unary]
        float [|a, _| a.abs()]
        integer [|a, _| a.magnitude()] in [Int Address Register];
    AbsMax = 30 "abs_max" []
        float [|a, b| sse_max(a.abs(), b.abs()), signed_abs_max: |a, b| if a.abs() > b.abs() { a } else { b }]
        integer [|a, b| a.larger_magnitude(b)] in [Register]
        accumulator [0.0] cache [0.0];
    AbsMin = 31 "abs_min" []
        float [|a, b| sse_min(a.abs(), b.abs()), signed_abs_max: |a, b| if a.abs() < b.abs() { a } else { b }]
        integer [|a, b| a.smaller_magnitude(b)] in [Register]
        accumulator [f32::INFINITY] cache [f32::INFINITY];
    ModInt = 32 "mod_int" []
        float [truncated_mod] if [float_mod]
        integer [|a, b| a.truncated_mod(b)] in [Int Register];
}
