//! The guard as a program of its own, for the tests.

fn main() -> std::process::ExitCode {
    proctor_process::guard::main()
}
