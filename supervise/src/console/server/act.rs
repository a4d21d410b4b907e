//! `POST /act`: one action on one actor. Checks who asks, and from where, before the body is read.
//!
//! Rule 22.7.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Buf;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use supervise_core::{Intervention, InterventionRefused};

use super::super::actions::{Actions, Asked, Token};
use super::{Body, plain};

/// The largest body, in bytes.
const LARGEST: usize = 4 * 1_024;

type Refused = (StatusCode, &'static str);

pub(super) async fn answer<B: http_body::Body>(actions: &Actions, request: Request<B>) -> Response<Body> {
    let done = perform(actions, request).await;
    let (status, text) = done.err().unwrap_or((StatusCode::ACCEPTED, "Requested.\n"));
    let mut response = plain(status, text);
    let hint = match status {
        StatusCode::UNAUTHORIZED => Some((WWW_AUTHENTICATE, "Bearer")),
        StatusCode::METHOD_NOT_ALLOWED => Some((ALLOW, "POST")),
        _ => None,
    };
    if let Some((name, value)) = hint {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn perform<B: http_body::Body>(actions: &Actions, request: Request<B>) -> Result<(), Refused> {
    if request.method() != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "Actions need POST.\n"));
    }
    let (head, body) = request.into_parts();
    let host = head.uri.authority().map(http::uri::Authority::as_str);
    let token = admit(&head.headers, host, actions)?;
    let body = read(body).await?;
    let asked = asked(&body).ok_or((
        StatusCode::BAD_REQUEST,
        "The body must be like {\"path\":\"/user/a\",\"uid\":\"1\",\"restarts\":0,\"what\":\"restart\"}.\n",
    ))?;
    actions.perform(&asked, token).map_err(|refused| match refused {
        InterventionRefused::OfRuntime => (StatusCode::FORBIDDEN, "The runtime's own actors are left alone.\n"),
        InterventionRefused::NeverRestarts => {
            (StatusCode::CONFLICT, "The actor is a temporary child, which never restarts.\n")
        }
        InterventionRefused::NotWaiting => (StatusCode::CONFLICT, "The actor does not wait for a restart.\n"),
        _ => (StatusCode::CONFLICT, "The actor has changed since you saw it. Look again, then retry.\n"),
    })
}

/// The token of a request, if it comes from the page or from a program that says so.
fn admit<'a>(headers: &HeaderMap, host: Option<&str>, actions: &'a Actions) -> Result<&'a Token, Refused> {
    let bearer = only(headers, &AUTHORIZATION).and_then(|value| {
        let (scheme, secret) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
    });
    let token = bearer.and_then(|secret| actions.token(secret.as_bytes()));
    let token = token.ok_or((StatusCode::UNAUTHORIZED, "Actions need the token: Authorization: Bearer ...\n"))?;
    let host = only(headers, &HOST).or(host);
    let origin = only(headers, &ORIGIN)
        .and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")));
    if !origin.zip(host).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host)) {
        return Err((StatusCode::FORBIDDEN, "The Origin header must match this address.\n"));
    }
    let content = only(headers, &CONTENT_TYPE).and_then(|content| content.split(';').next());
    if !content.is_some_and(|content| content.trim().eq_ignore_ascii_case("application/json")) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be application/json.\n"));
    }
    Ok(token)
}

/// The value of a header that occurs once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

async fn read<B: http_body::Body>(body: B) -> Result<Vec<u8>, Refused> {
    let mut body = Box::pin(body);
    let mut read = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::as_mut(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|_hung_up| (StatusCode::BAD_REQUEST, "The body is not complete.\n"))?;
        let Ok(mut data) = frame.into_data() else { continue };
        if read.len() + data.remaining() > LARGEST {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, "The body is too large.\n"));
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            let taken = chunk.len();
            read.extend_from_slice(chunk);
            data.advance(taken);
        }
    }
    Ok(read)
}

/// Reads `{"path": .., "uid": .., "restarts": .., "what": ..}`: an object of texts and numbers, each once.
fn asked(body: &[u8]) -> Option<Asked> {
    let mut text = std::str::from_utf8(body).ok()?.trim_start().strip_prefix('{')?;
    let (mut path, mut uid, mut restarts, mut what) = (None, None, None, None);
    loop {
        let (key, rest) = value(text)?;
        let (found, rest) = value(rest.trim_start().strip_prefix(':')?)?;
        let place = match &*key {
            "path" => &mut path,
            "uid" => &mut uid,
            "restarts" => &mut restarts,
            "what" => &mut what,
            _ => return None,
        };
        if place.replace(found).is_some() {
            return None;
        }
        let rest = rest.trim_start();
        if let Some(end) = rest.strip_prefix('}') {
            if !end.trim().is_empty() {
                return None;
            }
            break;
        }
        text = rest.strip_prefix(',')?;
    }
    let path = path.filter(|path| path.starts_with('/') && !path.contains('#'))?;
    let what = match &*what? {
        "restart" => Intervention::Restart,
        "restart_now" => Intervention::RestartNow,
        "reset_backoff" => Intervention::ResetBackoff,
        "stop" => Intervention::Stop,
        _ => return None,
    };
    Some(Asked { path, uid: uid?.parse().ok()?, restarts: restarts?.parse().ok()?, what })
}

/// A text without escapes, or a number, and what comes after it. No name of an actor needs an escape but `"` and `\`.
fn value(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    let Some(inner) = text.strip_prefix('"') else {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut found = String::new();
    let mut letters = inner.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((found, &inner[at + 1..])),
            '\\' => {
                let (_, escaped) = letters.next()?;
                if !"\"\\/".contains(escaped) {
                    return None;
                }
                found.push(escaped);
            }
            letter => found.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_22_a_request_is_read_whole_or_not_at_all() {
        let read = |text: &str| asked(text.as_bytes());
        let whole =
            r#" {"path":"/user/a \"b\"", "uid" : "18446744073709551615","restarts":3,"what":"reset_backoff"} "#;
        let what = Intervention::ResetBackoff;
        assert_eq!(
            read(whole),
            Some(Asked { path: "/user/a \"b\"".to_owned(), uid: u64::MAX, restarts: 3, what })
        );
        for bad in [
            "",
            "{",
            "{}",
            "[]",
            r#"{"path":"/user/a","uid":1,"restarts":3}"#,
            r#"{"path":"/user/a","uid":1,"restarts":3,"what":"restart"}}"#,
            r#"{"path":"/user/a","uid":1,"restarts":3,"what":"restart","what":"stop"}"#,
            r#"{"path":"/user/a","uid":1,"restarts":-3,"what":"restart"}"#,
            r#"{"path":"/user/a","uid":1,"restarts":3,"what":"kill"}"#,
            r#"{"path":"/user/a#2","uid":1,"restarts":3,"what":"stop"}"#,
            r#"{"path":"user/a","uid":1,"restarts":3,"what":"stop"}"#,
            r#"{"path":"/user/a","uid":1,"restarts":3,"what":"stop","all":"yes"}"#,
            r#"{"path":"/user/\u0061","uid":1,"restarts":3,"what":"stop"}"#,
            r#"{"path":"/user/a"#,
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
