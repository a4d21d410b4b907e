//! The messages of a [`Frame::Tell`]. Each begins with its length. Then come the number of its handler and its arguments, as in the body of an ask.

use std::mem::take;

use super::packet::{Reader, number};
use crate::remote::association::{Body, Frame};
use crate::remote::codec::{Outgoing, Pending};

/// Reads the messages.
pub(in crate::remote) struct Told<'a>(Reader<'a>);

impl<'a> Told<'a> {
    pub(in crate::remote) fn new(body: &'a [u8]) -> Self {
        Self(Reader(body))
    }

    /// How many messages there are. `None`: there are none, or one is cut off.
    pub(super) fn count(body: &'a [u8]) -> Option<u32> {
        let (mut told, mut count) = (Self::new(body), 0_u32);
        while told.next().is_some() {
            count = count.checked_add(1)?;
        }
        (count > 0 && told.0.0.is_empty()).then_some(count)
    }
}

impl<'a> Iterator for Told<'a> {
    /// A message, and how many bytes of the window it takes.
    type Item = (&'a [u8], u64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // A message that is cut off is not taken.
        let mut rest = Reader(self.0.0);
        let length = rest.number()?;
        let message = rest.take(length)?;
        let bytes = Frame::HEAD + (self.0.0.len() - rest.0.len()) as u64;
        self.0 = rest;
        Some((message, bytes))
    }
}

/// Writes messages for one actor.
#[derive(Default)]
pub(in crate::remote) struct Telling {
    /// Its body has all messages that are written. The last one may still be without its length and number.
    out: Outgoing,
    count: u32,
    /// Where the last message begins.
    last: usize,
}

impl Telling {
    /// How many bytes the length and the number of most messages take together.
    const USUAL: usize = 2;

    /// How many bytes both take at most.
    const LONGEST: usize = 20;

    /// The largest buffer that is kept, in bytes.
    const BUFFER: usize = 1024;

    pub(in crate::remote) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where the next message is written. [`tell`](Self::tell), [`ask`](Self::ask) or [`abandon`](Self::abandon) follows.
    pub(in crate::remote) fn begin(&mut self) -> &mut Outgoing {
        self.last = self.out.body.len();
        self.out.body.extend_from_slice(&[0; Self::USUAL]);
        &mut self.out
    }

    /// The handler that the message names, and its asker.
    pub(in crate::remote) fn begun(&mut self) -> (&'static str, Option<Pending>) {
        (self.out.handler, self.out.reply.take())
    }

    fn arguments(&self) -> &[u8] {
        &self.out.body[self.last + Self::USUAL..]
    }

    /// How many bytes the arguments take.
    pub(in crate::remote) fn length(&self) -> usize {
        self.arguments().len()
    }

    /// Ends a message that is told to the handler with this number. Returns how many bytes of the window it takes.
    pub(in crate::remote) fn tell(&mut self, handler: u64) -> u64 {
        if let (Ok(length @ ..0x80), Ok(handler @ ..0x80)) =
            (u8::try_from(self.length() + 1), u8::try_from(handler))
        {
            self.out.body[self.last] = length;
            self.out.body[self.last + 1] = handler;
        } else {
            let mut head = Vec::with_capacity(Self::LONGEST);
            number(&mut head, handler);
            let of_handler = head.len();
            number(&mut head, (of_handler + self.length()) as u64);
            head.rotate_left(of_handler);
            self.out.body.splice(self.last..self.last + Self::USUAL, head);
        }
        self.count += 1;
        Frame::HEAD + (self.out.body.len() - self.last) as u64
    }

    /// Ends a message that asks the handler with this number. Returns the body of its frame.
    pub(in crate::remote) fn ask(&mut self, handler: u64) -> Body {
        let body = if let Ok(handler @ ..0x80) = u8::try_from(handler) {
            let last = &mut self.out.body[self.last + 1..];
            last[0] = handler;
            Body::from(&*last)
        } else {
            let mut first = Vec::new();
            number(&mut first, handler);
            Body::joined(&first, self.arguments())
        };
        self.abandon();
        body
    }

