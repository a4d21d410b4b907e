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

use super::super::outlet::{Latest, MOST_TEXTS, Outlet, Page, Refused};
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
    latest: watch::Receiver<Latest>,
}

impl Reader {
    fn new(shared: &Shared, wish: Wish) -> Result<Self, Refused> {
        let outlet = shared.outlet(wish)?;
        let mut latest = outlet.latest.subscribe();
        latest.mark_changed();
        Ok(Self { _outlet: outlet, latest })
    }
}

/// Why a reader is refused, in words.
fn refusal(refused: Refused) -> String {
    match refused {
        Refused::TooManyTexts => {
            format!("Too many texts are asked for: {MOST_TEXTS} different ones are made at a time. Ask again.\n")
        }
        Refused::Stopped => STOPPED.to_owned(),
    }
}

const STOPPED: &str = "The console was stopped.\n";

type NextView = Pin<Box<dyn Future<Output = Option<(Arc<Page>, Reader)>> + Send>>;

impl Body {
    pub(super) fn whole(content: impl Into<Bytes>) -> Self {
        Self(Content::Whole(Some(content.into())))
    }

    /// If the reader is refused, returns the reason.
    pub(super) fn views(shared: &Arc<Shared>, wish: Wish, is_stream: bool) -> Result<Self, String> {
        let views = Views::new(shared, wish, is_stream)?;
        Ok(Self(Content::Views(Box::new(views))))
    }
}

/// The text for a reader, or the reason why there is none. It does not count as a stream. Readers with the same wish share it.
pub(super) async fn text_page(shared: &Arc<Shared>, wish: Wish) -> Result<Arc<Page>, String> {
    let reader = Reader::new(shared, wish).map_err(refusal)?;
    let (page, _) = after(reader).await.ok_or(STOPPED)?;
    Ok(page)
}

fn after(mut reader: Reader) -> NextView {
    Box::pin(async move {
        loop {
            reader.latest.changed().await.ok()?;
            let latest = reader.latest.borrow_and_update().clone();
            match latest {
                Latest::Nothing => {}
                Latest::Page(page) => return Some((page, reader)),
                Latest::Stopped => return None,
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
    fn new(shared: &Arc<Shared>, wish: Wish, is_stream: bool) -> Result<Self, String> {
        let one_more = |streams| (streams < MOST_STREAMS).then_some(streams + 1);
        let taken = shared.streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken
            .map_err(|_| format!("Too many pages are open: {MOST_STREAMS} are served at a time. Close one.\n"))?;
        // From here on, dropping it gives its place back.
        let mut views = Self { shared: Arc::clone(shared), next: None, is_stream };
        views.next = Some(after(Reader::new(shared, wish).map_err(refusal)?));
        Ok(views)
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
