//! Matrix products and MX quantisation.

use crate::ast::{MatmulPerfMode, TensorRef};

record! {
    /// Parameters of `ncMatMul`.
    NcMatMul = 183 {
        dst: TensorRef,
        stationary: TensorRef,
        moving: TensorRef,
        is_stationary_one_zero "isStationaryOneZero": bool,
        is_moving_zero "isMovingZero": bool,
        is_transpose "isTranspose": bool,
        tile_position "tilePosition": Vec<u64>,
        tile_size "tileSize": Vec<u64>,
        perf_mode "perfMode": MatmulPerfMode,
    }
}

record! {
    /// Parameters of `ncMatMulMX`.
    MatMulMX = 196 {
        dst: TensorRef,
        stationary: TensorRef,
        moving: TensorRef,
        stationary_scale "stationaryScale": TensorRef,
        moving_scale "movingScale": TensorRef,
        tile_position "tilePosition": Option<Vec<u64>>,
        tile_size "tileSize": Option<Vec<u64>>,
    }
}

record! {
    /// Parameters of `quantizeMX`.
    QuantizeMX = 195 {
        dst: TensorRef,
        src: TensorRef,
        dst_scale "dstScale": TensorRef,
    }
}
