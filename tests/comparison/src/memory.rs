//! What the process has allocated and not freed, in bytes.

use std::time::Duration;

use peak_alloc::PeakAlloc;
use tokio::time::sleep;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

pub fn now() -> usize {
    ALLOCATOR.current_usage()
}

pub fn peak() -> usize {
    ALLOCATOR.peak_usage()
}

pub fn reset_peak() {
    ALLOCATOR.reset_peak_usage();
}

/// What is still allocated when it has not become less for 200 ms.
pub async fn when_settled() -> usize {
    let (mut least, mut unchanged) = (now(), 0);
    while unchanged < 20 {
        sleep(Duration::from_millis(10)).await;
        unchanged = if now() < least { 0 } else { unchanged + 1 };
        least = least.min(now());
    }
    least
}
