//! Every rule of `supervise/docs/semantics.md` is cited by a test, and every citation names a rule.
//!
//! A citation is "Rule 4.1" or "Rules 4.1, 4.2" in a comment. Section 12, which lists what is not promised, needs none. In
//! documentation a citation is a link, as in `[rule 4.1](docs::semantics#rule-4.1)` or `rules [4.1](..) and [4.2](..)`: each rule has
//! an anchor, and each link to an anchor names a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A rule's section and number.
type Rule = (u32, u32);

const NOT_PROMISED: u32 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Citing {
    Tests,
    Code,
}

/// Every rule must be cited by each of these.
const REQUIRED: &[Citing] = &[Citing::Tests, Citing::Code];

const SOURCES: [(Citing, &str); 12] = [
    (Citing::Tests, "tests/conformance"),
    (Citing::Tests, "tests/console"),
    (Citing::Tests, "tests/remote"),
    (Citing::Tests, "tests/remote_zenoh"),
    (Citing::Tests, "tests/scenarios"),
    (Citing::Tests, "tests/services"),
    (Citing::Tests, "tests/durable"),
    (Citing::Tests, "tests/simulation"),
    (Citing::Tests, "tests/stalls"),
    (Citing::Tests, "tests/stress"),
    (Citing::Code, "supervise-core/src"),
    (Citing::Code, "supervise-macros/src"),
    (Citing::Code, "supervise/src"),
];

#[test]
fn every_rule_is_cited_and_every_citation_is_of_a_rule() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rules = rules_of(&read(&workspace.join("supervise/docs/semantics.md")));
    assert!(rules.len() > 50, "the rules were not understood: {rules:?}");

    let mut cited: BTreeMap<Citing, BTreeSet<Rule>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (citing, folder) in SOURCES {
        for file in rust_files(&workspace.join(folder)) {
            for rule in citations_of(&read(&file)) {
                if !rules.contains(&rule) {
                    unknown.push(format!("{} cites rule {}.{}", file.display(), rule.0, rule.1));
                }
                cited.entry(citing).or_default().insert(rule);
            }
        }
    }
    assert!(unknown.is_empty(), "there are no such rules:\n{}", unknown.join("\n"));

    for citing in REQUIRED {
        let cited = cited.remove(citing).unwrap_or_default();
        let forgotten: Vec<_> = rules
            .iter()
            .filter(|rule| rule.0 != NOT_PROMISED && !cited.contains(rule))
            .map(|(section, number)| format!("{section}.{number}"))
            .collect();
        assert!(forgotten.is_empty(), "rules that no {citing:?} cites: {}", forgotten.join(", "));
    }
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The pages and the documentation of the facade.
const LINKING: [&str; 6] = [
    "README.md",
    "supervise/src/lib.rs",
    "supervise/docs/architecture.md",
    "supervise/docs/checks.md",
    "supervise/docs/reliability.md",
    "supervise/docs/semantics.md",
];

#[test]
fn every_rule_has_its_anchor_and_every_link_to_one_names_a_rule() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = read(&workspace.join("supervise/docs/semantics.md"));
    let rules = rules_of(&page);
    let anchors: Vec<Rule> = pairs_behind("<a id=\"rule-", &page);
    assert_eq!(anchors, rules.iter().copied().collect::<Vec<_>>(), "one anchor for each rule, in order");

    let code = ["supervise-core/src", "supervise-macros/src"].map(|folder| rust_files(&workspace.join(folder)));
    let pages = LINKING.map(|page| workspace.join(page)).to_vec();
    for file in code.into_iter().flatten().chain(pages) {
        for rule in pairs_behind("#rule-", &read(&file)) {
            assert!(rules.contains(&rule), "{} links to rule {}.{}", file.display(), rule.0, rule.1);
        }
    }
}

/// The rules whose numbers come after `mark`.
fn pairs_behind(mark: &str, text: &str) -> Vec<Rule> {
    text.split(mark).skip(1).filter_map(number_pair).map(|(rule, _)| rule).collect()
}

/// The files of a folder, without this one, whose examples are not citations.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("citations.rs") {
            files.push(path);
        }
    }
    files
}

/// The numbered items of the numbered sections.
fn rules_of(page: &str) -> BTreeSet<Rule> {
    let mut rules = BTreeSet::new();
    let mut section = None;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.split(' ').next().and_then(|number| number.parse().ok());
        } else if let (Some(section), Some((number, _))) = (section, line.split_once(". "))
            && let Ok(number) = number.parse()
        {
            assert!(rules.insert((section, number)), "rule {section}.{number} is there twice");
        }
    }
    rules
}

/// The numbers that follow the word "rule", plain or as links.
fn citations_of(text: &str) -> Vec<Rule> {
    let mut citations = Vec::new();
    for line in text.lines() {
        let lower = line.to_lowercase();
        for (at, word) in lower.match_indices("rule") {
            let mut rest = &lower[at + word.len()..];
            rest = rest.strip_prefix('s').unwrap_or(rest).trim_start();
            while let Some((rule, after)) = number_pair(rest.strip_prefix('[').unwrap_or(rest)) {
                citations.push(rule);
                let after = after
                    .strip_prefix("](")
                    .and_then(|link| link.split_once(')'))
                    .map_or(after, |(_, after)| after);
                rest = after.strip_prefix(", ").or_else(|| after.strip_prefix(" and ")).unwrap_or("");
            }
        }
    }
    citations
}

/// `4.1` and the text behind it.
fn number_pair(text: &str) -> Option<(Rule, &str)> {
    let (section, text) = number(text)?;
    let (rule, text) = number(text.strip_prefix('.')?)?;
    Some(((section, rule), text))
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[test]
fn a_citation_is_the_word_and_its_numbers() {
    assert_eq!(citations_of("//! Rules 4.1, 4.2 and 13.10. Not 5.5."), [(4, 1), (4, 2), (13, 10)]);
    assert_eq!(citations_of("(rule 1.4: a parked handler) and rule 2.1"), [(1, 4), (2, 1)]);
    assert_eq!(
        citations_of("[Rule 4.1](a::b#rule-4.1). Rules [4.2](x#rule-4.2) and [4.3](y), too"),
        [(4, 1), (4, 2), (4, 3)]
    );
    assert_eq!(citations_of("the rules, a rule of its own, rule 4 and version 1.88"), []);
}

#[test]
fn a_rule_is_a_numbered_item_of_a_numbered_section() {
    let page = "# Rules\n1. no\n## 3 Decisions\n1. **First**\n   more\n2. Second. [Z-01]\n## Words\n1. no\n## 14 More\n1. yes";
    assert_eq!(rules_of(page), BTreeSet::from([(3, 1), (3, 2), (14, 1)]));
}
