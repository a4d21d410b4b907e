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

use super::super::outlet::{Outlet, Page};
use super::super::running::Shared;
use super::super::wish::Wish;

/// How many streams there are at a time.
const MOST_STREAMS: usize = 16;

/// The body of an answer.
pub struct Body(Content);

enum Content {
    Whole(Option<Bytes>),
    Views(Box<Views>),
}

/// One event for each view, or one view alone. A reader that is slow skips views, and never goes back.
struct Views {
    shared: Arc<Shared>,
    /// `None` if no further view will come.
    next: Option<NextView>,
    is_stream: bool,
}

struct Reader {
    /// Dropped with its last reader.
    _outlet: Arc<Outlet>,
    latest: watch::Receiver<Option<Arc<Page>>>,
}

impl Reader {
    fn new(shared: &Shared, wish: Wish) -> Self {
        let outlet = shared.outlet(wish);
        let mut latest = outlet.latest.subscribe();
        latest.mark_changed();
        Self { _outlet: outlet, latest }
    }
}

type NextView = Pin<Box<dyn Future<Output = Option<(Arc<Page>, Reader)>> + Send>>;

impl Body {
    pub(super) fn whole(content: impl Into<Bytes>) -> Self {
        Self(Content::Whole(Some(content.into())))
    }

    /// `None`: there are too many readers.
    pub(super) fn views(shared: &Arc<Shared>, wish: Wish, is_stream: bool) -> Option<Self> {
        let views = Views::new(shared, wish, is_stream)?;
        Some(Self(Content::Views(Box::new(views))))
    }
}

/// The text for a reader. `None`: the console has ended.
///
/// It does not count as a stream, because it is one page, and readers with the same wish share it.
pub(super) async fn text_page(shared: &Arc<Shared>, wish: Wish) -> Option<Arc<Page>> {
    let (page, _) = after(Reader::new(shared, wish)).await?;
    Some(page)
}

fn after(mut reader: Reader) -> NextView {
    Box::pin(async move {
        loop {
            reader.latest.changed().await.ok()?;
            let page = reader.latest.borrow_and_update().clone();
            if let Some(page) = page {
                return Some((page, reader));
            }
        }
    })
}

impl Drop for Views {
    fn drop(&mut self) {
        self.shared.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Views {
    /// `None`: there are too many readers.
    fn new(shared: &Arc<Shared>, wish: Wish, is_stream: bool) -> Option<Self> {
        let one_more = |streams| (streams < MOST_STREAMS).then_some(streams + 1);
        shared.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        let mut views = Self { shared: Arc::clone(shared), next: None, is_stream };
        views.next = Some(after(Reader::new(shared, wish)));
        Some(views)
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let Poll::Ready(found) = next.as_mut().poll(cx) else { return Poll::Pending };
        self.next = None;
        let Some((page, reader)) = found else { return Poll::Ready(None) };
        if !self.is_stream {
            return Poll::Ready(Some(page.content.clone().into()));
        }
        if !page.is_last {
            self.next = Some(after(reader));
        }
        // The id is the view's age: a page that is opened between two looks counts on from there.
        let age = page.made.elapsed().as_millis();
        Poll::Ready(Some(format!("event: view\nid: {age}\ndata: {}\n\n", page.content).into()))
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
