//! The user's own traits, which every type implements, may have methods of any name; generated code still calls its own. The user may also have types with the names of primitive types.
#![allow(dead_code, non_camel_case_types)]

use std::io;

use supervise::prelude::*;

pub trait ByReference {
    fn actor_ref(&self) {}
    fn ask(&self) {}
    fn child(&self) {}
    fn clone(&self) {}
    fn failure(&self, _: u8) {}
    fn finish(&self) {}
    fn fmt(&self) {}
    fn inline(&self) {}
    fn into_message(&self) {}
    fn into_result(&self) {}
    fn is_initialization(&self) {}
    fn kind(&self) {}
    fn message(&self) {}
    fn name(&self) {}
    fn shown(&self) {}
    fn tell(&self) {}
    fn write_str(&self) {}
}

impl<T: ?Sized> ByReference for T {}

pub trait ByValue: Sized {
    fn failure(self, _: u8) {}
    fn into(self) {}
    fn into_message(self) {}
    fn is_some(self) {}
    fn kind(self) {}
    fn message(self) {}
    fn shown(self) {}
    fn tell(self) {}
}

impl<T> ByValue for T {}

struct bool;
struct str;
struct u32;
struct usize;

struct Secret;

#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("a little")]
    Slightly,
    #[error("for good")]
    Beyond,
}

#[actor(stash = 5, mailbox = bounded(3, overflow = fail), stop_timeout = "1s")]
#[supervise(
    one_for_one(max_retries = 3, within = "1s", backoff(min = "1s", max = "2s")),
    on(io::Error) = Restart,
    on(Broken::Slightly if |_| true) = Resume,
    on(Broken::Slightly | Broken::Beyond) = Stop,
    on(Panic) = Restart,
)]
struct Keeper {
    #[child(|_| || Kept)]
    kept: Child<Kept>,
}

#[actor]
impl Keeper {
    #[handler]
    fn hide(&mut self, secret: Secret, name: Vec<u8>, number: u8) -> Result<Vec<u8>, io::Error> {
        drop((secret, number));
        Ok(name)
    }

    #[handler(inline)]
    fn same(&mut self, name: Vec<u8>) -> Vec<u8> {
        name
    }

    #[handler(redeliver = 2, not_influencing)]
    async fn later(&mut self, name: Vec<u8>) -> anyhow::Result<Vec<u8>> {
        Ok(name)
    }

    #[handler(sensitive)]
    async fn text(&mut self, password: Vec<u8>) -> Result<(), String> {
        Err(format!("{} letters", password.len()))
    }

    #[pre_start]
    async fn start(&mut self) -> Result<(), io::Error> {
        Ok(())
    }

    #[watch]
    fn gone(&mut self, _gone: Terminated<Kept>) {}
}

#[actor]
struct Kept;

#[actor]
impl Kept {
    #[handler]
    fn check(&self) -> Result<(), Broken> {
        Ok(())
    }
}

pub(super) fn main() {}
