//! The grammar of `#[supervise(..)]`. What the words mean is not known here.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{ExprClosure, Pat, Path, Token, Type};

use crate::settings::{self, Setting};
use crate::syntax;

/// `on( PATTERN | .. [if GUARD] ) = DIRECTIVE`
pub(crate) struct RuleSyntax {
    pub(crate) patterns: Vec<PatternSyntax>,
    pub(crate) guard: Option<ExprClosure>,
    pub(crate) directive: DirectiveSyntax,
}

/// One alternative of a rule.
pub(crate) enum PatternSyntax {
    Any(Pat),
    Type(Type),
    /// A pattern that cannot be a type, such as `DbError::Query { .. }`, and its path.
    Shape(Path, Pat),
}

/// `Restart`, or `Restart( .. )`
pub(crate) struct DirectiveSyntax {
    pub(crate) name: Ident,
    pub(crate) arguments: Option<TokenStream>,
}

/// Reads a setting that is called `on`.
pub(crate) fn rule(setting: &Setting) -> syn::Result<RuleSyntax> {
    let (Some(arguments), Some(value)) = (&setting.arguments, &setting.value) else {
        return Err(setting.error("a rule says what fails and what to do about it: `on(MyError) = Restart`"));
    };
    let (alternatives, guard) = split_guard(arguments.clone());
    if alternatives.is_empty() {
        let message = "a rule names what fails: `on(MyError)`, `on(Panic)` or `on(_)`";
        return Err(setting.error(message));
    }
    let mut patterns = Vec::new();
    for alternative in settings::split(alternatives, '|') {
        patterns.push(pattern(alternative)?);
    }
    let guard = match guard {
        Some((keyword, tokens)) => Some(closure(keyword, tokens)?),
        None => None,
    };
    Ok(RuleSyntax { patterns, guard, directive: syntax::read(value.clone(), directive)? })
}

/// Separates `PATTERN | ..` from what follows an `if`.
fn split_guard(tokens: TokenStream) -> (TokenStream, Option<(Span, TokenStream)>) {
    let mut tokens = tokens.into_iter();
    let mut patterns = TokenStream::new();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "if" => {
                let mut guard = TokenStream::new();
                guard.extend(tokens);
                return (patterns, Some((word.span(), guard)));
            }
            token => token.to_tokens(&mut patterns),
        }
    }
    (patterns, None)
}

fn closure(keyword: Span, tokens: TokenStream) -> syn::Result<ExprClosure> {
    let mend = "a guard is a closure on the error: `if |error| error.is_transient()`";
    if tokens.is_empty() {
        return Err(syn::Error::new(keyword, mend));
    }
    let closure: ExprClosure =
        syntax::read(tokens.clone(), ExprClosure::parse).map_err(|_| syn::Error::new_spanned(&tokens, mend))?;
    if closure.inputs.len() == 1 { Ok(closure) } else { Err(syn::Error::new_spanned(&tokens, mend)) }
}

fn pattern(tokens: TokenStream) -> syn::Result<PatternSyntax> {
    // A path with something in brackets behind it is a pattern; as a type it would read as `Fn(..)` does.
    if let Ok(pattern) = syntax::read(tokens.clone(), Pat::parse_single) {
        match &pattern {
            Pat::Wild(_) => return Ok(PatternSyntax::Any(pattern)),
            Pat::Struct(shape) if shape.qself.is_none() => {
                return Ok(PatternSyntax::Shape(shape.path.clone(), pattern));
            }
            Pat::TupleStruct(shape) if shape.qself.is_none() => {
                return Ok(PatternSyntax::Shape(shape.path.clone(), pattern));
            }
            _ => {}
        }
    }
    syntax::read(tokens.clone(), Type::parse).map(PatternSyntax::Type).map_err(|_| {
        let message = if let Some(ty) = with_binding(&tokens) {
            format!("a rule names the type alone, `on({ty})`; a guard looks inside, `on({ty} if |error| ..)`")
        } else if settings::split(tokens.clone(), ',').len() > 1 {
            "alternatives are separated by `|`: `on(DbError::Timeout | DbError::Closed) = Restart`".to_owned()
        } else {
            "expected an error type, a pattern of an error enum, `Panic`, `Killed`, `DeathPact`, \
             `InitializationFailed` or `_`"
                .to_owned()
        };
        syn::Error::new_spanned(&tokens, message)
    })
}

