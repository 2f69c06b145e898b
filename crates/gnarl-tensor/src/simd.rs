//! Runtime dispatch of kernels to AVX-512, AVX2 or the build's own target.
//!
//! By default `cargo build --release` targets every x86-64, so the compiler may not use wide
//! registers. [`simd_dispatch!`] compiles a function's body once more for each instruction set and
//! selects the best one of the machine.

/// Instruction sets that kernels are compiled for, the widest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// The build's own target: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2 with FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512: F, BW, DQ and VL.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Returns the widest instruction set of this machine.
#[inline(always)]
pub fn instruction_set() -> InstructionSet {
    #[cfg(test)]
    if let Some(instruction_set) = testing::FORCED.get() {
        return instruction_set;
    }
    detected()
}

#[inline(always)]
fn detected() -> InstructionSet {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if has_avx512 {
            InstructionSet::Avx512
        } else {
            InstructionSet::Avx2
        };
    }
    InstructionSet::Portable
}

/// Declares a function whose body is compiled for AVX-512 and AVX2 as well and chosen at run time.
#[doc(hidden)]
#[macro_export]
macro_rules! simd_dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$generic:ident: $bound:ident>)? ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name $(<$generic: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn portable $(<$generic: $bound>)? ($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            fn avx512 $(<$generic: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                portable($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            fn avx2 $(<$generic: $bound>)? ($($arg: $ty),*) $(-> $ret)? {
                portable($($arg),*)
            }

            match $crate::simd::instruction_set() {
                // SAFETY: the level was detected, so the machine has every feature that the
                // function is compiled with.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::InstructionSet::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::InstructionSet::Avx2 => unsafe { avx2($($arg),*) },
                $crate::simd::InstructionSet::Portable => portable($($arg),*),
            }
        }
    };
}

pub(crate) use simd_dispatch;

#[cfg(test)]
pub(crate) mod testing {
    use super::{InstructionSet, detected};
    use std::cell::Cell;

    thread_local! {
        pub(super) static FORCED: Cell<Option<InstructionSet>> = const { Cell::new(None) };
    }

    /// Calls `test` once for every instruction set that this machine has, on this thread.
    pub fn for_every_instruction_set(test: impl Fn(InstructionSet)) {
        let all = [
            InstructionSet::Portable,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512,
        ];
        for instruction_set in all
            .into_iter()
            .filter(|instruction_set| *instruction_set <= detected())
        {
            FORCED.set(Some(instruction_set));
            test(instruction_set);
            FORCED.set(None);
        }
    }
}
