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

const SOURCES: [(Citing, &str); 13] = [
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

#[test]
fn every_program_that_the_page_of_checks_names_exists() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = read(&tests.join("../supervise/docs/checks.md"));
    let roots = [
        "must_compile",
        "whole_crates",
        "ui/actor",
        "ui/child",
        "ui/parent",
        "ui/protocol",
        "ui/remote",
        "ui/services",
    ];
    let roots = roots.into_iter().chain(["ui/supervise", "ui/table"]).map(|root| Path::new("compiler").join(root));
    let roots: Vec<PathBuf> = roots.chain([PathBuf::from("durable/ui/durable")]).collect();
    let mut named = 0;
    for quoted in page.split('`').skip(1).step_by(2) {
        let Some((folder, program)) = quoted.split_once('/') else { continue };
        let Some(root) = roots.iter().find(|root| root.ends_with(folder)) else { continue };
        let program = tests.join(root).join(format!("{program}.rs"));
        assert!(program.exists(), "`{quoted}`: there is no {}", program.display());
        named += 1;
    }
    assert!(named > 100, "the page was not understood: it names {named} programs");
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The folders whose files link to rules, besides the README.
const LINKING: [&str; 4] = ["supervise-core/src", "supervise-macros/src", "supervise/src", "supervise/docs"];

#[test]
fn every_rule_has_its_anchor_and_every_link_to_one_names_a_rule() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = read(&workspace.join("supervise/docs/semantics.md"));
    let rules = rules_of(&page);
    let anchors: Vec<Rule> = pairs_behind("<a id=\"rule-", &page);
    assert_eq!(anchors, rules.iter().copied().collect::<Vec<_>>(), "one anchor for each rule, in order");

    let linking = LINKING.map(|folder| files(&workspace.join(folder), &["rs", "md"]));
    for file in linking.into_iter().flatten().chain([workspace.join("README.md")]) {
        for rule in pairs_behind("#rule-", &read(&file)) {
            assert!(rules.contains(&rule), "{} links to rule {}.{}", file.display(), rule.0, rule.1);
        }
    }
}

#[test]
fn the_documentation_of_a_public_item_links_to_the_rules_it_cites() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut plain = Vec::new();
    for file in ["supervise-core/src", "supervise/src"].map(|folder| rust_files(&workspace.join(folder))).concat()
    {
        for documentation in public_documentation(&read(&file)) {
            let linked = pairs_behind("#rule-", &documentation);
            let cited = citations_of(&documentation);
            plain.extend(cited.iter().filter(|rule| !linked.contains(rule)).map(|(section, number)| {
                format!("{} cites rule {section}.{number} without a link", file.display())
            }));
        }
    }
    assert!(plain.is_empty(), "{}", plain.join("\n"));
}

/// The documentation of each `pub` item, of its public fields, and of the variants or items of a public enum or
/// trait. This relies on rustfmt: the brace that closes an item has the same indentation as the first line of the
/// item.
fn public_documentation(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut documentation = String::new();
    let mut public_parts_until = None;
    for line in source.lines() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim_start();
        if let Some(text) = line.strip_prefix("///") {
            documentation.push_str(text);
        } else if !line.starts_with("#[") {
            let documentation = std::mem::take(&mut documentation);
            if line.starts_with("pub ") || public_parts_until.is_some() {
                found.push(documentation);
            }
            if (line.starts_with("pub enum ") || line.starts_with("pub trait ")) && !line.ends_with('}') {
                public_parts_until = Some(indent);
            } else if line.starts_with('}') && public_parts_until == Some(indent) {
                public_parts_until = None;
            }
        }
    }
    found
}

/// The rules whose numbers come after `mark`.
fn pairs_behind(mark: &str, text: &str) -> Vec<Rule> {
    text.split(mark).skip(1).filter_map(number_pair).map(|(rule, _)| rule).collect()
}

/// The source files of a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files(folder, &["rs"])
}

/// The files of a folder with such extensions, without this one, whose examples are not citations.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted))
            && !path.ends_with("citations.rs")
        {
            found.push(path);
        }
    }
    found
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

/// The numbers that follow the word "rule", plain or as links. Comments may break the line between them.
fn citations_of(text: &str) -> Vec<Rule> {
    let mut citations = Vec::new();
    for paragraph in paragraphs_of(text) {
        let lower = paragraph.to_lowercase();
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

/// The lines of a source file, with the lines of each comment joined to one.
fn paragraphs_of(text: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let mut in_comment = false;
    for line in text.lines() {
        let comment =
            line.trim_start().strip_prefix("//").map(|comment| comment.trim_start_matches(['/', '!']).trim());
        match (comment, paragraphs.last_mut()) {
            (Some(comment), Some(paragraph)) if in_comment => {
                paragraph.push(' ');
                paragraph.push_str(comment);
            }
            _ => paragraphs.push(comment.unwrap_or(line).to_owned()),
        }
        in_comment = comment.is_some();
    }
    paragraphs
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
    assert_eq!(citations_of("/// Rules 4.1,\n/// 4.2 and [rule\n/// 4.3](x)."), [(4, 1), (4, 2), (4, 3)]);
    assert_eq!(citations_of("let rule =\n1.5"), []);
}

#[test]
fn a_rule_is_a_numbered_item_of_a_numbered_section() {
    let page = "# Rules\n1. no\n## 3 Decisions\n1. **First**\n   more\n2. Second. [Z-01]\n## Words\n1. no\n## 14 More\n1. yes";
    assert_eq!(rules_of(page), BTreeSet::from([(3, 1), (3, 2), (14, 1)]));
}

#[test]
fn the_documentation_of_an_item_is_what_stands_above_it() {
    let source = "/// One.\n/// More.\n#[must_use]\npub fn one() {}\n/// Two.\npub(crate) fn two() {}\n    /// Three.\n    pub three: u8,";
    assert_eq!(public_documentation(source), [" One. More.", " Three."]);
}
