//! Enumerations (`klr.md` 2.2, 2.5): the index is the wire value, the C++ value is one more.

enumeration! {
    /// Memory space of an address.
    Memory = 110 {
        Hbm = 0, "hbm";
        Sbuf = 1, "sbuf";
        Psum = 2, "psum";
        Reg = 3, "reg";
        SharedHbm = 4, "shared_hbm";
        PrivateHbm = 5, "private_hbm";
    }
}

enumeration! {
    /// Element type. `int64` comes before `int32`.
    Dtype = 111 {
        Bfloat16 = 0, "bfloat16";
        Float8e3 = 1, "float8e3";
        Float8e4 = 2, "float8e4";
        Float8e5 = 3, "float8e5";
        Float16 = 4, "float16";
        Float32 = 5, "float32";
        Float32r = 6, "float32r";
        Int8 = 7, "int8";
        Int16 = 8, "int16";
        Int64 = 9, "int64";
        Int32 = 10, "int32";
        Uint8 = 11, "uint8";
        Uint16 = 12, "uint16";
        Uint32 = 13, "uint32";
        Uint64 = 14, "uint64";
        Float8E4m3 = 15, "float8_e4m3";
        Float8E4m3fn = 16, "float8_e4m3fn";
        Float8E5m2X4 = 17, "float8_e5m2_x4";
        Float8E4m3fnX4 = 18, "float8_e4m3fn_x4";
        Float4E2m1fnX4 = 19, "float4_e2m1fn_x4";
    }
}

enumeration! {
    /// Performance mode of a matmul.
    MatmulPerfMode = 129 {
        None = 0, "None";
        DoubleRow = 1, "DoubleRow";
        DoubleRowSwInterleave = 2, "DoubleRowSwInterleave";
    }
}

enumeration! {
    /// Engine chosen by the author.
    Engine = 130 {
        Unassigned = 0, "unassigned";
        Act = 1, "act";
        Dma = 2, "dma";
        Dve = 3, "dve";
        Pe = 4, "pe";
        Pool = 5, "pool";
        Sp = 6, "sp";
    }
}

enumeration! {
    /// Meaning of a dropout threshold.
    DropoutThresholdType = 136 {
        DropRate = 0, "DropRate";
        KeepRate = 1, "KeepRate";
    }
}

enumeration! {
    /// What happens to the accumulator.
    AccumCmd = 137 {
        Idle = 0, "Idle";
        Zero = 1, "Zero";
        Accumulate = 2, "Accumulate";
        ZeroAccumulate = 3, "ZeroAccumulate";
        LoadAccumulate = 4, "LoadAccumulate";
    }
}

enumeration! {
    /// Comparison of an affine select with zero.
    AffineSelectCmp = 139 {
        GreaterThan = 0, "GreaterThan";
        GreaterThanEq = 1, "GreaterThanEq";
        Eq = 2, "Eq";
        NotEq = 3, "NotEq";
    }
}

enumeration! {
    /// Read-modify-write operation of a DMA.
    DgeComputeOp = 140 {
        None = 0, "none";
        Add = 1, "add";
    }
}

enumeration! {
    /// Which operation has swapped operands.
    TensorScalarReverseOps = 144 {
        None = 0, "none";
        First = 1, "first";
        Second = 2, "second";
        Both = 3, "both";
    }
}

enumeration! {
    /// Innermost axes that are reduced.
    TensorSubDim = 145 {
        X = 0, "X";
        XY = 1, "XY";
        XYZ = 2, "XYZ";
        XYZW = 3, "XYZW";
    }
}

enumeration! {
    /// Axis permutation: source axes W, Z, Y, X in destination order.
    TransposeOps = 146 {
        None = 0, "None";
        WZXY = 1, "WZXY";
        WXZY = 2, "WXZY";
        WYXZ = 3, "WYXZ";
        ZWYX = 4, "ZWYX";
        ZYWX = 5, "ZYWX";
        ZYXW = 6, "ZYXW";
        YXWZ = 7, "YXWZ";
        YXZW = 8, "YXZW";
        YWZX = 9, "YWZX";
        XWZY = 10, "XWZY";
        XZYW = 11, "XZYW";
        XYZW = 12, "XYZW";
        XYWZ = 13, "XYWZ";
    }
}

enumeration! {
    /// Comparison of a branch.
    BrCmpOp = 189 {
        Always = 0, "always";
        LtImm = 1, "lt_imm";
        LeImm = 2, "le_imm";
        EqImm = 3, "eq_imm";
        NeImm = 4, "ne_imm";
        GeImm = 5, "ge_imm";
        GtImm = 6, "gt_imm";
        LtReg = 7, "lt_reg";
        LeReg = 8, "le_reg";
        EqReg = 9, "eq_reg";
        NeReg = 10, "ne_reg";
        GeReg = 11, "ge_reg";
        GtReg = 12, "gt_reg";
    }
}

enumeration! {
    /// Stream of a device print.
    PrintOutputBuffer = 214 {
        Stdout = 0, "stdout";
        Stderr = 1, "stderr";
    }
}

enumeration! {
    /// Arithmetic and logic operations.
    AluOp = 135 {
        Abs = 0, "abs";
        Add = 1, "add";
        ArithShiftLeft = 2, "arith_shift_left";
        ArithShiftRight = 3, "arith_shift_right";
        Average = 4, "average";
        BitwiseAnd = 5, "bitwise_and";
        BitwiseNot = 6, "bitwise_not";
        BitwiseOr = 7, "bitwise_or";
        BitwiseXor = 8, "bitwise_xor";
        Bypass = 9, "bypass";
        Divide = 10, "divide";
        IsEqual = 11, "is_equal";
        IsGe = 12, "is_ge";
        IsGt = 13, "is_gt";
        IsLe = 14, "is_le";
        IsLt = 15, "is_lt";
        LogicalAnd = 16, "logical_and";
        LogicalOr = 17, "logical_or";
        LogicalShiftLeft = 18, "logical_shift_left";
        LogicalShiftRight = 19, "logical_shift_right";
        LogicalXor = 20, "logical_xor";
        Max = 21, "max";
        Min = 22, "min";
        Mod = 23, "mod";
        Mult = 24, "mult";
        NotEqual = 25, "not_equal";
        Pow = 26, "pow";
        Rsqrt = 27, "rsqrt";
        Subtract = 28, "subtract";
    }
}

enumeration! {
    /// Activation functions.
    ActivationFunc = 138 {
        Abs = 0, "abs";
        Arctan = 1, "arctan";
        Copy = 2, "copy";
        Erf = 3, "erf";
        ErfDx = 4, "erf_dx";
        Exp = 5, "exp";
        Gelu = 6, "gelu";
        GeluApprxTanh = 7, "gelu_apprx_tanh";
        GeluDx = 8, "gelu_dx";
        Log = 9, "log";
        Mish = 10, "mish";
        Reciprocal = 11, "reciprocal";
        Relu = 12, "relu";
        Rsqrt = 13, "rsqrt";
        Sigmoid = 14, "sigmoid";
        Sign = 15, "sign";
        Silu = 16, "silu";
        SiluDx = 17, "silu_dx";
        Sin = 18, "sin";
        Softplus = 19, "softplus";
        Sqrt = 20, "sqrt";
        Square = 21, "square";
        Tanh = 22, "tanh";
        GeluApprxSigmoid = 23, "gelu_apprx_sigmoid";
        GeluApprxSigmoidDx = 24, "gelu_apprx_sigmoid_dx";
    }
}