/// The type of `error: Type`, as somebody might write it who thinks of a function's parameter.
fn with_binding(tokens: &TokenStream) -> Option<String> {
    let parameter = |input: ParseStream<'_>| {
        Pat::parse_single(input)?;
        input.parse::<Token![:]>()?;
        input.parse::<Type>()
    };
    syntax::read(tokens.clone(), parameter).ok().map(|ty| settings::written(&ty))
}

fn directive(input: ParseStream<'_>) -> syn::Result<DirectiveSyntax> {
    if input.peek(Token![>]) {
        return Err(input.error("a rule is written with `=`: `on(MyError) = Restart`"));
    }
    let name = input.parse::<Ident>().map_err(|error| {
        syn::Error::new(error.span(), "expected a directive: `Resume`, `Restart`, `Stop`, `Escalate` or `Default`")
    })?;
    if input.peek(Token![::]) {
        let path: TokenStream = input.parse()?;
        let mut last = name.clone();
        for token in path.clone() {
            if let TokenTree::Ident(word) = token {
                last = word;
            }
        }
        let message = format!("a directive stands alone: write `{last}`");
        return Err(syn::Error::new_spanned(&quote!(#name #path), message));
    }
    let arguments = if input.peek(syn::token::Paren) {
        let inner;
        syn::parenthesized!(inner in input);
        Some(inner.parse()?)
    } else {
        None
    };
    if input.is_empty() {
        Ok(DirectiveSyntax { name, arguments })
    } else {
        Err(input.error("expected `,` behind a directive"))
    }
}

impl ToTokens for PatternSyntax {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Any(any) => any.to_tokens(tokens),
            Self::Type(ty) => ty.to_tokens(tokens),
            Self::Shape(_, pattern) => pattern.to_tokens(tokens),
        }
    }
}

impl RuleSyntax {
    pub(crate) fn directive_span(&self) -> Span {
        self.directive.name.span()
    }

    pub(crate) fn guard_span(&self) -> Option<Span> {
        self.guard.as_ref().map(Spanned::span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Errors;
    use crate::settings::written;

    /// The rules of a table as text: patterns, whether guarded, directive.
    fn read(table: &str) -> Result<Vec<(Vec<String>, bool, String)>, String> {
        let tokens = table.parse().expect("the input lexes");
        let mut errors = Errors::new();
        let mut rules = Vec::new();
        for setting in settings::parse(tokens, &mut errors).iter().filter(|setting| setting.name == "on") {
            if let Some(rule) = errors.keep(rule(setting)) {
                let patterns = rule.patterns.iter().map(|pattern| written(pattern)).collect();
                rules.push((patterns, rule.guard.is_some(), rule.directive.name.to_string()));
            }
        }
        errors.finish().map_or(Ok(rules), |error| Err(error.to_string()))
    }

    #[test]
    fn a_rule_has_alternatives_and_a_guard() {
        let rules = read(
            "one_for_one, on(Panic | a::Error | B::C { d: 1 | 2 } if |e| e.f() | true) = Restart(backoff()),",
        );
        let patterns = ["Panic", "a::Error", "B::C { d : 1 | 2 }"].map(str::to_owned).to_vec();
        assert_eq!(rules, Ok(vec![(patterns, true, "Restart".to_owned())]));
    }

    #[test]
    fn types_with_generics_are_patterns() {
        let rules = read("on(Box<dyn Error + Send>) = Stop, on(Query<A, B>) = Stop, on(_) = Stop")
            .map(|rules| rules.len());
        assert_eq!(rules, Ok(3));
    }

    #[test]
    fn unfinished_rules_are_refused_in_words() {
        for (table, text) in [
            ("on", "a rule says what fails"),
            ("on(X)", "a rule says what fails"),
            ("on() = Stop", "a rule names what fails"),
            ("on(X) =", "a value is missing"),
            ("on(X if) = Stop", "a guard is a closure"),
            ("on(1) = Stop", "expected an error type"),
            ("on(A::B, A::C) = Stop", "separated by `|`"),
            ("on(error: a::Error) = Stop", "names the type alone, `on(a::Error)`"),
            ("on(X) = Directive::Stop", "stands alone: write `Stop`"),
            ("on(X) = 1", "expected a directive"),
            ("on(X) = Stop now", "behind a directive"),
            ("= 1", "expected a setting"),
        ] {
            let error = read(table).unwrap_err();
            assert!(error.contains(text), "{table}: {error}");
        }
    }
}
