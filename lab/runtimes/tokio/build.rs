//! Hands `describe` what only the build knows: the compiler, its flags and the locked version of Tokio.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|out| String::from_utf8(out.stdout).ok())
        .unwrap_or_default();
    // "rustc 1.95.0 (hash date)": the first two words say enough.
    let compiler: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo:rustc-env=LAB_COMPILER={}", compiler.join(" "));

    // CARGO_ENCODED_RUSTFLAGS separates its flags by the unit separator; the profile is the one of Cargo.toml.
    let rustflags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " ");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    let profile = match std::env::var("PROFILE").as_deref() {
        Ok("release") => " lto=fat codegen-units=1 panic=abort",
        _ => " (not a release build)",
    };
    println!("cargo:rustc-env=LAB_FLAGS={}", format!("opt-level={level}{profile} {rustflags}").trim_end());

    println!("cargo:rustc-env=LAB_TOKIO_VERSION={}", locked_version("tokio"));
    println!("cargo:rustc-env=LAB_KANAL_VERSION={}", locked_version("kanal"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.lock");
}

fn locked_version(package: &str) -> String {
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock is committed beside Cargo.toml");
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = \""))
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or_else(|| panic!("Cargo.lock has no version of {package}"))
        .into()
}
