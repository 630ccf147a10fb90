//! Vectors of AVX2 and AVX-512, and pairs of them.

use super::{ENTRIES, Vector};
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

/// Eight floats of AVX2.
#[derive(Clone, Copy)]
pub struct F8(__m256);
/// Sixteen floats of AVX-512.
#[derive(Clone, Copy)]
pub struct F16(__m512);

macro_rules! operators {
    ($($name:ident: $op:ident $method:ident $intrinsic:ident;)*) => {$(
        impl $op for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                // SAFETY: the type is used only where the CPU has its instruction set.
                Self(unsafe { $intrinsic(self.0, b.0) })
            }
        }
    )*};
}
operators! {
    F8: Add add _mm256_add_ps;
    F8: Sub sub _mm256_sub_ps;
    F8: Mul mul _mm256_mul_ps;
    F8: Div div _mm256_div_ps;
    F16: Add add _mm512_add_ps;
    F16: Sub sub _mm512_sub_ps;
    F16: Mul mul _mm512_mul_ps;
    F16: Div div _mm512_div_ps;
}

/// Methods whose bodies are one unsafe expression each.
macro_rules! methods {
    ($this:ident; $($name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $e:expr;)*) => {$(
        #[inline(always)]
        fn $name($this $(, $arg: $ty)*) -> $out {
            // SAFETY: the type is used only where the CPU has its instruction set.
            unsafe { $e }
        }
    )*};
}

impl Vector for F8 {
    const COUNT: usize = 8;
    type Mask = __m256;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the type is used only where the CPU has its instruction set.
        Self(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        let from = &from[..Self::COUNT];
        // SAFETY: eight floats are there; as for the CPU, see the type.
        Self(unsafe { _mm256_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..Self::COUNT];
        // SAFETY: there is room for eight floats; as for the CPU, see the type.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn either(a: __m256, b: __m256) -> __m256 {
        // SAFETY: the type is used only where the CPU has its instruction set.
        unsafe { _mm256_or_ps(a, b) }
    }
    #[inline(always)]
    fn negative(self) -> __m256 {
        self.0
    }
    #[inline(always)]
    fn none(mask: __m256) -> bool {
        // SAFETY: the type is used only where the CPU has its instruction set.
        unsafe { _mm256_movemask_ps(mask) == 0 }
    }
    #[inline(always)]
    fn look_up(table: &[f32; ENTRIES], index: Self) -> Self {
        let (low, high) = (Self::load(table), Self::load(&table[8..]));
        // SAFETY: the type is used only where the CPU has its instruction set.
        unsafe {
            let i = _mm256_castps_si256(index.0);
            let (low, high) = (_mm256_permutevar8x32_ps(low.0, i), _mm256_permutevar8x32_ps(high.0, i));
            Self(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(i))))
        }
    }
    methods! { self;
        mul_add(a: Self, b: Self) -> Self = Self(_mm256_fmadd_ps(self.0, a.0, b.0));
        lesser(b: Self) -> Self = Self(_mm256_min_ps(self.0, b.0));
        greater(b: Self) -> Self = Self(_mm256_max_ps(self.0, b.0));
        lt(b: Self) -> __m256 = _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, b.0);
        not_lt(b: Self) -> __m256 = _mm256_cmp_ps::<_CMP_NLT_UQ>(self.0, b.0);
        nan() -> __m256 = _mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0);
        replace(mask: __m256, yes: Self) -> Self = Self(_mm256_blendv_ps(self.0, yes.0, mask));
        and(b: Self) -> Self = Self(_mm256_and_ps(self.0, b.0));
        or(b: Self) -> Self = Self(_mm256_or_ps(self.0, b.0));
        xor(b: Self) -> Self = Self(_mm256_xor_ps(self.0, b.0));
        add_bits(b: Self) -> Self = Self::from_int(_mm256_add_epi32(self.int(), b.int()));
        up(by: u32) -> Self = Self::from_int(_mm256_sll_epi32(self.int(), _mm_cvtsi32_si128(by as i32)));
        down(by: u32) -> Self = Self::from_int(_mm256_sra_epi32(self.int(), _mm_cvtsi32_si128(by as i32)));
        at_least(least: u32) -> Self = Self::from_int(_mm256_max_epi32(self.int(), Self::bits(least).int()));
        to_float() -> Self = Self(_mm256_cvtepi32_ps(self.int()));
    }
}

impl F8 {
    methods! { self;
        int() -> __m256i = _mm256_castps_si256(self.0);
    }
    #[inline(always)]
    fn from_int(x: __m256i) -> Self {
        // SAFETY: the type is used only where the CPU has its instruction set.
        Self(unsafe { _mm256_castsi256_ps(x) })
    }
}

