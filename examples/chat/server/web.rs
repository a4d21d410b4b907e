//! The page, and the `WebSockets`.

use axum::Router;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::door::DoorRef;

/// The longest text, in bytes.
const LONGEST: usize = 4096;

const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";

/// What the server sends to the page, as JSON.
pub(crate) mod line {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    pub(crate) enum Line {
        /// The texts of a room are numbered from 1.
        Said {
            number: u64,
            from: String,
            text: String,
        },
        Joined {
            name: String,
        },
        Left {
            name: String,
        },
        /// The text was not said.
        Refused {
            why: String,
        },
    }
}

pub(super) fn router(door: DoorRef) -> Router {
    Router::new().route("/", get(page)).route("/rooms/{room}/{name}", get(enter)).with_state(door)
}

async fn page() -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    (headers, include_str!("page.html"))
}

async fn enter(
    State(door): State<DoorRef>,
    Path((room, name)): Path<(String, String)>,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !is_name(&room) || !is_name(&name) {
        return (StatusCode::BAD_REQUEST, "a name has 1 to 20 letters or digits").into_response();
    }
    upgrade.max_message_size(LONGEST).on_upgrade(async move |socket: WebSocket| {
        // If the door has closed, the socket closes too.
        let _closed = door.enter(room, name, socket).tell();
    })
}

fn is_name(text: &str) -> bool {
    (1..=20).contains(&text.chars().count()) && text.chars().all(char::is_alphanumeric)
}
