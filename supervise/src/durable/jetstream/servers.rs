//! The URLs of the servers, and the login that they may have.
//!
//! The client of NATS neither uses a login in a URL nor hides it in its log, so the URLs that it gets have none.

use async_nats::{ConnectOptions, ServerAddr};

use super::{Result, broken};
use crate::percent::decoded;

/// The servers in a list, and the options with the login of their URLs.
pub(super) fn servers(list: &str, mut options: ConnectOptions) -> Result<(Vec<ServerAddr>, ConnectOptions)> {
    let (mut servers, mut logins) = (Vec::new(), Vec::new());
    for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let mut url = text.parse::<ServerAddr>().map_err(broken)?.into_inner();
        let decoded = |part| decoded(part).ok_or_else(not_encoded);
        let login = (decoded(url.username())?, url.password().map(decoded).transpose()?);
        if !login.0.is_empty() {
            logins.push(login);
        } else if text.contains('@') {
            return Err(not_encoded());
        }
        if url.host_str().unwrap_or_default().is_empty() {
            return Err(broken("a URL for NATS does not name a server"));
        }
        if url.scheme() == "tls" {
            // The client also connects to servers that the cluster names, and their names do not say `tls`.
            options = options.require_tls(true);
        }
        // This fails only if the URL names no server.
        let _without = (url.set_username(""), url.set_password(None));
        servers.push(ServerAddr::from_url(url).map_err(broken)?);
    }
    if servers.is_empty() {
        return Err(broken("the list of URLs for NATS is empty"));
    }
    logins.dedup();
    options = match logins.pop() {
        Some(_) if !logins.is_empty() => {
            return Err(broken(
                "the URLs for NATS have different users, passwords or tokens: write the same into each, or into one only",
            ));
        }
        Some((user, Some(password))) => options.user_and_password(user, password),
        Some((token, None)) => options.token(token),
        None => options,
    };
    Ok((servers, options))
}

/// The list as it may be shown: without the login, which is what stands before an `@`.
pub(super) fn shown(urls: &str) -> String {
    let mut parts = urls.rsplit('@');
    let last = parts.next().unwrap_or_default().to_owned();
    parts.fold(last, |behind, part| {
        let front = part.rfind("://").and_then(|at| part.get(..at + "://".len())).unwrap_or_default();
        format!("{front}{behind}")
    })
}

fn not_encoded() -> super::StoreError {
    broken(
        "the user, the password or the token in a URL for NATS has a special character: write it percent-encoded, such as `%40` for `@`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &str) -> Result<Vec<String>> {
        let (servers, _) = servers(list, ConnectOptions::new())?;
        Ok(servers.iter().map(|server| format!("{}|{}", server.host(), server.port())).collect())
    }

    #[test]
    fn a_list_may_have_spaces_and_empty_parts() {
        let list = " nats://one:1 ,, tls://me:word@[::1]:2,[fe80::1],three,";
        assert_eq!(read(list).expect("it is a list"), ["one|1", "::1|2", "fe80::1|4222", "three|4222"]);
        for bad in ["", " , ", "nats://", "nats://me:word@", "http://one", "::1", "nats://one:x", "nats://o ne"] {
            let error = read(bad).expect_err(bad);
            assert!(!error.text.contains("word"), "{error}");
        }
    }

    #[test]
    fn a_login_must_be_encoded_and_the_same_everywhere() {
        let bad = [
            "nats://me:a%4@one",
            "nats://me:a%zz@one",
            "nats://me:a%+4@one",
            "nats://me:1/b@one",
            "nats://%ff@one",
            "a@one,b@two",
            "me:a@one,me:b@two",
        ];
        for list in bad {
            read(list).expect_err(list);
        }
        read("me:a%40b@one,me:a%40b@two,three").expect("it is the same");
    }
}
