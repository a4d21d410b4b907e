//! What the user probably meant by an unknown word.

/// So many words are listed beside the translation of another framework's word, because the user may have meant another one.
const FEW: usize = 5;

/// Says that `word` is unknown and suggests the closest known word, or lists the known words if none is close. `what` is the
/// kind of word ("directive"), or kind and place ("setting of a backoff").
pub(crate) fn unknown(what: &str, word: &syn::Ident, known: &[&str]) -> syn::Error {
    let text = word.to_string();
    let mend = match closest(&text, known) {
        Some("child") if what == "count" => {
            "write `child`, so that each child has its own count, or `supervisor`, so that all children share one"
                .to_owned()
        }
        Some(close) if is_near(&text, close) || known.len() > FEW => format!("did you mean `{close}`?"),
        Some(translated) => format!("did you mean `{translated}`? The known words are {}", listed(known)),
        None if text == "shared" && what.contains("mailbox") => {
            "this is a setting of a durable one, write `mailbox = durable(shared)`".to_owned()
        }
        None if what == "restart type" && text.eq_ignore_ascii_case("restart") => {
            "did you mean `transient`, which starts the child again after failures only? (`permanent` also starts it again after a normal end)"
                .to_owned()
        }
        None if what == "restart type" => {
            "write `transient` to start the child again after failures only, `permanent` to start it again \
                                           after a normal end too, or `temporary` to never start it again"
                .to_owned()
        }
        None => format!("expected one of {}", listed(known)),
    };
    let (kind, place) = what.split_at(what.find(" of ").unwrap_or(what.len()));
    syn::Error::new(word.span(), format!("unknown {kind} `{text}`{place}: {mend}"))
}

/// Words in backquotes, separated by commas.
pub(crate) fn listed(words: &[&str]) -> String {
    format!("`{}`", joined(words, "`, `"))
}

/// Words with a separator between them. (`[T]::join` costs a thousand lines of LLVM IR.)
pub(crate) fn joined(words: &[&str], separator: &str) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(separator);
        }
        text.push_str(word);
    }
    text
}

/// The word of `known` that the user probably meant: the translation of another framework's word, or a word of which at most a
/// third of the letters differ.
pub(crate) fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let bare_word = bare(word);
    let word = word.to_lowercase();
    for (theirs, ours) in ELSEWHERE {
        if bare_word == bare(theirs) && known.contains(ours) {
            return Some(ours);
        }
    }
    let mut closest = None;
    let mut least = usize::MAX;
    for candidate in known {
        let distance = distance(&word, &candidate.to_lowercase());
        if distance < least && distance <= most_typos(candidate) {
            least = distance;
            closest = Some(*candidate);
        }
    }
    closest
}

/// If the misspelled `word` resembles a word of another framework more than the known word `close`: that
/// framework's word, and the known word for it. `None` if that known word is `close`.
pub(crate) fn misspelled_elsewhere<'a>(
    word: &str,
    close: &str,
    known: &[&'a str],
) -> Option<(&'static str, &'a str)> {
    if ELSEWHERE.iter().any(|(theirs, _)| bare(theirs) == bare(word)) {
        return None;
    }
    let word = word.to_lowercase();
    let least = distance(&word, close);
    for (theirs, ours) in ELSEWHERE {
        if let Some(ours) = known.iter().find(|known| *known == ours && **known != close)
            && distance(&word, theirs) < least
        {
            return Some((theirs, ours));
        }
    }
    None
}

/// Whether `word` is a misspelled `meant`.
fn is_near(word: &str, meant: &str) -> bool {
    distance(&word.to_lowercase(), &meant.to_lowercase()) <= most_typos(meant)
}

/// How many letters of a misspelled `word` may differ.
fn most_typos(word: &str) -> usize {
    (word.len() / 3).max(1)
}

/// Makes `on_link_died` and `onLinkDied` the same word.
pub(crate) fn bare(word: &str) -> String {
    let mut bare = String::new();
    for letter in word.to_lowercase().chars() {
        if letter != '_' {
            bare.push(letter);
        }
    }
    bare
}

/// The words of Erlang, Elixir, Akka, actix, ractor and kameo, and the words for the same idea here. A word may have
/// several translations; in each place, at most one of them is known.
const ELSEWHERE: &[(&str, &str)] = &[
    // Strategies.
    ("all_for_one_strategy", "all_for_one"),
    ("one_for_all", "all_for_one"),
    ("one_for_one_strategy", "one_for_one"),
    ("simple_one_for_one", "one_for_one"),
    // Their arguments.
    ("intensity", "max_retries"),
    ("max_nr_of_retries", "max_retries"),
    ("max_restarts", "max_retries"),
    ("max_seconds", "within"),
    ("period", "within"),
    ("within_time_range", "within"),
    ("initial", "min"),
    ("max_backoff", "max"),
    ("min_backoff", "min"),
    ("random_factor", "jitter"),
    // Directives.
    ("continue", "Resume"),
    ("ignore", "Resume"),
    ("propagate", "Escalate"),
    ("retry", "Restart"),
    ("terminate", "Stop"),
    // Children.
    ("always", "permanent"),
    ("never", "temporary"),
    ("on_failure", "transient"),
    ("shutdown", "stop_timeout"),
    // Log levels.
    ("warning", "warn"),
    // Methods and mailboxes.
    ("capacity", "mailbox"),
    ("handle_call", "handler"),
    ("handle_cast", "handler"),
    ("message", "handler"),
    ("on_link_died", "watch"),
    ("receive", "handler"),
    ("started", "pre_start"),
    ("stopped", "post_stop"),
    ("stopping", "post_stop"),
    ("terminate", "post_stop"),
];

