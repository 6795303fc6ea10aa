//! The `sitebell` program: everything is in the library.

fn main() -> std::process::ExitCode {
    sitebell::cli::run(std::env::args_os())
}
