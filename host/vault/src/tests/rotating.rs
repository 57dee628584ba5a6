//! Rotating the keys while gateways run.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

on_every_database!(
    a_rotation_exchanges_all_keys_and_seals_every_secret_again,
    a_rotation_that_was_killed_after_any_step_loses_no_secret_and_the_next_one_finishes_it,
    secrets_that_gateways_store_during_rotations_are_never_lost,
    gateways_on_other_machines_serve_through_a_rotation_until_it_is_finished,
    a_secret_that_cannot_be_unsealed_is_left_unchanged_and_counted,
    a_retired_data_key_is_deleted_once_no_secret_needs_it_and_some_time_has_passed,
    a_second_rotation_at_the_same_time_is_refused,
    no_rotation_begins_if_one_under_way_was_to_be_finished,
);

async fn a_rotation_exchanges_all_keys_and_seals_every_secret_again(site: Site) {
    let machine = Machine::on(&site).await;
    let running = machine.vault().await;
    machine.fill(&running).await;
    let old_file = fs::read(machine.key_file()).unwrap();
    let old_key = machine.data_keys().list().await.unwrap().remove(0).id;

    let outcome = machine.rotate_all().await;
    let secrets = SECRETS as u64 + 1;
    assert_eq!(outcome, RotationReport { resumed: false, resealed: secrets, unreadable: 0, finished: true });
    assert_eq!(machine.lines(), 1);
    let notes = ["new secrets are sealed under a new key", "the previous key unseals nothing any more"];
    assert_eq!(machine.tables.notes().await, notes);
    let keys = machine.data_keys().list().await.unwrap();
    assert_ne!(keys[0].id, old_key);
    assert!(keys.iter().all(|key| key.wraps.len() == 1));
    assert_eq!(machine.data_keys().count_secrets_under_other_keys(&keys[0].id).await.unwrap(), 0);
    // One gateway runs already, the other one starts now.
    machine.assert_all_unseal(&running).await;
    machine.assert_all_unseal(&machine.vault().await).await;
    // The previous data key can be deleted, because no secret is sealed under it.
    assert_eq!(machine.data_keys().drop_retired(Duration::ZERO).await.unwrap(), 1);

    fs::write(machine.key_file(), old_file).unwrap();
    assert!(machine.refusal().await.contains("is the wrong one"));
}

async fn a_rotation_that_was_killed_after_any_step_loses_no_secret_and_the_next_one_finishes_it(site: Site) {
    for steps in 0..=5 {
        let machine = Machine::on(&site).await;
        machine.tables.clear(&["secrets", "bodies", "data_keys"]).await;
        let running = machine.vault().await;
        machine.fill(&running).await;
        let mut rotation = machine.rotation().await;
        if steps >= 1 {
            rotation.add_master().unwrap();
        }
        if steps >= 2 {
            rotation.replace_data_key().await.unwrap();
        }
        if steps >= 3 {
            // Only a part of the secrets.
            let keys = rotation.vault.keys(|_| false).await.unwrap();
            let batch =
                machine.data_keys().secrets_under_other_keys(&keys.current().unwrap().0, None, 100).await.unwrap();
            for row in batch {
                let secret = running.unseal(&row.context(), &row.sealed).await.unwrap();
                let sealed = keys.seal(&row.context(), secret.expose_secret()).unwrap();
                assert_eq!(machine.data_keys().replace_secrets(vec![(row, sealed)]).await.unwrap(), 1);
            }
        }
        if steps >= 4 {
            rotation.reseal(&mut |_| {}).await.unwrap();
            rotation.wrap_previous_data_keys().await.unwrap();
        }
        if steps >= 5 {
            // The kill comes before the file is written.
            assert!(
                machine
                    .data_keys()
                    .keep_one_master(&rotation.newest.id, machine.tables.rotation_notes())
                    .await
                    .unwrap()
            );
        }
        drop(rotation);
        machine.assert_all_unseal(&running).await;
        machine.assert_all_unseal(&machine.vault().await).await;

        let outcome = machine.rotate_all().await;
        assert_eq!((outcome.resumed, outcome.finished), (steps >= 1, true), "after {steps} steps");
        assert_eq!(machine.lines(), 1);
        machine.assert_all_unseal(&running).await;
        machine.assert_all_unseal(&machine.vault().await).await;
    }
}

