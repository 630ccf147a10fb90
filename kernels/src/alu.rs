//! ALU operations (`alu-ops.md`).

crate::named_enum! {
    /// The 33 ALU operations.
    AluOp {
        Bypass = 0, "bypass";
        BitwiseNot = 1, "bitwise_not";
        ArithShiftLeft = 2, "arith_shift_left";
        ArithShiftRight = 3, "arith_shift_right";
        Add = 4, "add";
        Subtract = 5, "subtract";
        Mult = 6, "mult";
        Divide = 7, "divide";
        Max = 8, "max";
        Min = 9, "min";
        BitwiseAnd = 10, "bitwise_and";
        BitwiseOr = 11, "bitwise_or";
        BitwiseXor = 12, "bitwise_xor";
        LogicalAnd = 13, "logical_and";
        LogicalOr = 14, "logical_or";
        LogicalXor = 15, "logical_xor";
        LogicalShiftLeft = 16, "logical_shift_left";
        LogicalShiftRight = 17, "logical_shift_right";
        IsEqual = 18, "is_equal";
        NotEqual = 19, "not_equal";
        IsGt = 20, "is_gt";
        IsGe = 21, "is_ge";
        IsLt = 22, "is_lt";
        IsLe = 23, "is_le";
        Average = 24, "average";
        ElemwiseMul = 25, "elemwise_mul";
        Pow = 26, "pow";
        Mod = 27, "mod";
        Rsqrt = 28, "rsqrt";
        Abs = 29, "abs";
        AbsMax = 30, "abs_max";
        AbsMin = 31, "abs_min";
        ModInt = 32, "mod_int";
    }
}
