//! Every room of the crate uses only rooms below its own, in the order that the table in `src/lib.rs` states.
//!
//! A room is a folder of `src`. Every path that begins with `crate::` counts, in a `use` or elsewhere, in tests too, but not
//! in comments. A path also counts if it leaves its room by as many `super::` as lead to the crate's root.
//!
//! The protocol in `supervision` is pure: it uses the standard library without its clocks, locks and threads, and plain vocabulary.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_room_uses_only_rooms_below_its_own() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = order(&read(&src.join("lib.rs")));
    let mut offences = Vec::new();
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).expect("it is in there");
        let Some(room) = inside.parent().and_then(|folder| folder.iter().next()?.to_str()) else { continue };
        let Some(&floor) = order.get(room) else {
            offences.push(format!("src/{}: the table in src/lib.rs does not list this room", inside.display()));
            continue;
        };
        for (line, used) in rooms_used(&read(&file), room_depth(inside), &order) {
            match order.get(&*used) {
                _ if used == room => {}
                Some(&below) if below < floor => {}
                Some(_) => offences.push(format!(
                    "src/{}:{line}: `use crate::{used}`: `{room}` stands below `{used}`",
                    inside.display()
                )),
                None => offences.push(format!(
                    "src/{}:{line}: `use crate::{used}`: not a room of the table in src/lib.rs",
                    inside.display()
                )),
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn the_table_lists_exactly_the_rooms_there_are() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut listed: Vec<String> = order(&read(&src.join("lib.rs"))).into_keys().collect();
    let mut there: Vec<String> = fs::read_dir(&src)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the entry can be read").file_name().into_string().expect("it is UTF-8"))
        .filter(|name| name != "lib.rs")
        .collect();
    listed.sort();
    there.sort();
    assert_eq!(listed, there);
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let source = "use crate::base::{A, B};
    // use crate::no;
    use crate::{
        observe,
        mailbox::{C, D},
    };
    let x = crate::failure::f(super::super::y, super::shutdown::x);
    macro_rules! exported { () => { $crate::Actor } }";
    let found: Vec<(usize, String)> = rooms_used(source, 1, &HashMap::from([("shutdown".to_owned(), 0)]));
    let expected = [(1, "base"), (4, "observe"), (5, "mailbox"), (7, "failure"), (7, "shutdown")];
    assert_eq!(found, expected.map(|(line, room)| (line, room.to_owned())));
}

/// What the protocol may use behind each root: of `base`, names, and tables that are plain data; of the standard library, nothing
/// that has to do with clocks, locks, threads or the outside.
const PURE: [(&str, &[&str]); 4] = [
    ("crate::", &["base", "supervision"]),
    ("crate::base::", &["ActorName", "StartOrder", "shrink_map", "taken"]),
    ("std::", &["cmp", "collections", "hash", "mem", "ops", "slice", "time"]),
    ("std::time::", &["Duration"]),
];

#[test]
fn the_protocol_uses_nothing_but_the_standard_library_and_plain_vocabulary() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let room = package.join("src/supervision");
    let order = order(&read(&package.join("src/lib.rs")));
    let crates = dependencies(&read(&package.join("Cargo.toml")));
    let files = rust_files(&room);
    let is_test = |file: &&PathBuf| file.components().any(|part| part.as_os_str() == "tests");
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| !is_test(file)) {
        let inside = file.strip_prefix(package.join("src")).expect("it is in there");
        for (line, used) in impurities(&read(file), room_depth(inside), &order, &crates) {
            offences.push(format!("src/{}:{line}: `{used}`", inside.display()));
        }
    }
    assert!(offences.is_empty(), "the protocol is pure, so it may not use:\n{}", offences.join("\n"));
}

#[test]
fn impure_code_is_found_wherever_it_stands() {
    let source = "use std::time::{Duration, Instant};
    // use tokio::sync::Mutex;
    use crate::base::{ActorName, Timers, taken};
    use crate::{base::contained, supervision::Time};
    use super::super::base::taken;
    use super::strategy::Affected;
    use tokio::time::sleep;
    let x = tracing::Span::current();
    let y = std::sync::Mutex::new(std::mem::take(z));
    use crate::observe::note;";
    let order = HashMap::from([("base".to_owned(), 0), ("observe".to_owned(), 2)]);
    let crates = ["tokio".to_owned(), "tracing".to_owned()];
    let expected = [
        (1, "std::time::Instant"),
        (3, "crate::base::Timers"),
        (4, "crate::{"),
        (5, "super::super::base"),
        (7, "tokio::"),
        (8, "tracing::"),
        (9, "std::sync"),
        (10, "crate::observe"),
    ];
    assert_eq!(impurities(source, 2, &order, &crates), expected.map(|(line, used)| (line, used.to_owned())));
}

