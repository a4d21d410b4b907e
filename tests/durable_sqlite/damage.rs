//! Files that have changed behind the store's back: the store reports what is missing or wrong.

use std::fs;
use std::path::{Path, PathBuf};

use supervise::durable::{Change, Ended, Fate, MessageStore, QueueId, Seq, StoreErrorKind, Stored};

use crate::fixture::{ALL, Desk, Folder, append, copy, handled, id, keyed, small};

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

#[tokio::test]
async fn dur_29_a_flipped_bit_in_a_body_damages_that_message_alone() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..9).map(|number| append(queue, format!("this is order number {number}").as_bytes()))).await;
    desk.close().await;
    let mut bytes = fs::read(folder.store()).expect("it can be read");
    let at = bytes.windows(22).position(|part| part == b"this is order number 4").expect("it is in there");
    bytes[at + 3] ^= 1;
    fs::write(folder.store(), bytes).expect("it can be written");

    let mut desk = Desk::open(folder.store()).await;
    desk.claim("orders").await;
    let waiting = desk.all(queue).await;
    let damaged: Vec<_> =
        waiting.iter().filter(|message| message.is_damaged).map(|message| message.seq.0).collect();
    assert_eq!((waiting.len(), damaged), (9, vec![5]));
    desk.commit([Change::Quarantine { id: id(queue, 5), fate: Fate::Damaged, failures: Vec::new() }]).await;
    assert_eq!(desk.numbers(queue).await, [1, 2, 3, 4, 6, 7, 8, 9]);
    // Neither the quarantine nor a retry makes it whole.
    assert!(desk.quarantined("orders").await[0].message.is_damaged);
    desk.commit([Change::Retry(id(queue, 5))]).await;
    assert!(desk.all(queue).await[8].is_damaged);
    // Nor does a charge.
    desk.commit([Change::Charged { id: id(queue, 10), attempts: 1, crashes: 0, failures: Vec::new() }]).await;
    assert!(desk.all(queue).await[8].is_damaged);
}

#[tokio::test]
async fn a_message_that_is_missing_comes_as_a_damaged_one() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..6).map(|_| append(queue, b"x"))).await;
    desk.commit([handled(queue, 3)]).await;
    desk.close().await;
    let file = rusqlite::Connection::open(folder.store()).expect("it is free");
    let gone = file.execute("DELETE FROM message WHERE (id & 255) IN (1, 4, 6)", ()).expect("it can be written");
    drop(file);
    assert_eq!(gone, 3);

    let mut desk = Desk::open(folder.store()).await;
    desk.claim("orders").await;
    let found: Vec<_> = desk.all(queue).await.iter().map(|message| (message.seq.0, message.is_damaged)).collect();
    assert_eq!(found, [(1, true), (2, false), (4, true), (5, false), (6, true)]);
    desk.commit([Change::Quarantine { id: id(queue, 4), fate: Fate::Damaged, failures: Vec::new() }]).await;
    desk.commit([handled(queue, 1)]).await;
    assert_eq!(desk.numbers(queue).await, [2, 5, 6]);
    assert_eq!(desk.quarantined("orders").await[0].id, id(queue, 4));
}

#[tokio::test]
async fn dur_30_an_end_that_was_cut_off_is_named_and_opens_only_when_that_is_accepted() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..3).map(|_| append(queue, b"x"))).await;
    let log = fs::metadata(folder.beside("-wal")).expect("it is there").len();
    desk.commit((0..2).map(|_| append(queue, b"x"))).await;
    drop(desk);
    let file = fs::OpenOptions::new().write(true).open(folder.beside("-wal")).expect("it is there");
    file.set_len(log).expect("it can be cut");
    drop(file);

    for _ in 0..2 {
        let error = Desk::try_open(small(folder.store())).await.err().expect("it is refused");
        assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
        assert!(error.text.contains("4 to 5 of the queue orders"), "{error}");
    }
    let mut desk = Desk::try_open(small(folder.store()).accept_damage()).await.expect("it is accepted");
    assert_eq!(desk.opened.missing, [(queue, Seq(4)), (queue, Seq(5))]);
    assert_ne!(desk.opened.ended, Ended::Cleanly);
    assert_eq!(desk.claim("orders").await.waiting, 3);
    assert_eq!(desk.numbers(queue).await, [1, 2, 3]);
    desk.commit([append(queue, b"x")]).await;
    drop(desk);
    // From now on the store is complete, and the numbers of the lost messages are not used again.
    let mut desk = Desk::open(folder.store()).await;
    assert_eq!(desk.opened.missing, []);
    assert_eq!(desk.numbers(queue).await, [1, 2, 3, 6]);
}