impl Vector for F16 {
    const COUNT: usize = 16;
    type Mask = __mmask16;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the type is used only where the CPU has its instruction set.
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        let from = &from[..Self::COUNT];
        // SAFETY: sixteen floats are there; as for the CPU, see the type.
        Self(unsafe { _mm512_loadu_ps(from.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..Self::COUNT];
        // SAFETY: there is room for sixteen floats; as for the CPU, see the type.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn either(a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }
    #[inline(always)]
    fn none(mask: __mmask16) -> bool {
        mask == 0
    }
    #[inline(always)]
    fn look_up(table: &[f32; ENTRIES], index: Self) -> Self {
        // SAFETY: the type is used only where the CPU has its instruction set.
        Self(unsafe { _mm512_permutexvar_ps(index.int(), Self::load(table).0) })
    }
    methods! { self;
        mul_add(a: Self, b: Self) -> Self = Self(_mm512_fmadd_ps(self.0, a.0, b.0));
        lesser(b: Self) -> Self = Self(_mm512_min_ps(self.0, b.0));
        greater(b: Self) -> Self = Self(_mm512_max_ps(self.0, b.0));
        lt(b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, b.0);
        not_lt(b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_NLT_UQ>(self.0, b.0);
        negative() -> __mmask16 = _mm512_movepi32_mask(self.int());
        nan() -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self.0, self.0);
        replace(mask: __mmask16, yes: Self) -> Self = Self(_mm512_mask_mov_ps(self.0, mask, yes.0));
        and(b: Self) -> Self = Self(_mm512_and_ps(self.0, b.0));
        or(b: Self) -> Self = Self(_mm512_or_ps(self.0, b.0));
        xor(b: Self) -> Self = Self(_mm512_xor_ps(self.0, b.0));
        add_bits(b: Self) -> Self = Self::from_int(_mm512_add_epi32(self.int(), b.int()));
        up(by: u32) -> Self = Self::from_int(_mm512_sll_epi32(self.int(), _mm_cvtsi32_si128(by as i32)));
        down(by: u32) -> Self = Self::from_int(_mm512_sra_epi32(self.int(), _mm_cvtsi32_si128(by as i32)));
        at_least(least: u32) -> Self = Self::from_int(_mm512_max_epi32(self.int(), Self::bits(least).int()));
        to_float() -> Self = Self(_mm512_cvtepi32_ps(self.int()));
    }
}

impl F16 {
    methods! { self;
        int() -> __m512i = _mm512_castps_si512(self.0);
    }
    #[inline(always)]
    fn from_int(x: __m512i) -> Self {
        // SAFETY: the type is used only where the CPU has its instruction set.
        Self(unsafe { _mm512_castsi512_ps(x) })
    }
}

/// Two vectors side by side: the processor overlaps their chains of dependent operations.
#[derive(Clone, Copy)]
pub struct Two<V>(V, V);

macro_rules! pairwise {
    ($($op:ident $method:ident;)*) => {$(
        impl<V: Vector> $op for Two<V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                Two(self.0.$method(b.0), self.1.$method(b.1))
            }
        }
    )*};
}
pairwise! { Add add; Sub sub; Mul mul; Div div; }

/// Methods applied to each half. Arguments are halved too, except those after the bar.
macro_rules! halves {
    ($this:ident; $($name:ident($($arg:ident: $ty:ty),* $(; $same:ident: $st:ty)?) -> $out:ty = $two:path;)*) => {$(
        #[inline(always)]
        fn $name($this $(, $arg: $ty)* $(, $same: $st)?) -> $out {
            $two($this.0.$name($($arg.0),* $($same)?), $this.1.$name($($arg.1),* $($same)?))
        }
    )*};
}

/// A pair of masks.
#[derive(Clone, Copy)]
pub struct TwoMasks<M>(M, M);

impl<V: Vector> Vector for Two<V> {
    const COUNT: usize = 2 * V::COUNT;
    type Mask = TwoMasks<V::Mask>;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Two(V::splat(x), V::splat(x))
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Two(V::load(from), V::load(&from[V::COUNT..]))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        self.0.store(to);
        self.1.store(&mut to[V::COUNT..]);
    }
    #[inline(always)]
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        TwoMasks(V::either(a.0, b.0), V::either(a.1, b.1))
    }
    #[inline(always)]
    fn none(mask: Self::Mask) -> bool {
        V::none(V::either(mask.0, mask.1))
    }
    #[inline(always)]
    fn look_up(table: &[f32; ENTRIES], index: Self) -> Self {
        Two(V::look_up(table, index.0), V::look_up(table, index.1))
    }
    halves! { self;
        mul_add(a: Self, b: Self) -> Self = Two;
        lesser(b: Self) -> Self = Two;
        greater(b: Self) -> Self = Two;
        lt(b: Self) -> Self::Mask = TwoMasks;
        not_lt(b: Self) -> Self::Mask = TwoMasks;
        negative() -> Self::Mask = TwoMasks;
        nan() -> Self::Mask = TwoMasks;
        replace(mask: Self::Mask, yes: Self) -> Self = Two;
        and(b: Self) -> Self = Two;
        or(b: Self) -> Self = Two;
        xor(b: Self) -> Self = Two;
        add_bits(b: Self) -> Self = Two;
        up(; by: u32) -> Self = Two;
        down(; by: u32) -> Self = Two;
        at_least(; least: u32) -> Self = Two;
        to_float() -> Self = Two;
    }
}
