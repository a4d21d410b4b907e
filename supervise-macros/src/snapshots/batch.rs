///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `write(orders: Order)` |  | `u64` | `DbError` |
| `note(lines: String)` |  |  |  |
| `count()` |  | `u64` |  |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl Writer {
    async fn write(
        &mut self,
        orders: Vec<Order>,
        ctx: &mut Context<Self>,
    ) -> Result<Vec<u64>, DbError> {
        todo
    }
    #[cfg(unix)]
    fn note(&mut self, lines: Vec<String>) -> io::Result<()> {
        todo
    }
    fn count(&self) -> u64 {
        0
    }
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Writer_stand_in_one_impl_block = ();
#[allow(deprecated)]
const _: () = {
    #[doc(hidden)]
    #[allow(dead_code, missing_debug_implementations, unnameable_types, unreachable_pub)]
    pub struct FailuresOfWriter;
    #[automatically_derived]
    impl ::supervise::AllHandlersStandInOneImplBlock for Writer {
        type Failures = ::supervise::Failures<FailuresOfWriter>;
    }
    trait __Failure0<P> {}
    #[cfg(unix)]
    impl<__P> __Failure0<__P> for Writer
    where
        __P: ::supervise::Decides<
            <io::Result<()> as ::supervise::__private::ResultLike>::Err,
        >,
    {}
    #[cfg(not(all(unix)))]
    impl<__P> __Failure0<__P> for Writer {}
    impl<__P> ::supervise::DecidedBy<__P> for FailuresOfWriter
    where
        Writer: __Failure0<__P>,
        Writer: ::supervise::DeclarationDecidedBy<__P>,
        __P: ::supervise::Decides<DbError>,
    {}
};
#[allow(deprecated)]
///The messages of [`Writer`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum WriterMessage {
    ///The message for `write`.
    Write { orders: Order },
    #[cfg(unix)]
    ///The message for `note`.
    Note { lines: String },
    ///The message for `count`.
    Count,
}
#[allow(deprecated)]
#[automatically_derived]
impl ::core::fmt::Debug for WriterMessage {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            WriterMessage::Write { ref orders } => {
                ::supervise::__private::show(
                    __f,
                    "Write",
                    "orders",
                    &[::supervise::__private::Shown(orders).__shown()],
                )
            }
            #[cfg(unix)]
            WriterMessage::Note { ref lines } => {
                ::supervise::__private::show(__f, "Note", "lines", &[lines])
            }
            WriterMessage::Count { .. } => __f.write_str("Count"),
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl ::supervise::Actor for Writer {
    type Message = ::supervise::Envelope<WriterMessage>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &[
        "write",
        "note",
        "count",
    ];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<WriterMessage>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<WriterMessage>,
    > {
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                WriterMessage::Count {} => {
                    ::supervise::__private::enter(__ctx, 3u16);
                    let reply = Self::count(self);
                    ::supervise::__private::reply::<_, u64>(__ctx, reply)
                }
                #[allow(unreachable_patterns)]
                _ => ::supervise::__private::handled_elsewhere(),
            },
        )
    }
    const BATCHES: ::core::primitive::bool = true;
    #[allow(unreachable_patterns)]
    fn batching(
        message: &::supervise::Envelope<WriterMessage>,
    ) -> ::core::option::Option<::supervise::Batching> {
        match *message.message() {
            WriterMessage::Write { .. } => {
                ::core::option::Option::Some(
                    ::supervise::Batching::new(0u16, 100usize)
                        .linger(::core::time::Duration::from_millis(10u64)),
                )
            }
            #[cfg(unix)]
            WriterMessage::Note { .. } => {
                ::core::option::Option::Some(::supervise::Batching::new(1u16, 10usize))
            }
            _ => ::core::option::Option::None,
        }
    }
    #[allow(unused_variables)]
    async fn handle_batch(
        &mut self,
        handler: ::core::primitive::u16,
        batch: ::std::vec::Vec<::supervise::Envelope<WriterMessage>>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::result::Result<(), ::supervise::Failure> {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        let __count = batch.len();
        match handler {
            0u16 => {
                ::supervise::__private::enter(__ctx, 1u16);
                #[allow(unreachable_patterns)]
                let orders = ::supervise::__private::open_batch(
                    __ctx,
                    batch,
                    |message| match message {
                        WriterMessage::Write { orders } => {
                            ::core::option::Option::Some(
                                ::supervise::__private::sendable::<Order>(orders),
                            )
                        }
                        _ => ::core::option::Option::None,
                    },
                );
                match ::supervise::__private::handler_future(
                        Self::write(self, orders, __ctx),
                    )
                    .await
                {
                    ::core::result::Result::Ok(reply) => {
                        ::supervise::__private::reply_batch::<
                            _,
                            Vec<u64>,
                        >(__ctx, "write", __count, reply);
                        ::core::result::Result::Ok(())
                    }
                    ::core::result::Result::Err(error) => {
                        ::core::result::Result::Err({
                            let error = ::supervise::__private::error_value::<
                                DbError,
                            >(error);
                            (&&&&::supervise::__private::Tier::of(&error))
                                .__failure(error)
                        })
                    }
                }
            }
            #[cfg(unix)]
            1u16 => {
                ::supervise::__private::enter(__ctx, 2u16);
                #[allow(unreachable_patterns)]
                let lines = ::supervise::__private::open_batch(
                    __ctx,
                    batch,
                    |message| match message {
                        WriterMessage::Note { lines } => {
                            ::core::option::Option::Some(
                                ::supervise::__private::sendable::<String>(lines),
                            )
                        }
                        _ => ::core::option::Option::None,
                    },
                );
                match <io::Result<
                    (),
                > as ::supervise::__private::ResultLike>::into_result(
                    Self::note(self, lines),
                ) {
                    ::core::result::Result::Ok(reply) => {
                        ::supervise::__private::reply_batch::<
                            _,
                            <io::Result<()> as ::supervise::__private::ResultLike>::Ok,
                        >(__ctx, "note", __count, reply);
                        ::core::result::Result::Ok(())
                    }
                    ::core::result::Result::Err(error) => {
                        ::core::result::Result::Err({
                            let error = ::supervise::__private::error_value::<
                                <io::Result<()> as ::supervise::__private::ResultLike>::Err,
                            >(error);
                            (&&&&::supervise::__private::Tier::of(&error))
                                .__failure(error)
                        })
                    }
                }
            }
            _ => ::core::unreachable!("`batching` names the handlers"),
        }
    }
    fn message_name(
        message: &::supervise::Envelope<WriterMessage>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            WriterMessage::Write { .. } => "Write",
            #[cfg(unix)]
            WriterMessage::Note { .. } => "Note",
            WriterMessage::Count { .. } => "Count",
        }
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl WriterRef {
    ///A request for `write`.
    pub fn write(&self, orders: Order) -> ::supervise::Request<'_, Writer, u64> {
        ::supervise::__private::request::<
            _,
            _,
            u64,
        >(self.actor_ref(), WriterMessage::Write { orders })
    }
    #[cfg(unix)]
    ///A request for `note`.
    pub fn note(&self, lines: String) -> ::supervise::Request<'_, Writer, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), WriterMessage::Note { lines })
    }
    ///A request for `count`.
    pub fn count(&self) -> ::supervise::Request<'_, Writer, u64> {
        ::supervise::__private::request::<
            _,
            _,
            u64,
        >(self.actor_ref(), WriterMessage::Count {})
    }
}