#[tokio::test]
async fn dur_30_a_backup_is_told_from_the_store() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit((0..3).map(|_| append(queue, b"x"))).await;
    desk.close().await;
    let backup = fs::read(folder.store()).expect("it can be read");
    let mut desk = Desk::open(folder.store()).await;
    desk.claim("orders").await;
    desk.commit([handled(queue, 1), handled(queue, 2), append(queue, b"x"), append(queue, b"x")]).await;
    desk.opened.marks.begun(queue, Seq(5), Seq(4));
    drop(desk);
    fs::write(folder.store(), backup).expect("it can be written");
    fs::remove_file(folder.beside("-wal")).expect("it is there");

    let error = Desk::try_open(small(folder.store())).await.err().expect("it is refused");
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
    let mut desk = Desk::try_open(small(folder.store()).accept_damage()).await.expect("it is accepted");
    assert_eq!(desk.opened.missing, [(queue, Seq(4)), (queue, Seq(5))]);
    // The marks are still valid: message 4 and those before it were handled.
    assert_eq!(desk.claim("orders").await.waiting, 0);
    desk.commit([append(queue, b"x")]).await;
    assert_eq!(desk.numbers(queue).await, [6]);
}

#[tokio::test]
async fn a_store_without_its_file_or_its_log_or_its_marks_is_refused() {
    for gone in ["", "-wal", "-marks"] {
        let folder = Folder::new();
        let mut desk = Desk::open(folder.store()).await;
        let queue = desk.claim("orders").await.queue;
        desk.commit((0..3).map(|_| append(queue, b"x"))).await;
        drop(desk);
        fs::remove_file(folder.beside(gone)).expect("it is there");
        let error = Desk::try_open(small(folder.store())).await.err();
        let error = error.unwrap_or_else(|| panic!("without `{gone}` it is refused"));
        assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
        let mut desk = Desk::try_open(small(folder.store()).accept_damage()).await.expect("it is accepted");
        let queue = desk.claim("orders").await.queue;
        desk.commit([append(queue, b"x")]).await;
        desk.close().await;
        assert!(!Desk::open(folder.store()).await.numbers(queue).await.is_empty(), "it goes on");
    }
}

/// Groups of which each has messages in two queues, and handles one. Returns what waited after each.
async fn groups(desk: &mut Desk, numbers: std::ops::Range<u64>) -> Vec<Vec<Vec<Stored>>> {
    let queues = [desk.claim("a").await.queue, desk.claim("b").await.queue];
    let mut states = Vec::new();
    for number in numbers {
        let messages = (0..3).map(|message| format!("group {number}, message {message}").repeat(20));
        let mut changes: Vec<_> =
            messages.enumerate().map(|(at, body)| append(queues[at % 2], body.as_bytes())).collect();
        changes.push(handled(queues[0], number));
        desk.commit(changes).await;
        states.push(contents(desk, &queues).await);
    }
    states
}

async fn contents(desk: &mut Desk, queues: &[QueueId]) -> Vec<Vec<Stored>> {
    let mut contents = Vec::new();
    for &queue in queues {
        contents.push(desk.all(queue).await);
    }
    contents
}