    /// Drops the message that was begun.
    pub(in crate::remote) fn abandon(&mut self) {
        self.out.body.truncate(self.last);
        if self.is_empty() {
            self.clear();
        }
    }

    /// The messages that are told: how many they are, and the body of their frame.
    pub(in crate::remote) fn take(&mut self) -> (u32, Body) {
        let body = if self.out.body.capacity() > Self::BUFFER {
            Body::from(take(&mut self.out.body))
        } else {
            Body::from(&self.out.body[..])
        };
        let count = self.count;
        self.clear();
        (count, body)
    }

    fn clear(&mut self) {
        self.count = 0;
        self.out.body.clear();
        if self.out.body.capacity() > Self::BUFFER {
            self.out.body = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::take_number;
    use super::*;

    /// Handlers and lengths of arguments, at the borders of how numbers are written.
    fn messages() -> impl Iterator<Item = (u64, Vec<u8>)> {
        let lengths = [0, 1, 124, 125, 126, 127, 128, 300, 20_000];
        let handlers = [0, 1, 127, 128, 16_383, 16_384];
        handlers.into_iter().flat_map(move |handler| lengths.map(|length| (handler, vec![7; length])))
    }

    #[test]
    fn what_is_told_is_read_and_counts_the_same_on_both_sides() {
        let (mut telling, mut written) = (Telling::default(), 0);
        for (handler, arguments) in messages() {
            telling.begin().body.extend([9; 200]);
            telling.abandon();
            telling.begin().body.extend(&arguments);
            assert_eq!(take_number(&telling.ask(handler)), Some((handler, &arguments[..])));
            telling.begin().body.extend(&arguments);
            assert_eq!(telling.length(), arguments.len());
            written += telling.tell(handler);
        }
        let (count, body) = telling.take();
        assert_eq!(Frame::Tell { to: 5, count, body: body.clone() }.size(), written);
        assert_eq!((Told::count(&body), count as usize), (Some(count), messages().count()));
        assert_eq!(Told::new(&body).map(|(_, bytes)| bytes).sum::<u64>(), written);
        let read = Told::new(&body).map(|(message, _)| take_number(message).unwrap());
        assert!(
            read.eq(messages().collect::<Vec<_>>().iter().map(|(handler, arguments)| (*handler, &arguments[..])))
        );
        assert!(telling.is_empty() && telling.out.body.capacity() <= Telling::BUFFER, "nothing is kept");
    }

    #[test]
    fn the_buffer_of_a_long_message_that_is_asked_or_not_sent_is_not_kept() {
        let mut telling = Telling::default();
        let mut kept = |end: fn(&mut Telling)| {
            telling.begin().body.extend([7; 10_000]);
            end(&mut telling);
            telling.out.body.capacity()
        };
        assert!(kept(|telling| drop(telling.ask(3))) <= Telling::BUFFER, "it is asked");
        assert!(kept(Telling::abandon) <= Telling::BUFFER, "it is not sent");
    }

    #[test]
    fn a_message_with_longer_numbers_takes_memory_once() {
        let mut telling = Telling::default();
        telling.begin().body.reserve(1000);
        telling.abandon();
        let memory = allocation_counter::measure(|| {
            telling.begin().body.extend([7; 200]);
            telling.tell(300);
        });
        assert_eq!(memory.count_total, 1, "{memory:?}");
    }

    #[test]
    fn messages_that_are_cut_off_are_refused() {
        let mut telling = Telling::default();
        let mut ends = vec![];
        for length in [0, 5, 200] {
            telling.begin().body.extend(vec![7; length]);
            telling.tell(3);
            ends.push(telling.out.body.len());
        }
        let (_, body) = telling.take();
        for length in 0..=body.len() {
            let count = ends.iter().position(|end| *end == length).map(|at| u32::try_from(at).unwrap() + 1);
            assert_eq!(Told::count(&body[..length]), count, "{length} bytes");
        }
    }
}
