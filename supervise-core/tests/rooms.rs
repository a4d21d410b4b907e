//! Every room of the crate uses only rooms below its own, in the order that the table in `src/lib.rs` states.
//!
//! A room is a folder of `src`. Every path that begins with `crate::` counts, in a `use` or elsewhere, in tests too, but not
//! in comments. A path also counts if it leaves its room by as many `super::` as lead to the crate's root.

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
    let is_comment = |line: &str| line.trim_start().starts_with("//");
    let code: Vec<&str> = source.lines().map(|line| if is_comment(line) { "" } else { line }).collect();
    let code = code.join("\n");
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", &*up] {
        for (at, _) in code.match_indices(root) {
            // `$crate::` in a macro is a path of the crate that uses the macro: it names what this one exports.
            let begins = !code[..at].ends_with(|before: char| before.is_alphanumeric() || "_:$".contains(before));
            if !begins {
                continue;
            }
            let start = at + root.len();
            let tree = &code[start..];
            let names = if tree.starts_with('{') { first_names(tree) } else { vec![(0, name(tree))] };
            for (offset, name) in names {
                // In a module within the file, as many `super` stay in the room.
                if root != "crate::" && !order.contains_key(name) {
                    continue;
                }
                let line = code[..start + offset].matches('\n').count() + 1;
                found.push((line, name.to_owned()));
            }
        }
    }
    found.sort();
    found
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
