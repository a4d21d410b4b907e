//! Checks what the registry gets: three packages that can be published, and the licences of everything they depend
//! on.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::process::Command;

use serde::Deserialize;

/// Licences that a service may link without further permission. CDLA, a licence for data, is for the certificates
/// of authorities that the NATS client brings. MPL, which only binds people who change its files, is for
/// `option-ext`, which Zenoh brings.
const ALLOWED_LICENCES: [&str; 11] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// The packages that are published, each with the name of its library.
const PUBLISHED: [(&str, &str); 3] = [
    ("supervise-core", "supervise_core"),
    ("supervise-macros", "supervise_macros"),
    ("supervise-actors", "supervise"),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    documentation: Option<String>,
    repository: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    rust_version: Option<String>,
    publish: Option<Vec<String>>,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

fn cargo(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn metadata() -> Metadata {
    let json = cargo(&["metadata", "--format-version", "1", "--locked", "--all-features"]);
    serde_json::from_slice(&json).expect("cargo metadata prints JSON of this shape")
}

impl Metadata {
    fn ours(&self, name: &str) -> &Package {
        let ours = self.packages.iter().find(|package| package.name == name && package.source.is_none());
        ours.unwrap_or_else(|| panic!("the workspace has no package `{name}`"))
    }
}

#[test]
fn exactly_the_three_crates_are_published() {
    let metadata = metadata();
    let ours = metadata.packages.iter().filter(|package| package.source.is_none());
    let published: HashSet<_> =
        ours.filter(|package| package.publish.is_none()).map(|package| package.name.as_str()).collect();
    assert_eq!(published, PUBLISHED.iter().map(|(package, _)| *package).collect());
}

#[test]
fn each_package_says_what_the_registry_needs() {
    let metadata = metadata();
    let facade = metadata.ours("supervise-actors");
    for (name, library) in PUBLISHED {
        let package = metadata.ours(name);
        let is_library = |target: &Target| target.kind.iter().any(|kind| kind == "lib" || kind == "proc-macro");
        assert!(
            package.targets.iter().any(|target| is_library(target) && target.name == library),
            "{name}: {library}"
        );
        assert!(package.description.is_some(), "{name} has no description");
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{name}");
        assert_eq!(package.documentation, Some(format!("https://docs.rs/{name}")));
        // The registry refuses a sixth.
        assert!(
            (1..=5).contains(&package.keywords.len()) && (1..=5).contains(&package.categories.len()),
            "{name}"
        );
        assert_eq!((&package.version, &package.rust_version), (&facade.version, &facade.rust_version), "{name}");
    }
}

/// The macros write calls of hidden items of the facade, so a release of one with a release of another might not build.
#[test]
fn a_package_requires_exactly_the_version_of_the_others_that_it_was_built_with() {
    let metadata = metadata();
    for (name, _) in PUBLISHED {
        let inner = metadata.ours(name).dependencies.iter().filter(|dependency| {
            dependency.kind.is_none() && PUBLISHED.iter().any(|(other, _)| *other == dependency.name)
        });
        for dependency in inner {
            let version = &metadata.ours(&dependency.name).version;
            assert_eq!(dependency.req, format!("={version}"), "{name} requires {}", dependency.name);
        }
    }
}

/// The registry resolves a relative link of a README against the folder of the package, and the README of ours links to the whole
/// repository. While no package names a repository, nothing is published, and the links work on the forge.
#[test]
fn a_readme_of_a_package_that_names_its_repository_has_no_relative_links() {
    let metadata = metadata();
    let repositories: HashSet<_> =
        PUBLISHED.iter().map(|(name, _)| metadata.ours(name).repository.as_deref()).collect();
    assert_eq!(repositories.len(), 1, "the packages are from one repository: {repositories:?}");
    if repositories.contains(&None) {
        return;
    }
    let readme =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).expect("there is a README");
    let relative = relative_links(&readme);
    assert!(relative.is_empty(), "{} links lead nowhere in the registry: {relative:#?}", relative.len());
}

#[test]
fn relative_links_of_both_forms_are_found() {
    let page = "\
[page](docs/page.md), [place](#place), [`code`](https://docs.rs)
```text
[in code](not/a/link.md)
```
[file]: tests/README.md
[site]: https://example.org";
    assert_eq!(relative_links(page), ["docs/page.md", "tests/README.md"]);
}

/// The targets of a page's links that are neither addresses nor places of the page itself.
fn relative_links(markdown: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut targets = Vec::new();
    for line in markdown.lines() {
        is_code ^= line.starts_with("```");
        if is_code {
            continue;
        }
        let inline = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.extend(inline.map(|(target, _)| target));
        let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        targets.extend(definition.map(|(_, target)| target));
    }
    targets.retain(|target| !target.starts_with('#') && !target.contains("://"));
    targets
}

#[test]
fn each_package_carries_its_licences() {
    for (name, _) in PUBLISHED {
        let list = cargo(&["package", "--list", "--allow-dirty", "--package", name]);
        let list = String::from_utf8(list).expect("file names in UTF-8");
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(list.lines().any(|line| line == file), "{name} lacks {file}");
        }
    }
}

#[test]
fn every_dependency_has_a_licence_that_a_service_may_use() {
    let metadata = metadata();
    let packages: HashMap<_, _> = metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let nodes: HashMap<_, _> = metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let mut open: Vec<&str> = PUBLISHED.iter().map(|(name, _)| metadata.ours(name).id.as_str()).collect();
    let mut seen = HashSet::new();
    let mut refused = Vec::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let package = packages[id];
        if !package.license.as_deref().is_some_and(is_allowed) {
            refused.push(format!("{} {}: {:?}", package.name, package.version, package.license));
        }
        // A program that depends on ours does not build what only our tests need.
        let needed = nodes[id]
            .deps
            .iter()
            .filter(|edge| edge.dep_kinds.iter().any(|edge| edge.kind.as_deref() != Some("dev")));
        open.extend(needed.map(|edge| edge.pkg.as_str()));
    }
    assert!(seen.len() > 20, "{} packages were looked at", seen.len());
    assert!(refused.is_empty(), "licences to look at: {refused:#?}");
}

/// Whether an SPDX expression allows the use. Of alternatives, one must be allowed. If licences apply together, all of them
/// must be allowed.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace(['(', ')'], "").replace('/', " OR ");
    let mut alternatives = expression
        .split(" OR ")
        .map(|alternative| alternative.split(" AND ").all(|licence| ALLOWED_LICENCES.contains(&licence.trim())));
    if expression.contains(" AND ") {
        alternatives.all(|allowed| allowed)
    } else {
        alternatives.any(|allowed| allowed)
    }
}

/// The crates that the facade builds for a program, with these features beside the default ones.
fn crates_with(features: &str) -> HashSet<String> {
    let of_facade = ["tree", "--package", "supervise-actors", "--locked", "--edges", "normal", "--prefix", "none"];
    let printed = cargo(&[&of_facade[..], &["--format", "{p}", "--features", features]].concat());
    let lines = String::from_utf8(printed).expect("cargo tree prints UTF-8");
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// CON-01.
#[test]
fn con_01_the_console_and_the_metrics_add_few_crates() {
    let plain = crates_with("");
    for (feature, most) in [("console", 20), ("metrics", 8), ("spans", 0)] {
        let more: Vec<_> = crates_with(feature).difference(&plain).cloned().collect();
        assert!(more.len() <= most, "{feature} adds {}: {more:?}", more.len());
    }
}
