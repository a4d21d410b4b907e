///
/**# Messages

| request | what it does | reply | fails with |
|---|---|---|---|
| `put(key: K, value: Vec<u8>)` |  |  | `PutError` |
| `forget(key: K)` |  |  |  |*/
#[allow(
    clippy::needless_pass_by_ref_mut,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self
)]
impl<K: Key> Database<K> {
    fn put(&mut self, key: K, value: Vec<u8>) -> Result<(), PutError> {
        todo
    }
    #[cfg(unix)]
    fn forget(&mut self, key: K) {}
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(dead_code, non_camel_case_types)]
type all_handlers_of_Database_stand_in_one_impl_block = ();
#[allow(deprecated)]
const _: () = {
    #[doc(hidden)]
    #[allow(dead_code, missing_debug_implementations, unnameable_types, unreachable_pub)]
    pub struct FailuresOfDatabase<A>(::core::marker::PhantomData<A>);
    #[automatically_derived]
    impl<K: Key> ::supervise::AllHandlersStandInOneImplBlock for Database<K> {
        type Failures = ::supervise::Failures<FailuresOfDatabase<Database<K>>>;
    }
    impl<K: Key, __P> ::supervise::DecidedBy<__P> for FailuresOfDatabase<Database<K>>
    where
        Database<K>: ::supervise::DeclarationDecidedBy<__P>,
        __P: ::supervise::Decides<PutError>,
    {}
};
#[allow(deprecated)]
///The messages of [`Database`].
#[allow(dead_code, missing_docs, private_bounds, private_interfaces, unreachable_pub)]
#[allow(clippy::enum_variant_names, clippy::large_enum_variant, clippy::type_complexity)]
pub enum DatabaseMessage<K: Key> {
    ///The message for `put`.
    Put { key: K, value: Vec<u8> },
    #[cfg(unix)]
    ///The message for `forget`.
    Forget { key: K },
}
#[allow(deprecated)]
impl<K: Key> ::supervise::__private::RunsOnAnyThread for Database<K>
where
    ::supervise::__private::MovesBetweenThreads<Database<K>>: ::core::marker::Sized,
{}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Key> ::core::fmt::Debug for DatabaseMessage<K> {
    fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        match *self {
            DatabaseMessage::Put { ref key, ref value } => {
                ::supervise::__private::show(
                    __f,
                    "Put",
                    "key value",
                    &[
                        ::supervise::__private::Shown(key).__shown(),
                        ::supervise::__private::Shown(value).__shown(),
                    ],
                )
            }
            #[cfg(unix)]
            DatabaseMessage::Forget { ref key } => {
                ::supervise::__private::show(
                    __f,
                    "Forget",
                    "key",
                    &[::supervise::__private::Shown(key).__shown()],
                )
            }
        }
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Key> ::supervise::Actor for Database<K>
where
    Database<K>: ::core::marker::Send + 'static,
{
    type Message = ::supervise::Envelope<DatabaseMessage<K>>;
    const HANDLERS: &'static [&'static ::core::primitive::str] = &["put", "forget"];
    const HAS_LAST_HOOK: ::core::primitive::bool = false;
    fn handle_now(
        &mut self,
        message: ::supervise::Envelope<DatabaseMessage<K>>,
        __ctx: &mut ::supervise::Context<Self>,
    ) -> ::core::ops::ControlFlow<
        ::core::result::Result<(), ::supervise::Failure>,
        ::supervise::Envelope<DatabaseMessage<K>>,
    > {
        #[allow(unused_imports)]
        use ::supervise::__private::probes::*;
        ::core::ops::ControlFlow::Break(
            match ::supervise::__private::open(__ctx, message) {
                DatabaseMessage::Put { key, value } => {
                    ::supervise::__private::enter(__ctx, 1u16);
                    let key = ::supervise::__private::sendable::<K>(key);
                    let value = ::supervise::__private::sendable::<Vec<u8>>(value);
                    match Self::put(self, key, value) {
                        ::core::result::Result::Ok(reply) => {
                            ::supervise::__private::reply::<_, ()>(__ctx, reply)
                        }
                        ::core::result::Result::Err(error) => {
                            ::core::result::Result::Err({
                                let error = ::supervise::__private::error_value::<
                                    PutError,
                                >(error);
                                (&&&&::supervise::__private::Tier::of(&error))
                                    .__failure(error)
                            })
                        }
                    }
                }
                #[cfg(unix)]
                DatabaseMessage::Forget { key } => {
                    ::supervise::__private::enter(__ctx, 2u16);
                    let key = ::supervise::__private::sendable::<K>(key);
                    let () = Self::forget(self, key);
                    ::supervise::__private::reply::<_, ()>(__ctx, ())
                }
            },
        )
    }
    fn message_name(
        message: &::supervise::Envelope<DatabaseMessage<K>>,
    ) -> &'static ::core::primitive::str {
        match *message.message() {
            DatabaseMessage::Put { .. } => "Put",
            #[cfg(unix)]
            DatabaseMessage::Forget { .. } => "Forget",
        }
    }
}
#[allow(deprecated)]
#[allow(dead_code, unreachable_pub)]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
impl<K: Key> DatabaseRef<K>
where
    Database<K>: ::core::marker::Send + 'static,
{
    ///A request for `put`.
    pub fn put(
        &self,
        key: K,
        value: Vec<u8>,
    ) -> ::supervise::Request<'_, Database<K>, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), DatabaseMessage::Put { key, value })
    }
    #[cfg(unix)]
    ///A request for `forget`.
    pub fn forget(&self, key: K) -> ::supervise::Request<'_, Database<K>, ()> {
        ::supervise::__private::request::<
            _,
            _,
            (),
        >(self.actor_ref(), DatabaseMessage::Forget { key })
    }
}
ports::Storage! {
    [::supervise::__private::implement] [::supervise] [ports::Storage < K >] [Database]
    [DatabaseRef < K >] [< K : Key >] [where Database < K > : ::core::marker::Send +
    'static] [([] put(, key : K, value : Vec < u8 >) (, key, value) usable)
    ([#[cfg(unix)]] forget(, key : K) (, key) usable)]
}
Named! {
    [::supervise::__private::implement] [::supervise] [Named] [Database] [DatabaseRef < K
    >] [< K : Key >] [where Database < K > : ::core::marker::Send + 'static] [([] put(,
    key : K, value : Vec < u8 >) (, key, value) usable) ([#[cfg(unix)]] forget(, key : K)
    (, key) usable)]
}