#[tokio::test]
async fn a_torn_log_leaves_a_prefix_of_the_groups_always() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let mut states = groups(&mut desk, 1..8).await;
    let early_marks = fs::read(folder.beside("-marks")).expect("they are there");
    let whole = fs::metadata(folder.beside("-wal")).expect("it is there").len();
    let queues: Vec<_> = desk.queues().await.into_iter().map(|row| row.queue).collect();
    for (at, queue) in queues.iter().enumerate() {
        desk.commit([handled(*queue, 8), append(*queue, format!("the end {at}").as_bytes())]).await;
        states.push(contents(&mut desk, &queues).await);
    }
    drop(desk);
    let log = fs::read(folder.beside("-wal")).expect("it is there");
    let lasts = &states[states.len() - 3..];
    let torn = folder.path().join("torn");
    let (mut cases, mut lost) = (0, 0);
    let end = u64::try_from(log.len()).expect("it is short");
    for at in (whole..end).step_by(512).chain([end]) {
        for zeroed in [true, false] {
            let cut = usize::try_from(at).expect("it is short");
            let mut bytes = log.clone();
            if zeroed {
                bytes[cut..].fill(0);
            } else {
                bytes.truncate(cut);
            }
            let prepare = || {
                copy(&folder.store(), &torn);
                fs::write(beside(&torn, "-wal"), &bytes).expect("it can be written");
            };
            // The power failed: the marks are as old as the log.
            prepare();
            fs::write(beside(&torn, "-marks"), &early_marks).expect("it can be written");
            let mut desk = Desk::try_open(small(&torn).boot("the next one")).await.expect("it opens");
            let found = contents(&mut desk, &queues).await;
            let prefix = lasts.iter().position(|state| *state == found);
            let prefix = prefix.unwrap_or_else(|| panic!("cut at {at}: no prefix of the groups: {found:?}"));
            drop(desk);
            // The log was cut by somebody who left the marks alone.
            prepare();
            let opened = Desk::try_open(small(&torn)).await;
            let is_whole = prefix == lasts.len() - 1;
            assert_eq!(opened.is_ok(), is_whole, "cut at {at}: {:?}", opened.err());
            drop(opened);
            prepare();
            let mut desk = Desk::try_open(small(&torn).accept_damage()).await.expect("it is accepted");
            assert_eq!(contents(&mut desk, &queues).await, found, "cut at {at}");
            assert_eq!(desk.opened.missing.len(), lasts.len() - 1 - prefix, "cut at {at}");
            cases += 1;
            lost += usize::from(!is_whole);
        }
    }
    assert!(cases > 20 && lost > cases / 2 && lost < cases, "{lost} of {cases} have lost a group");
}

#[tokio::test]
async fn a_copy_of_the_log_that_a_kill_cut_short_is_made_again() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    let states = groups(&mut desk, 1..30).await;
    let expected = states.last().expect("there are groups");
    let queues: Vec<_> = desk.queues().await.into_iter().map(|row| row.queue).collect();
    drop(desk);
    let before = fs::read(folder.store()).expect("it is there");
    let copied = folder.path().join("copied");
    copy(&folder.store(), &copied);
    let other = rusqlite::Connection::open(&copied).expect("it is whole");
    other.query_row("PRAGMA wal_checkpoint", (), |_| Ok(())).expect("the log is copied");
    let after = fs::read(&copied).expect("it is there");
    drop(other);
    // SQLite copies the pages in their order, and the first says how many there are.
    let cuts: Vec<_> = (0..after.len()).step_by(4096).chain([after.len()]).collect();
    assert!(after.len() > before.len() + 4 * 4096 && cuts.len() > 8, "the file grows by several pages");
    for cut in cuts {
        let torn = folder.path().join("torn");
        copy(&folder.store(), &torn);
        let mut bytes = after[..cut].to_vec();
        bytes.extend(before.iter().skip(cut));
        fs::write(&torn, bytes).expect("it can be written");
        let opened = Desk::try_open(small(&torn)).await;
        let mut desk = opened.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(contents(&mut desk, &queues).await, *expected, "cut at {cut}");
    }
}

/// All that a store holds, as far as it can be read.
async fn census(desk: &mut Desk) -> Option<Vec<(QueueId, Vec<Stored>, Vec<Stored>)>> {
    let mut census = Vec::new();
    for name in ["a", "b", "long"] {
        let row = desk.store.queues().await.ok()?.into_iter().find(|row| row.name == name)?;
        let quarantined = desk.store.quarantined(name, Seq(0), ALL).await.ok()?;
        let quarantined = quarantined.into_iter().map(|one| one.message).collect();
        census.push((row.queue, desk.try_all(row.queue).await.ok()?, quarantined));
    }
    Some(census)
}

/// Checks that all `expected` messages are there, and that those that have changed are marked as damaged.
fn is_told(expected: &[Stored], found: &[Stored]) -> bool {
    let same_or_told = |(expected, found): (&Stored, &Stored)| expected == found || found.is_damaged;
    let numbers = |messages: &[Stored]| messages.iter().map(|message| message.seq).collect::<Vec<_>>();
    numbers(expected) == numbers(found) && expected.iter().zip(found).all(same_or_told)
}