/// The names of the crates that this package may use.
fn dependencies(manifest: &str) -> Vec<String> {
    let (_, behind) = manifest.split_once("\n[dependencies]\n").expect("a package with dependencies");
    let rows = behind.lines().take_while(|line| !line.starts_with('['));
    rows.map(|row| name(&row.replace('-', "_")).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// What pure code may not use, with the lines, in code whose module is `depth` below the crate's root.
fn impurities(
    source: &str,
    depth: usize,
    order: &HashMap<String, usize>,
    crates: &[String],
) -> Vec<(usize, String)> {
    let code = without_comments(source);
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for (root, allowed) in PURE {
        for (start, tree) in paths(&code, root) {
            let names = branches(tree).into_iter().filter(|(_, name)| !allowed.contains(name));
            found.extend(names.map(|(offset, name)| (start + offset, format!("{root}{name}"))));
            // What stands deeper in a group would not be found.
            if tree.starts_with('{') && ["crate::", "std::"].contains(&root) {
                found.push((start, format!("{root}{{")));
            }
        }
    }
    for (start, tree) in paths(&code, &up) {
        let rooms = branches(tree).into_iter().filter(|(_, room)| order.contains_key(*room));
        found.extend(rooms.map(|(offset, room)| (start + offset, format!("{up}{room}"))));
    }
    for name in crates {
        let root = format!("{name}::");
        found.extend(paths(&code, &root).map(|(start, _)| (start, root.clone())));
    }
    found.sort();
    found.into_iter().map(|(place, used)| (line_of(&code, place), used)).collect()
}

/// Each room's floor, the lowest first, from the rows of the table.
fn order(lib: &str) -> HashMap<String, usize> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | `")?.split_once('`'));
    let mut rooms: Vec<String> = rows.map(|(room, _)| room.to_owned()).collect();
    assert!(rooms.len() > 5, "the table was not understood: {rooms:?}");
    rooms.reverse();
    rooms.into_iter().enumerate().map(|(floor, room)| (room, floor)).collect()
}

/// How many times `super` leads from this file's module to the crate's root.
fn room_depth(file: &Path) -> usize {
    let depth = file.components().count();
    if file.ends_with("mod.rs") { depth - 1 } else { depth }
}

/// The first names behind `crate::` and behind `depth` times `super::`, with their lines.
fn rooms_used(source: &str, depth: usize, order: &HashMap<String, usize>) -> Vec<(usize, String)> {
    let code = without_comments(source);
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", &*up] {
        for (start, tree) in paths(&code, root) {
            for (offset, name) in branches(tree) {
                // In a module within the file, as many `super` stay in the room.
                if root != "crate::" && !order.contains_key(name) {
                    continue;
                }
                found.push((line_of(&code, start + offset), name.to_owned()));
            }
        }
    }
    found.sort();
    found
}

/// The same lines, without those that are comments.
fn without_comments(source: &str) -> String {
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let code: Vec<&str> = source.lines().map(|line| if is_comment(line) { "" } else { line }).collect();
    code.join("\n")
}

fn line_of(code: &str, place: usize) -> usize {
    code[..place].matches('\n').count() + 1
}

/// What stands behind each path that begins with `root`, and where.
fn paths<'a>(code: &'a str, root: &str) -> impl Iterator<Item = (usize, &'a str)> {
    // `$crate::` in a macro is a path of the crate that uses the macro: it names what this one exports.
    let begins =
        |at: usize| !code[..at].ends_with(|before: char| before.is_alphanumeric() || "_:$".contains(before));
    let places = code.match_indices(root).filter(move |(at, _)| begins(*at));
    places.map(|(at, root)| at + root.len()).map(|start| (start, &code[start..]))
}

/// The names with which a path goes on, and their places.
fn branches(tree: &str) -> Vec<(usize, &str)> {
    if tree.starts_with('{') { first_names(tree) } else { vec![(0, name(tree))] }
}

/// The names that begin the branches of a `{a::.., b::..}`, with their places.
fn first_names(tree: &str) -> Vec<(usize, &str)> {
    let (mut depth, mut expects, mut names) = (0_u32, false, Vec::new());
    for (at, sign) in tree.char_indices() {
        match sign {
            '{' => {
                depth += 1;
                expects = depth == 1;
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            ',' => expects |= depth == 1,
            _ if expects && !sign.is_whitespace() => {
                names.push((at, name(&tree[at..])));
                expects = false;
            }
            _ => {}
        }
    }
    names
}

fn name(path: &str) -> &str {
    path.split(|sign: char| !(sign.is_alphanumeric() || sign == '_')).next().unwrap_or_default()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
