//! Rotating the keys while gateways run.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

on_every_database!(
    a_rotation_exchanges_all_keys_and_seals_every_secret_again,
    a_rotation_that_was_killed_after_any_step_loses_no_secret_and_the_next_one_finishes_it,
    secrets_that_gateways_store_during_rotations_are_never_lost,
    gateways_on_other_machines_serve_through_a_rotation_until_it_is_finished,
    a_secret_that_cannot_be_unsealed_is_left_unchanged_and_counted,
    a_second_rotation_at_the_same_time_is_refused,
    no_rotation_begins_if_one_under_way_was_to_be_finished,
);

async fn a_rotation_exchanges_all_keys_and_seals_every_secret_again(site: Site) {
    let machine = Machine::on(&site).await;
    let running = machine.vault().await;
    machine.fill(&running).await;
    let old_file = fs::read(machine.key_file()).unwrap();
    let old_key = machine.store.data_keys().await.unwrap().remove(0).id;

    let outcome = machine.rotate_all().await;
    let secrets = SECRETS as u64 + 4;
    assert_eq!(outcome, RotationReport { resumed: false, resealed: secrets, unreadable: 0, finished: true });
    assert_eq!(machine.lines(), 1);
    let keys = machine.store.data_keys().await.unwrap();
    assert_ne!(keys[0].id, old_key);
    assert!(keys.iter().all(|key| key.wraps.len() == 1));
    assert_eq!(machine.store.count_secrets_under_other_keys(&keys[0].id).await.unwrap(), 0);
    // One gateway runs already, the other one starts now.
    machine.assert_all_unseal(&running).await;
    machine.assert_all_unseal(&machine.vault().await).await;
    // The previous data key can be deleted, because no secret is sealed under it.
    assert_eq!(machine.store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 1);

    fs::write(machine.key_file(), old_file).unwrap();
    assert!(machine.refusal().await.contains("is the wrong one"));
}

async fn a_rotation_that_was_killed_after_any_step_loses_no_secret_and_the_next_one_finishes_it(site: Site) {
    for steps in 0..=5 {
        for table in [
            "DELETE FROM integrations",
            "DELETE FROM authorizations",
            "DELETE FROM webhook_secrets",
            "DELETE FROM webhook_deliveries",
            "DELETE FROM webhook_payloads",
            "DELETE FROM data_keys",
        ] {
            site.execute(table).await;
        }
        let machine = Machine::on(&site).await;
        let running = machine.vault().await;
        machine.fill(&running).await;
        let mut rotation = Rotation::new(machine.vault().await, Duration::ZERO).unwrap();
        if steps >= 1 {
            rotation.add_master().unwrap();
        }
        if steps >= 2 {
            rotation.replace_data_key().await.unwrap();
        }
        if steps >= 3 {
            // Only a part of the secrets.
            let keys = rotation.vault.keys(|_| false).await.unwrap();
            let batch = machine.store.secrets_under_other_keys(&keys.current().unwrap().0, None, 100).await.unwrap();
            for row in batch {
                let secret = running.unseal(&row.context(), &row.sealed).await.unwrap();
                let sealed = keys.seal(&row.context(), secret.expose_secret()).unwrap();
                assert_eq!(machine.store.replace_secrets(vec![(row, sealed)]).await.unwrap(), 1);
            }
        }
        if steps >= 4 {
            rotation.reseal(&mut |_| {}).await.unwrap();
            rotation.wrap_previous_data_keys().await.unwrap();
        }
        if steps >= 5 {
            // The kill comes before the file is written.
            assert!(machine.store.keep_one_master(&rotation.newest.id).await.unwrap());
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
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    machine.fill(&vault).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (store, vault, is_over) = (machine.store.clone(), vault.clone(), Arc::clone(&is_over));
        async move {
            let mut written = 0;
            while !is_over.load(Ordering::Relaxed) {
                connect(&store, &vault, written % SECRETS).await;
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
    assert!(matches!(
        Rotation::new(other.vault().await, Duration::ZERO).unwrap().is_under_way().await,
        Err(VaultError::BegunElsewhere { .. })
    ));
    other.copy_file_from(&first);
    let outcome = first.rotate(RotationEnd::ForgetPreviousOfUnfinished).await.unwrap();
    assert_eq!((outcome.resumed, outcome.resealed, outcome.finished), (true, 0, true));
    other.assert_all_unseal(&other.vault().await).await;
}

async fn a_secret_that_cannot_be_unsealed_is_left_unchanged_and_counted(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    connect(&machine.store, &vault, 1).await;
    let misplaced = vault.seal(&["another row"], b"secret").await.unwrap();
    let holder = holder();
    let swapped = machine.store.connect_integration(
        &holder,
        "user 2",
        AuthType::OAuth2,
        with_secret(misplaced),
        Vec::new(),
        None,
    );
    let swapped = swapped.await.unwrap();
    let outcome = machine.rotate_all().await;
    assert_eq!((outcome.resealed, outcome.unreadable, outcome.finished), (1, 1, true));
    assert_eq!(machine.store.integration_by_id(&swapped.id).await.unwrap(), Some(swapped));
    // The data key of the secret is kept.
    assert_eq!(machine.store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 0);
}

async fn a_second_rotation_at_the_same_time_is_refused(site: Site) {
    let machine = Machine::on(&site).await;
    let _lock = machine.store.database.try_process_lock("rotation").await.unwrap().unwrap();
    let result = rotate(&machine.key_file(), &machine.store, RotationEnd::ForgetPrevious, &mut |_| {}).await;
    assert!(matches!(result, Err(VaultError::Busy)));
}

async fn no_rotation_begins_if_one_under_way_was_to_be_finished(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    machine.fill(&vault).await;
    let before = (fs::read(machine.key_file()).unwrap(), machine.store.data_keys().await.unwrap());
    assert_eq!(machine.rotate(RotationEnd::ForgetPreviousOfUnfinished).await, None);
    assert_eq!((fs::read(machine.key_file()).unwrap(), machine.store.data_keys().await.unwrap()), before);
}
