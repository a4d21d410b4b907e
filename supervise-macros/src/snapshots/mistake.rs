::core::compile_error! {
    "a message travels to another task and cannot borrow: take an owned value (`String` for `&str`, `Vec<T>` for `&[T]`, `Arc<T>` to share)"
}
impl Feed {
    #[allow(
        clippy::needless_pass_by_ref_mut,
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        clippy::unused_self
    )]
    fn fetch(&mut self, id: u64, name: &str) -> u8 {
        1
    }
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Feed_stand_in_one_impl_block = ();
#[allow(deprecated)]
#[allow(dead_code, missing_docs, private_interfaces, private_bounds, unreachable_pub)]
pub enum FeedMessage {
    Fetch { id: u64 },
    __Never(::core::convert::Infallible, ::core::marker::PhantomData<fn() -> ()>),
}
#[allow(deprecated)]
impl ::core::fmt::Debug for FeedMessage {
    fn fmt(&self, _: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::unreachable!()
    }
}
#[allow(deprecated)]
#[allow(dead_code, missing_docs, unreachable_pub, unused_variables)]
impl FeedRef {
    ///
    pub fn fetch<__T1>(
        &self,
        id: u64,
        name: __T1,
    ) -> ::supervise::Request<'_, Feed, u8> {
        ::core::unreachable!()
    }
}
#[allow(deprecated)]
impl ::supervise::Actor for Feed {
    type Message = FeedMessage;
    async fn handle(
        &mut self,
        _: Self::Message,
        _: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        ::core::unreachable!()
    }
}
#[allow(deprecated)]
impl<__P> ::supervise::FailuresDecidedBy<__P> for Feed {}
#[allow(deprecated)]
#[automatically_derived]
impl<__A> ::supervise::Watches<__A> for Feed {}
