//! Runtime dispatch: the same kernel compiled for AVX-512, for AVX2 and for the build's own target.
//!
//! An ordinary `cargo build --release` targets every x86-64, so the compiler may not use wide registers by itself.
//! [`simd_dispatch!`] compiles a function's body once more for each instruction set and picks the best one the machine has.

/// Declares a function whose body is compiled for AVX-512 and AVX2 as well and chosen at run time.
macro_rules! simd_dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn portable($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    portable($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    portable($($arg),*)
                }
                let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
                if has_avx2
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // SAFETY: every feature the function is compiled with was just detected.
                    return unsafe { avx512($($arg),*) };
                }
                if has_avx2 {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            portable($($arg),*)
        }
    };
}

pub(crate) use simd_dispatch;
