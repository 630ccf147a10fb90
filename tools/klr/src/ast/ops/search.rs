//! Searches and gathers.

use crate::ast::{Dtype, Immediate, TensorRef};

record! {
    /// Parameters of `findIndex8`.
    FindIndex8 = 171 {
        dst: TensorRef,
        src: TensorRef,
        vals: TensorRef,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `matchReplace8`.
    MatchReplace8 = 172 {
        dst: TensorRef,
        src: TensorRef,
        vals: TensorRef,
        replace_value "replaceValue": Immediate,
        dst_idx "dstIdx": Option<TensorRef>,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `max8`.
    Max8 = 173 {
        dst: TensorRef,
        src: TensorRef,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `ncLocalGather`.
    NcLocalGather = 163 {
        dst: TensorRef,
        src: TensorRef,
        index: TensorRef,
        num_elem_per_idx "numElemPerIdx": Immediate,
        num_valid_indicies "numValidIndicies": Option<Immediate>,
    }
}

record! {
    /// Parameters of `ncNGather`.
    NcNGather = 212 {
        dst: TensorRef,
        data: TensorRef,
        indices: TensorRef,
        dtype: Option<Dtype>,
    }
}

record! {
    /// Parameters of `nonzeroWithCount`.
    NonzeroWithCount = 213 {
        dst: TensorRef,
        src: TensorRef,
        index_offset "indexOffset": Immediate,
        padding_val "paddingVal": Immediate,
    }
}

record! {
    /// Parameters of `sequenceBounds`.
    SequenceBounds = 186 {
        dst: TensorRef,
        segment_ids "segmentIds": TensorRef,
        dtype: Option<Dtype>,
    }
}
