//! The page, one file, and the policy under which a browser runs it.

use std::sync::OnceLock;

use http::HeaderValue;

use super::sha256::sha256;

/// The page.
pub(super) const PAGE: &str = include_str!("page.html");

/// The content security policy. It allows the page's own style and script by their hashes, and requests to the page's own
/// origin.
pub(super) fn policy() -> HeaderValue {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    let make = || {
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
            sha256(within("<script>", "</script>")),
            sha256(within("<style>", "</style>"))
        );
        HeaderValue::try_from(policy).unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
    };
    POLICY.get_or_init(make).clone()
}

/// The text between two tags of the page.
fn within(begin: &str, end: &str) -> &'static str {
    let inner = PAGE.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    inner.map_or("", |(inner, _)| inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CON-21: the page inserts names and errors as text, so it is safe even without the policy.
    #[test]
    fn con_21_the_page_makes_no_markup_of_texts() {
        assert_eq!((PAGE.matches("<script").count(), PAGE.matches("<style").count()), (1, 1));
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "style=",
            "onclick=",
            "http:",
        ] {
            assert!(!PAGE.replace("http://www.w3.org/2000/svg", "").contains(forbidden), "{forbidden}");
        }
        let policy = policy();
        let policy = policy.to_str().expect("text");
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'sha256-"), "{policy}");
        assert!(!within("<script>", "</script>").is_empty() && !within("<style>", "</style>").is_empty());
    }
}
