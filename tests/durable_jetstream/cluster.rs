//! Streams with replicas, on a cluster of three servers.
//!
//! Rules 27.1 and 27.13.

use std::net::TcpListener;
use std::time::Duration;

use supervise::durable::{
    Appended, Claim, Group, JetStreamStore, MessageStore, Owner, QueueId, Room, Seq, StoreError, StoreErrorKind,
};

use crate::server::Server;
use crate::{LEASE, append, opened};

/// How long a cluster may take until it works again. An election of nats-server 2.9.10 takes up to 9 s, and meanwhile it may make consumers on
/// a server that is down.
const ELECTIONS: Duration = Duration::from_secs(120);

/// Three servers, and their URLs.
fn cluster() -> Option<(Vec<Server>, String)> {
    let listeners: Vec<_> =
        (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("there is a free port")).collect();
    let at: Vec<_> = listeners.iter().map(|listener| listener.local_addr().expect("it is bound")).collect();
    drop(listeners);
    let routes: Vec<_> = at.iter().map(|at| format!("nats://{at}")).collect();
    let start = |(number, at): (usize, &std::net::SocketAddr)| {
        Server::configured(format!(
            "server_name: n{number}\ncluster {{ name: shop, listen: \"{at}\", routes: [{}] }}",
            routes.join(", ")
        ))
    };
    let servers: Vec<_> = at.iter().enumerate().map(start).collect::<Option<_>>()?;
    let urls: Vec<_> = servers.iter().map(Server::url).collect();
    Some((servers, urls.join(",")))
}

/// Opens and claims until it works, as the runtime does.
async fn claims(store: &mut JetStreamStore) -> Claim {
    let works = async {
        loop {
            let claimed = match store.claim("orders").await {
                Err(error) if error.kind == StoreErrorKind::Broken => reopened(store).await,
                claimed => claimed,
            };
            match claimed {
                Ok(claim) => return claim,
                Err(error) => assert!(is_passing(&error), "{error}"),
            }
            tokio::time::sleep(LEASE / 10).await;
        }
    };
    tokio::time::timeout(ELECTIONS, works).await.expect("two servers are enough")
}

fn is_passing(error: &StoreError) -> bool {
    matches!(error.kind, StoreErrorKind::Broken | StoreErrorKind::Claimed)
}

async fn reopened(store: &mut JetStreamStore) -> Result<Claim, StoreError> {
    store.open(&Owner::new("shop")).await?;
    store.claim("orders").await
}

/// Sends a message until it is accepted, always with the same key.
async fn sends(store: &mut JetStreamStore, queue: QueueId, number: u64) {
    let group = Group { changes: vec![append(queue, number, Some(format!("order-{number}")))] };
    let works = async {
        loop {
            if let Ok(answers) = store.commit(&group).await {
                assert!(matches!(answers[..], [Appended::Stored(_) | Appended::Known]), "{answers:?}");
                return;
            }
            claims(store).await;
        }
    };
    tokio::time::timeout(ELECTIONS, works).await.expect("two servers are enough");
}

#[tokio::test]
async fn a_cluster_whose_leader_is_killed_loses_nothing_that_was_accepted() {
    let Some((mut servers, urls)) = cluster() else { return };
    let mut store = JetStreamStore::new(urls).lease(LEASE).accept_timeout(Duration::from_secs(2)).replicas(3);
    let queue = claims(&mut store).await.queue;
    for number in 1..=5 {
        sends(&mut store, queue, number).await;
    }
    let context = servers[0].context().await;
    let name = format!("SV_shop_Q{}", queue.0);
    let stream = context.get_stream(name).await.expect("it is there");
    let info = &stream.cached_info();
    assert_eq!(info.config.num_replicas, 3);
    let leader = info.cluster.as_ref().and_then(|cluster| cluster.leader.as_ref()).expect("it has one");
    servers[leader.trim_start_matches('n').parse::<usize>().expect("it is a number")].kill();
    for number in 6..=10 {
        sends(&mut store, queue, number).await;
    }
    let room = Room { messages: usize::MAX, bytes: usize::MAX };
    let page = loop {
        match store.page(queue, Seq(0), room).await {
            Ok(page) => break page,
            Err(error) => assert!(is_passing(&error), "{error}"),
        }
        claims(&mut store).await;
    };
    let numbers: Vec<u64> = page.iter().map(|message| u64::from(message.body[0])).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
}

/// Otherwise a system could not start while the first server is down.
#[tokio::test]
async fn a_store_opens_on_any_server_of_its_list() {
    let Some(server) = Server::start() else { return };
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let down = free.expect("there is a free port");
    let (mut store, _) = opened(&format!("nats://{down}, {}", server.url())).await;
    store.claim("orders").await.expect("nobody has it");
}