#[tokio::test]
async fn a_thousand_flipped_bits_change_nothing_or_are_told() {
    let folder = Folder::new();
    let mut desk = Desk::open(folder.store()).await;
    groups(&mut desk, 1..40).await;
    let a = desk.queues().await[0].queue;
    let long = desk.claim("long").await.queue;
    desk.commit([append(long, &vec![7; 20_000]), keyed(long, b"x", Some("order-17"))]).await;
    for number in [41, 43, 47] {
        let failures = vec![format!("the reason of {number}")];
        desk.commit([Change::Quarantine { id: id(a, number), fate: Fate::Failed, failures }]).await;
    }
    desk.close().await;
    // The next process leaves a log, too.
    let mut desk = Desk::open(folder.store()).await;
    for name in ["a", "b", "long"] {
        desk.claim(name).await;
    }
    desk.commit((0..20).map(|number| append(a, format!("late {number}").repeat(30).as_bytes()))).await;
    let failures = vec!["once".to_owned()];
    desk.commit([Change::Charged { id: id(a, 44), attempts: 1, crashes: 0, failures }]).await;
    desk.opened.marks.begun(a, Seq(40), Seq(39));
    let expected = census(&mut desk).await.expect("it is whole");
    drop(desk);

    let flipped = folder.path().join("flipped");
    let mut random = fastrand::Rng::with_seed(17);
    let (mut unchanged, mut damaged, mut refused) = (0, 0, 0);
    let flips: usize = std::env::var("SUPERVISE_FLIPS").map_or(1000, |flips| flips.parse().expect("a number"));
    for flip in 0..flips {
        let ending = ["", "", "-wal", "-marks"][random.usize(..4)];
        copy(&folder.store(), &flipped);
        let mut bytes = fs::read(beside(&flipped, ending)).expect("it is there");
        // Most of the file of marks is room for more queues.
        let length = if ending == "-marks" { 10 * 32 } else { bytes.len() };
        let (at, bit) = (random.usize(..length), random.u32(..8));
        bytes[at] ^= 1 << bit;
        fs::write(beside(&flipped, ending), bytes).expect("it can be written");
        let Ok(mut desk) = Desk::try_open(small(&flipped)).await else {
            refused += 1;
            continue;
        };
        let begun = desk.claim("a").await.begun;
        let Some(found) = census(&mut desk).await else {
            refused += 1;
            continue;
        };
        let all = expected.iter().zip(&found);
        let told =
            all.clone().all(|((queue, waiting, confined), (found_queue, found_waiting, found_confined))| {
                queue == found_queue && is_told(waiting, found_waiting) && is_told(confined, found_confined)
            });
        assert!(told, "flip {flip}: bit {bit} of byte {at} of `{ending}`: {expected:?} became {found:?}");
        assert_eq!(begun, Some(Seq(40)), "flip {flip}: bit {bit} of byte {at} of `{ending}`");
        if found == expected {
            unchanged += 1;
        } else {
            damaged += 1;
        }
    }
    println!("{flips} flips: {unchanged} changed nothing, {damaged} damaged messages, {refused} were refused");
    assert!(damaged > 0 && refused > 0, "{unchanged} unchanged, {damaged} damaged, {refused} refused");
}

/// One value has the wrong type, such as a text where a number belongs. The body can still be read.
#[tokio::test]
async fn a_message_with_one_damaged_column_keeps_the_others_in_quarantine() {
    let changes = [
        "kind = CAST(X'FF6F72646572' AS TEXT)",
        "kind = 7",
        "accepted_at = 'never'",
        "key = X'00'",
        "attempts = -1",
        "crashes = 99999999999",
        "failures = 'x'",
        "sum = 'x'",
        "body = CAST(body AS TEXT)",
    ];
    for change in changes {
        let folder = Folder::new();
        let mut desk = Desk::open(folder.store()).await;
        let queue = desk.claim("orders").await.queue;
        desk.commit((0..3).map(|_| append(queue, b"the body"))).await;
        desk.close().await;
        let file = rusqlite::Connection::open(folder.store()).expect("it is free");
        let rows = file.execute(&format!("UPDATE message SET {change} WHERE (id & 255) = 2"), ());
        assert_eq!(rows.expect("it can be written"), 1);
        drop(file);

        let mut desk = Desk::open(folder.store()).await;
        desk.claim("orders").await;
        for number in [2, 4] {
            let all = desk.all(queue).await;
            let found = all.iter().find(|message| message.seq.0 == number).expect("it is there");
            assert!(found.is_damaged && *found.body == *b"the body", "{change}: {found:?}");
            desk.commit([Change::Quarantine { id: id(queue, number), fate: Fate::Damaged, failures: Vec::new() }])
                .await;
            let confined = &desk.quarantined("orders").await[0].message;
            assert!(confined.is_damaged && *confined.body == *b"the body", "{change}: {confined:?}");
            if number == 2 {
                desk.commit([Change::Retry(id(queue, 2))]).await;
            }
        }
    }
}
