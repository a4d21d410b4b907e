//! Reads the built documentation of the facade, and fails at a link to a file or to a place of a page that does not exist.
//!
//! It needs `cargo doc --no-deps -p supervise-actors` first, so it is ignored unless the gate asks for it:
//! `cargo test -p supervise-tests --test links -- --ignored`. `SUPERVISE_DOCS` names another folder than `target/doc`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::{env, fs};

/// From the text of a trait of `tracing`, which rustdoc shows on the page of every type.
const OF_ANOTHER_CRATE: &str = "dispatcher#setting-the-default-subscriber";

/// What a page links to, and where others can link to in it.
struct Page {
    links: BTreeSet<String>,
    places: BTreeSet<String>,
}

/// The values of an attribute in those tags of a page that have one of these names. rustdoc writes all values in double quotes.
fn values(html: &str, tags: &[&str], attribute: &str) -> BTreeSet<String> {
    let opening = format!(" {attribute}=\"");
    let tags = html.split('<').filter(|tag| {
        let name = tag.split([' ', '>']).next().unwrap_or_default();
        tags.is_empty() || tags.contains(&name)
    });
    let values = tags.filter_map(|tag| tag.split_once(&opening)?.1.split('"').next());
    values.map(|value| value.replace("&amp;", "&")).collect()
}

fn pages(folder: &Path, found: &mut BTreeMap<PathBuf, Page>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let html = fs::read_to_string(&path).expect("rustdoc writes UTF-8");
            let mut links = values(&html, &["a"], "href");
            links.extend(values(&html, &["img"], "src"));
            links.extend(values(&html, &["source"], "srcset"));
            found.insert(path, Page { links, places: values(&html, &[], "id") });
        }
    }
}

/// Takes `..` out of a path, as a browser does.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            resolved.pop();
        } else {
            resolved.push(part);
        }
    }
    resolved
}

#[test]
#[ignore = "reads documentation that `cargo doc` has built before"]
fn every_link_of_the_documentation_leads_somewhere() {
    let folder = env::var_os("SUPERVISE_DOCS").unwrap_or_else(|| "target/doc".into());
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let docs = docs.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", docs.display()));
    let mut found = BTreeMap::new();
    pages(&docs.join("supervise"), &mut found);

    let mut checked = 0;
    let mut dead = Vec::new();
    for (path, page) in &found {
        for link in &page.links {
            if link.contains(':') || link == OF_ANOTHER_CRATE {
                continue;
            }
            checked += 1;
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = match file.split('?').next() {
                None | Some("") => path.clone(),
                Some(file) => resolved(&path.parent().expect("a page is in a folder").join(file)),
            };
            let has_place =
                || found.get(&target).is_none_or(|page| place.is_empty() || page.places.contains(place));
            if !target.is_file() || !has_place() {
                dead.push(format!("{}: {link}", path.strip_prefix(&docs).unwrap_or(path).display()));
            }
        }
    }
    assert!(checked > 1000, "only {checked} links were found in {}", docs.display());
    assert!(dead.is_empty(), "{} of {checked} links are dead: {dead:#?}", dead.len());
}
