//! The body of an answer: a text, or a stream of views.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::watch;

use super::super::running::Shared;
use super::super::watch::Snapshot;

/// How many streams there are at a time.
const MOST_STREAMS: usize = 16;

/// The body of an answer.
pub struct Body(Content);

enum Content {
    Whole(Option<Bytes>),
    Views(Box<Views>),
}

/// One event for each view. A slow reader skips views, but gets them in order.
struct Views {
    shared: Arc<Shared>,
    /// `None` if no further view will come.
    next: Option<NextView>,
}

type Latest = watch::Receiver<Arc<Snapshot>>;
type NextView = Pin<Box<dyn Future<Output = Option<Latest>> + Send>>;

impl Body {
    pub(super) fn whole(content: impl Into<Bytes>) -> Self {
        Self(Content::Whole(Some(content.into())))
    }

    /// `None` if there are too many streams.
    pub(super) fn views(shared: &Arc<Shared>) -> Option<Self> {
        let one_more = |streams| (streams < MOST_STREAMS).then_some(streams + 1);
        shared.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        let mut latest = shared.latest.subscribe();
        latest.mark_changed();
        Some(Self(Content::Views(Box::new(Views { shared: Arc::clone(shared), next: Some(after(latest)) }))))
    }
}

fn after(mut latest: Latest) -> NextView {
    Box::pin(async move {
        latest.changed().await.ok()?;
        Some(latest)
    })
}

impl Drop for Views {
    fn drop(&mut self) {
        self.shared.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Views {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let Poll::Ready(latest) = next.as_mut().poll(cx) else { return Poll::Pending };
        self.next = None;
        let Some(mut latest) = latest else { return Poll::Ready(None) };
        let snapshot = Arc::clone(&latest.borrow_and_update());
        if snapshot.view.ended.is_none() {
            self.next = Some(after(latest));
        }
        let json = snapshot.json(&self.shared.system);
        Poll::Ready(Some(format!("event: view\ndata: {json}\n\n").into()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let content = match &mut self.get_mut().0 {
            Content::Whole(content) => Poll::Ready(content.take()),
            Content::Views(views) => views.poll_next(cx),
        };
        content.map(|content| content.map(|content| Ok(Frame::data(content))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(content) => content.is_none(),
            Content::Views(views) => views.next.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(content) => {
                SizeHint::with_exact(content.as_ref().map_or(0, |content| content.len() as u64))
            }
            Content::Views(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Content::Whole(_) => "Body(whole)",
            Content::Views(_) => "Body(views)",
        })
    }
}
