//! The program `gnarl`: the command line with an allocator that suits training.

use std::process::ExitCode;

/// Training allocates and frees the same large blocks every epoch; this allocator keeps them, the
/// system's returns them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lets the allocator keep what is freed. By default it hands large blocks back to the system after
/// a moment and gets them back empty: at a million nodes an epoch then spends half of its time
/// waiting for the kernel to clear pages.
fn keep_freed_memory() {
    /// From `mimalloc.h`, where the numbers of options are the same in versions 2 and 3.
    const PURGE_DELAY: i32 = 15;
    const ARENA_RESERVE: i32 = 23;
    unsafe extern "C" {
        fn mi_option_set(option: i32, value: std::ffi::c_long);
    }
    // SAFETY: part of the allocator linked above; it stores a number.
    unsafe {
        // Never.
        mi_option_set(PURGE_DELAY, -1);
        // In KiB, of addresses and not of memory: an arena must have room for several blocks of
        // hundreds of MB.
        mi_option_set(ARENA_RESERVE, 4 << 20);
    }
}

/// Lets the allocator hand freed memory back after all: batches of sampled neighbourhoods differ in
/// size, and what is kept of them would add up.
fn give_freed_memory_back() {
    const PURGE_DELAY: i32 = 15;
    unsafe extern "C" {
        fn mi_option_set(option: i32, value: std::ffi::c_long);
    }
    // SAFETY: as above. In milliseconds.
    unsafe { mi_option_set(PURGE_DELAY, 20) };
}

fn main() -> ExitCode {
    keep_freed_memory();
    gnarl_cli::on_large_graphs(give_freed_memory_back);
    ExitCode::from(gnarl_cli::run(std::env::args_os()))
}
