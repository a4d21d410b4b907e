#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement the protocol `Storage`",
    note = "for an actor, write `#[actor(implements(Storage))]` in place of `#[actor]` above its `impl` block: its ref then implements `Storage` by the handlers of the same names, and an `impl Storage` for the actor itself is not needed",
    note = "if `{Self}` is the actor and not its ref, pass the ref, which `spawn` returns; if it is neither of them, write `#[async_trait] impl Storage for {Self} {{ .. }}`"
)]
#[async_trait]
/// Keeps.
pub(crate) trait Storage<
    K: Send + 'static,
>: Named + ::core::marker::Send + ::core::marker::Sync + 'static {
    /// Puts.
    async fn put(&self, key: K, value: Vec<u8>) -> Result<(), PutError>;
    fn forget(&self, key: K) -> Result<(), SendErrorReason>;
    async fn twice(&self) -> Result<(), PutError> {
        todo
    }
    /// The actor behind this value. An adapter may pass on what the ref says that it holds.
    fn actor(&self) -> ::core::option::Option<::supervise::AnyActorRef> {
        ::core::option::Option::None
    }
}
#[allow(deprecated)]
///Refers to an implementation of [`Storage`]: an actor, or any other value. Make it with `new`. It has the methods of [`Storage`]. It is cheap to clone, and `Display` shows the path and `Uid` of the actor behind it.
#[allow(dead_code)]
pub(crate) struct StorageRef<K: Send + 'static>(
    ::supervise::ProtocolRef<dyn Storage<K>>,
);
#[allow(deprecated)]
#[automatically_derived]
impl<K: Send + 'static> ::core::clone::Clone for StorageRef<K> {
    fn clone(&self) -> Self {
        Self(::core::clone::Clone::clone(&self.0))
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Send + 'static> ::core::fmt::Debug for StorageRef<K> {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::fmt::Debug::fmt(&self.0, f)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Send + 'static> ::core::fmt::Display for StorageRef<K> {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::fmt::Display::fmt(&self.0, f)
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Send + 'static> ::core::cmp::PartialEq for StorageRef<K> {
    fn eq(&self, other: &Self) -> ::core::primitive::bool {
        ::core::cmp::PartialEq::eq(&self.0, &other.0)
    }
}
#[allow(deprecated)]
impl<K: Send + 'static> ::core::cmp::Eq for StorageRef<K> {}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Send + 'static> ::core::hash::Hash for StorageRef<K> {
    fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
        ::core::hash::Hash::hash(&self.0, state);
    }
}
#[allow(deprecated)]
#[automatically_derived]
impl<K: Send + 'static> ::core::ops::Deref for StorageRef<K> {
    type Target = dyn Storage<K>;
    fn deref(&self) -> &Self::Target {
        ::core::ops::Deref::deref(&self.0)
    }
}
#[allow(deprecated)]
impl<K: Send + 'static> StorageRef<K> {
    /// A ref to whatever implements the protocol: an actor by its ref, or any other value.
    #[allow(dead_code)]
    pub(crate) fn new(value: impl Storage<K>) -> Self {
        let actor = Storage::actor(&value);
        let behind: ::std::sync::Arc<::supervise::__private::Behind<dyn Storage<K>>> = ::std::sync::Arc::new(
            ::supervise::__private::Behind::new(value, actor),
        );
        Self(::core::convert::From::from(behind))
    }
    /// The actor behind the ref, so that it can be watched and stopped. `None` if there is none, as in a test, or if
    /// an adapter does not name it.
    #[allow(dead_code)]
    pub(crate) fn actor(&self) -> ::core::option::Option<&::supervise::AnyActorRef> {
        self.0.actor()
    }
}
#[allow(deprecated)]
impl<K: Send + 'static> ::supervise::__private::IsProtocol for dyn Storage<K> {}
#[allow(deprecated)]
impl<'__a, K: Send + 'static> ::supervise::__private::AsksAt<0usize>
for dyn Storage<K> + '__a {
    type Returned = Result<(), PutError>;
    fn unanswered(error: ::supervise::AskError) -> Result<(), PutError> {
        #[allow(unused_imports)]
        use ::supervise::__private::{
            ConvertedError as _, OwnError as _, ReportedConversion as _,
        };
        <Result<
            (),
            PutError,
        > as ::supervise::__private::Asked>::failed(
            (&&&::supervise::__private::Unanswered::<
                <Result<(), PutError> as ::supervise::__private::Asked>::Error,
            >::new())
                .error(error),
        )
    }
}
#[allow(deprecated)]
impl<'__a, K: Send + 'static> ::supervise::__private::TellsAt<1usize>
for dyn Storage<K> + '__a {
    type Returned = Result<(), SendErrorReason>;
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(non_local_definitions)]
macro_rules! __protocol_Storage_90125553b9ed7c1d {
    ([$($implement:tt)*] $($rest:tt)*) => {
        $($implement)* ! { [(0usize ask put(, key : K, value : Vec < u8 >) (-> Result <
        (), PutError >)) (1usize tell forget(, key : K) (-> Result < (), SendErrorReason
        >))] [twice] $($rest)* }
    };
}
#[allow(deprecated)]
#[doc(hidden)]
#[allow(unused_imports)]
pub(crate) use __protocol_Storage_90125553b9ed7c1d as Storage;
