//! Confines Ruby in the tests, as `proctor __sandbox` does in the product.

use std::process::ExitCode;

fn main() -> ExitCode {
    proctor_sandbox::launcher_main(std::env::args_os().skip(1), &|name| std::env::var_os(name))
}
