//! Room for code that is nested deeply: trees are walked recursively, and a machine-made expression can have thousands of
//! levels. The thread ends with the call.

/// Address space for the stack; only what is used becomes memory.
const STACK: usize = 256 << 20;

/// Sources shorter than this cannot be nested deeply enough to matter.
const SHORT_SOURCE: usize = 300;

/// Does work on a source with a stack that is large enough for it.
pub(crate) fn with_deep_stack<T: Send>(source: &[u8], work: impl Fn() -> T + Sync) -> T {
    if source.len() < SHORT_SOURCE {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, &work);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // A thread that cannot be had is done without.
            Err(_) => work(),
        }
    })
}