async fn secrets_that_gateways_store_during_rotations_are_never_lost(site: Site) {
    let machine = Arc::new(Machine::on(&site).await);
    let vault = machine.vault().await;
    machine.fill(&vault).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (machine, vault, is_over) = (Arc::clone(&machine), vault.clone(), Arc::clone(&is_over));
        async move {
            let mut written = 0;
            while !is_over.load(Ordering::Relaxed) {
                machine.put(&vault, written % SECRETS).await;
                written += 1;
            }
            written
        }
    });
    for _ in 0..3 {
        assert_eq!(machine.rotate_all().await.unreadable, 0);
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(writing.await.unwrap() > 0);
    machine.assert_all_unseal(&vault).await;
    machine.assert_all_unseal(&machine.vault().await).await;
}

async fn gateways_on_other_machines_serve_through_a_rotation_until_it_is_finished(site: Site) {
    let first = Machine::on(&site).await;
    let running = first.vault().await;
    first.fill(&running).await;
    let other = Machine::on(&site).await;
    other.copy_file_from(&first);

    assert!(!first.rotate(RotationEnd::KeepPrevious).await.unwrap().finished);
    // One gateway runs already, the other one starts with the previous file.
    other.assert_all_unseal(&other.vault().await).await;
    assert!(matches!(other.rotation().await.is_under_way().await, Err(VaultError::BegunElsewhere { .. })));
    other.copy_file_from(&first);
    let outcome = first.rotate(RotationEnd::ForgetPreviousOfUnfinished).await.unwrap();
    assert_eq!((outcome.resumed, outcome.resealed, outcome.finished), (true, 0, true));
    other.assert_all_unseal(&other.vault().await).await;
}

async fn a_secret_that_cannot_be_unsealed_is_left_unchanged_and_counted(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    machine.put(&vault, 1).await;
    let misplaced = vault.seal(&["another row"], b"secret").await.unwrap();
    let swapped = Row { id: "row 2".to_owned(), sealed: misplaced };
    machine.tables.put(swapped.clone()).await;
    let outcome = machine.rotate_all().await;
    assert_eq!((outcome.resealed, outcome.unreadable, outcome.finished), (1, 1, true));
    assert_eq!(machine.tables.rows().await.pop(), Some(swapped));
    // The data key of the secret is kept.
    assert_eq!(machine.data_keys().drop_retired(Duration::ZERO).await.unwrap(), 0);
}

async fn a_retired_data_key_is_deleted_once_no_secret_needs_it_and_some_time_has_passed(site: Site) {
    let machine = Machine::on(&site).await;
    let (vault, data_keys) = (machine.vault().await, machine.data_keys());
    machine.put(&vault, 1).await;
    data_keys.replace("dk_2", Vec::new(), machine.tables.rotation_notes()).await.unwrap();
    assert_eq!(data_keys.drop_retired(Duration::ZERO).await.unwrap(), 0, "a secret needs it");
    machine.tables.clear(&["secrets"]).await;
    assert_eq!(data_keys.drop_retired(Duration::from_secs(60)).await.unwrap(), 0, "it was retired just now");
    assert_eq!(data_keys.drop_retired(Duration::ZERO).await.unwrap(), 1);
}

async fn a_second_rotation_at_the_same_time_is_refused(site: Site) {
    let machine = Machine::on(&site).await;
    let _lock = machine.tables.database().try_process_lock("rotation").await.unwrap().unwrap();
    let result = rotate(&machine.key_file(), &machine.tables, RotationEnd::ForgetPrevious, &mut |_| {}).await;
    assert!(matches!(result, Err(VaultError::Busy)));
}

async fn no_rotation_begins_if_one_under_way_was_to_be_finished(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    machine.fill(&vault).await;
    let before = (fs::read(machine.key_file()).unwrap(), machine.data_keys().list().await.unwrap());
    assert_eq!(machine.rotate(RotationEnd::ForgetPreviousOfUnfinished).await, None);
    assert_eq!((fs::read(machine.key_file()).unwrap(), machine.data_keys().list().await.unwrap()), before);
}
