//! The program `gnarl`: the command line with an allocator that suits training.

use std::process::ExitCode;

/// Allocator that keeps the large blocks that training allocates and frees every epoch; the
/// system's allocator returns them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Configures the allocator to keep freed memory. By default it returns large blocks to the system
/// after a moment, and gets them back empty. At a million nodes an epoch then spends half of its
/// time waiting for the kernel to clear pages.
fn keep_freed_memory() {
    /// Option number from `mimalloc.h`, equal in versions 2 and 3.
    const PURGE_DELAY: i32 = 15;
    const ARENA_RESERVE: i32 = 23;
    unsafe extern "C" {
        fn mi_option_set(option: i32, value: std::ffi::c_long);
    }
    // SAFETY: part of the allocator linked above; it stores a number.
    unsafe {
        // -1 means never.
        mi_option_set(PURGE_DELAY, -1);
        // In KiB, of addresses and not of memory: an arena must have space for several blocks of
        // hundreds of MB.
        mi_option_set(ARENA_RESERVE, 4 << 20);
    }
}

/// Configures the allocator to return freed memory after all: batches of sampled neighbourhoods
/// differ in size, and the memory kept for them would add up.
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
