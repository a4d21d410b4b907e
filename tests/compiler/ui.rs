//! Programs that must not compile, with what the compiler says about them.
//!
//! rustc's own words change between releases. On the release that `ui/RUSTC` names, each error must be the one in
//! the `.stderr` file beside the program; on any other, a program must merely fail. trybuild has no such mode. But
//! it accepts any error of a program without a `.stderr` file, so there it runs on a copy of the programs without
//! these files.
//!
//! `TRYBUILD=overwrite cargo test -p supervise-tests-compiler --test ui` writes the files anew, `-- programs trybuild=not_send` runs
//! some programs only.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Where the copy is, in the process that runs on it.
const COPY: &str = "SUPERVISE_UI_COPY";

#[test]
fn programs() {
    if let Some(copy) = env::var_os(COPY) {
        run(Path::new(&copy));
    } else if is_pinned_release() {
        run(Path::new("ui"));
    } else {
        run_on_a_copy();
    }
}

/// trybuild checks many programs at a time only if none of them must compile. Programs that must compile are targets of their own.
fn run(root: &Path) {
    let programs = trybuild::TestCases::new();
    for directory in directories(root) {
        programs.compile_fail(directory.join("*.rs"));
    }
}

/// A user must not have to know how the checks are made.
#[test]
fn no_error_begins_with_internals() {
    const INTERNALS: [&str; 8] = [
        "__",
        "handler_future",
        "Probe<",
        "NotAFuture",
        "DecidesAll",
        "missing_rule",
        "{closure@",
        "HandlersOfOneImplBlockDecidedBy",
    ];
    let mut programs = 0;
    for directory in directories(Path::new("ui")) {
        for file in fs::read_dir(directory).expect("the directory can be read") {
            let file = file.expect("the directory can be read").path();
            if file.extension().is_none_or(|extension| extension != "stderr") {
                continue;
            }
            programs += 1;
            let said = fs::read_to_string(&file).expect("the file is text");
            for line in said.lines().filter(|line| line.starts_with("error")) {
                let internal = INTERNALS.iter().find(|internal| line.contains(**internal));
                assert_eq!(internal, None, "{}: {line}", file.display());
            }
        }
    }
    assert!(programs > 0, "there are expected errors");
}

fn is_pinned_release() -> bool {
    let pinned = include_str!("ui/RUSTC");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().expect("rustc runs").stdout;
    // rustc 1.95.0 (59807616e 2026-04-14)
    let version = String::from_utf8_lossy(&version);
    let release = version.split_whitespace().nth(1).unwrap_or_default();
    release.strip_prefix(pinned.trim()).is_some_and(|patch| patch.starts_with('.') && !patch.contains('-'))
}

/// In a process of its own, because trybuild reads its mode from the environment.
fn run_on_a_copy() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    copy_programs(&copy).expect("the programs can be copied");
    let this = env::current_exe().expect("a test is a program");
    let status =
        Command::new(this).args(["programs", "--exact"]).env(COPY, &copy).env("TRYBUILD", "overwrite").status();
    assert!(status.expect("a test can be run again").success(), "see above");
}

fn copy_programs(to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    for directory in directories(Path::new("ui")) {
        let copies = to.join(directory.file_name().unwrap_or_default());
        fs::create_dir_all(&copies)?;
        for file in fs::read_dir(directory)? {
            let file = file?;
            if file.path().extension().is_some_and(|extension| extension == "rs") {
                fs::copy(file.path(), copies.join(file.file_name()))?;
            }
        }
    }
    Ok(())
}

fn directories(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("there are programs");
    let mut directories: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    directories.sort();
    directories
}
