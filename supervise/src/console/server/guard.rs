//! Decides which requests are answered (rule 22.5). A page of another site that runs in the operator's browser can reach a
//! loopback address, under a name that its own DNS server resolves to that address. So every request must name a host that no
//! stranger owns.

use std::net::{IpAddr, Ipv6Addr};

use http::header::{HOST, HeaderName};
use http::{Request, StatusCode};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Host,
    OtherSite,
}

impl Refused {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::OtherSite => StatusCode::FORBIDDEN,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Host => {
                "This host name is not allowed. Use an IP address or localhost, or allow the name with \
                 `Console::allow_host`.\n"
            }
            Self::OtherSite => "This request came from a page of another site. Open this address directly.\n",
        }
    }
}

/// `allowed` are names in lower case.
pub(super) fn check<B>(request: &Request<B>, allowed: &[String]) -> Result<(), Refused> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (host, another) = (hosts.next(), hosts.next());
    let host = host.map(|host| host.to_str().unwrap_or_default());
    // A request may have the host in its target, too or instead, as in HTTP/2.
    let target = request.uri().authority().map(http::uri::Authority::as_str);
    let mut named = host.into_iter().chain(target).peekable();
    if another.is_some() || named.peek().is_none() || !named.all(|host| is_ours(host, allowed)) {
        return Err(Refused::Host);
    }
    let mut sites = request.headers().get_all(FETCH_SITE).iter();
    if sites.any(|site| site.as_bytes().eq_ignore_ascii_case(b"cross-site")) {
        return Err(Refused::OtherSite);
    }
    Ok(())
}

/// Whether a host, with its port, is an IP address, `localhost`, a name below `localhost`, or allowed.
fn is_ours(host: &str, allowed: &[String]) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').is_some_and(|(address, port)| {
            address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        });
    }
    let name = match host.split_once(':') {
        Some((name, port)) if is_port(port) => name,
        Some(_) => return false,
        None => host,
    };
    let name = name.to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || name.strip_suffix(".localhost").is_some_and(|below| !below.is_empty())
        || allowed.contains(&name)
}

fn is_port(port: &str) -> bool {
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(headers: &[(&'static str, &str)], target: &str) -> Result<(), Refused> {
        let mut request = Request::get(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).expect("a request"), &["ops.example.com".to_owned()])
    }

    #[test]
    fn con_20_only_hosts_that_no_stranger_owns_are_answered() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:6670",
            "10.1.2.3",
            "[::1]",
            "[::1]:80",
            "localhost",
            "LOCALHOST:1",
            "a.localhost:1",
            "ops.example.com",
            "OPS.example.com:443",
        ] {
            assert_eq!(checked(&[("host", host)], "/"), Ok(()), "{host}");
        }
        for host in [
            "evil.test",
            "evil.test:6670",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "evil.test:127.0.0.1",
            ".localhost",
            "[::1].evil.test",
            "[::1",
            "",
            "ops.example.com.",
            "127.0.0.1:",
            "localhost@evil.test",
            "evillocalhost",
            "0x7f000001",
            "[evil.test]",
        ] {
            assert_eq!(checked(&[("host", host)], "/"), Err(Refused::Host), "{host}");
        }
        assert_eq!(checked(&[], "/"), Err(Refused::Host));
        assert_eq!(checked(&[("host", "localhost"), ("host", "evil.test")], "/"), Err(Refused::Host));
        assert_eq!(checked(&[], "http://localhost/"), Ok(()));
        assert_eq!(checked(&[("host", "evil.test")], "http://localhost/"), Err(Refused::Host));
        assert_eq!(checked(&[("host", "localhost")], "http://evil.test/"), Err(Refused::Host));
    }

    #[test]
    fn con_20_a_page_of_another_site_gets_nothing() {
        for (site, answer) in [
            ("none", Ok(())),
            ("same-origin", Ok(())),
            ("cross-site", Err(Refused::OtherSite)),
            ("Cross-Site", Err(Refused::OtherSite)),
        ] {
            assert_eq!(checked(&[("host", "localhost"), ("sec-fetch-site", site)], "/"), answer, "{site}");
        }
    }
}
