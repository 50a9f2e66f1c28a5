//! Hands `describe` what only the build knows: the compiler, its flags and the locked version of Rayon.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let said = Command::new(rustc).arg("--version").output().expect("cargo runs it, too").stdout;
    // "rustc 1.95.0 (hash date)": the first two words say enough.
    let version = String::from_utf8_lossy(&said).split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    println!("cargo:rustc-env=LAB_COMPILER={version}");

    // CARGO_ENCODED_RUSTFLAGS separates its flags by the unit separator; the profile is the one of Cargo.toml.
    let rustflags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " ");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!(
        "cargo:rustc-env=LAB_FLAGS={}",
        format!("opt-level={level} lto=fat codegen-units=1 panic=abort {rustflags}").trim_end()
    );

    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock is committed beside Cargo.toml");
    let mut lines = lock.lines().skip_while(|line| *line != "name = \"rayon\"");
    let rayon = lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    println!("cargo:rustc-env=LAB_RAYON_VERSION={}", rayon.expect("Cargo.lock has the version of rayon"));
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.lock");
}