/// The edit distance: letters added, removed, changed, or swapped with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    // Two rows of the table over all prefixes, and the letters before the current ones.
    let (mut second_last, mut last) = (Vec::new(), Vec::new());
    for j in 0..=b.chars().count() {
        last.push(j);
    }
    let mut before = None;
    for (i, letter) in a.chars().enumerate() {
        let mut row = vec![i + 1];
        let mut other_before = None;
        for (j, other) in b.chars().enumerate() {
            let mut steps = (last[j] + usize::from(letter != other)).min(last[j + 1] + 1).min(row[j] + 1);
            if before == Some(other) && other_before == Some(letter) {
                steps = steps.min(second_last[j - 1] + 1);
            }
            row.push(steps);
            other_before = Some(other);
        }
        before = Some(letter);
        second_last = last;
        last = row;
    }
    last[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::arguments::{ActorArguments, ChildArguments, ExponentialArguments, StrategyArguments};
    use crate::grammar::words::{Directive, LogLevel, Part, RestartType, Role, Scope};
    use crate::grammar::{Arguments, Word};

    const DIRECTIVES: &[&str] = &["Resume", "Restart", "Stop", "Escalate", "Default"];

    #[test]
    fn near_misses_are_recognized() {
        for (word, meant) in [
            ("Restrat", "Restart"),
            ("restart", "Restart"),
            ("Resum", "Resume"),
            ("Stopp", "Stop"),
            ("Sotp", "Stop"),
            ("escalates", "Escalate"),
        ] {
            assert_eq!(closest(word, DIRECTIVES), Some(meant), "{word}");
        }
    }

    #[test]
    fn a_distance_counts_letters_and_swaps() {
        for (a, b, letters) in [
            ("", "", 0),
            ("", "stop", 4),
            ("stop", "", 4),
            ("stop", "stop", 0),
            ("sotp", "stop", 1),
            ("tsop", "stop", 1),
            ("stpo", "stop", 1),
            ("stop", "stopp", 1),
            ("stxp", "stop", 1),
            ("post", "stop", 4),
            ("größe", "grosse", 3),
        ] {
            assert_eq!(distance(a, b), letters, "{a} {b}");
        }
    }

    #[test]
    fn distant_words_are_not_guesses() {
        for word in ["Panic", "x", "Again", "period"] {
            assert_eq!(closest(word, DIRECTIVES), None, "{word}");
        }
    }

    #[test]
    fn words_of_other_frameworks_have_translations() {
        for (word, ours) in [("Ignore", "Resume"), ("Retry", "Restart"), ("terminate", "Stop")] {
            assert_eq!(closest(word, DIRECTIVES), Some(ours), "{word}");
        }
        assert_eq!(closest("terminate", &["pre_start", "post_stop"]), Some("post_stop"));
        assert_eq!(closest("period", &["max_retries", "within"]), Some("within"));
        assert_eq!(closest("withinTimeRange", &["max_retries", "within"]), Some("within"));
    }

    #[test]
    fn every_translation_is_a_word_of_the_grammar() {
        let words = [
            Part::WORDS,
            Scope::WORDS,
            Directive::WORDS,
            RestartType::WORDS,
            LogLevel::WORDS,
            Role::WORDS,
            ActorArguments::WORDS,
            ChildArguments::WORDS,
            StrategyArguments::WORDS,
            ExponentialArguments::WORDS,
        ]
        .concat();
        for (theirs, ours) in ELSEWHERE {
            assert!(words.contains(ours), "{theirs}: {ours}");
        }
    }

    #[test]
    fn a_translation_wins_over_a_near_miss() {
        assert_eq!(closest("one_for_all", &["one_for_one", "all_for_one"]), Some("all_for_one"));
        assert_eq!(closest("OneForAll", &["one_for_one", "all_for_one"]), Some("all_for_one"));
    }

    #[test]
    fn a_misspelled_word_of_others_is_recognized() {
        let known = &["one_for_one", "all_for_one"];
        let resembles = |word| misspelled_elsewhere(word, "one_for_one", known);
        assert_eq!(resembles("one_for_al"), Some(("one_for_all", "all_for_one")));
        assert_eq!(resembles("one_for_on"), None);
        assert_eq!(misspelled_elsewhere("AllForOneStrategy", "all_for_one", known), None);
    }

    #[test]
    fn an_unknown_word_far_from_all_others_lists_them() {
        let word = syn::Ident::new("Again", proc_macro2::Span::call_site());
        let text = unknown("directive", &word, &["Stop", "Resume"]).to_string();
        assert_eq!(text, "unknown directive `Again`: expected one of `Stop`, `Resume`");
        let text = unknown("setting of a backoff", &word, &["min"]).to_string();
        assert_eq!(text, "unknown setting `Again` of a backoff: expected one of `min`");
    }
}
