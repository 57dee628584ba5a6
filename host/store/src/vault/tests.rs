//! Opening the vault, sharing it, and exchanging its keys.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::rotation::Rotation;
use super::*;
use crate::testing::{Site, on_every_database};
use crate::{Account, AuthType, Authorization, Details, Holder, Integration, Status};

/// More than two batches.
const SECRETS: usize = 230;

on_every_database!(
    the_first_start_makes_a_master_key_that_only_its_owner_can_read,
    a_secret_opens_after_a_restart_and_only_in_its_own_row,
    a_start_with_a_wrong_or_missing_master_key_says_so_and_touches_nothing,
    a_damaged_master_key_is_told_without_showing_it,
    a_master_key_that_others_can_read_is_made_private,
    gateways_that_start_at_once_share_one_master_key_and_one_data_key,
    of_gateways_with_files_of_their_own_one_makes_the_data_key_and_the_others_say_what_to_copy,
    a_rotation_exchanges_all_keys_and_seals_every_secret_anew,
    a_rotation_that_is_interrupted_after_any_step_leaves_every_secret_readable_and_is_finished_by_the_next,
    what_gateways_seal_and_write_during_rotations_is_never_lost,
    gateways_on_other_machines_serve_through_a_rotation_until_it_is_finished,
    a_secret_that_does_not_open_is_left_as_it_is_and_told,
    a_second_rotation_at_the_same_time_is_refused,
);

/// A machine with a gateway's data.
struct Machine {
    folder: TempDir,
    store: Store,
}

impl Machine {
    /// A machine on the site's database.
    async fn on(site: &Site) -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder, store: site.open_again().await }
    }

    /// A machine with a database of its own.
    async fn alone() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        Self { folder, store }
    }

    fn key_file(&self) -> PathBuf {
        self.folder.path().join("master.key")
    }

    fn lines(&self) -> usize {
        fs::read_to_string(self.key_file()).unwrap().lines().count()
    }

    fn copy_file_from(&self, other: &Self) {
        fs::copy(other.key_file(), self.key_file()).unwrap();
    }

    async fn open(&self) -> Result<Vault, VaultError> {
        Vault::open(&self.key_file(), &self.store).await
    }

    async fn vault(&self) -> Vault {
        self.open().await.unwrap()
    }

    async fn refusal(&self) -> String {
        let message = self.open().await.unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        message.replace(&format!("{}/", self.folder.path().display()), "")
    }

    async fn rotate(&self, finish: bool) -> Outcome {
        let vault = self.vault().await;
        let mut rotation = Rotation::new(vault, Duration::ZERO).unwrap();
        let is_new = rotation.add_master().await.unwrap();
        rotation.replace_data_key().await.unwrap();
        let (resealed, unreadable) = rotation.reseal(&mut |_| {}).await.unwrap();
        rotation.wrap_former_data_keys().await.unwrap();
        let finished = finish && rotation.forget_former_master().await.unwrap();
        Outcome { resumed: !is_new, resealed, unreadable, finished }
    }

    async fn fill(&self, vault: &Vault) {
        for number in 0..SECRETS {
            connect(&self.store, vault, number).await;
        }
        let holder = holder();
        let verifier = vault.seal(&holder.verifier_context(None), b"verifier").await.unwrap();
        let authorization = Authorization {
            hash: [7; 32],
            holder,
            user_identifier: None,
            callback_url: "https://app.example.com".into(),
            redirect_uri: "https://gateway.example.com".into(),
            verifier: Some(verifier),
            expires_at: std::time::SystemTime::now() + Duration::from_secs(600),
        };
        self.store.save_authorization(authorization).await.unwrap();
    }

    /// Every secret opens, and is the one that was stored there.
    async fn assert_all_open(&self, vault: &Vault) {
        let integrations = self.store.integrations_of(&holder()).await.unwrap();
        assert_eq!(integrations.len(), SECRETS);
        for integration in integrations {
            let secret = open_secret(vault, &integration).await.unwrap();
            assert_eq!(secret.expose_secret(), integration.user_identifier.as_bytes());
        }
    }
}

fn holder() -> Holder {
    Holder { tenant: "acme".into(), subject: "ann".into(), connector: "calendar".into() }
}

fn details(secret: Sealed) -> Details {
    Details {
        status: Status::Active,
        reason: None,
        account: Account::default(),
        scopes: vec![],
        expires_at: None,
        last_refreshed_at: None,
        next_refresh_at: None,
        secret: Some(secret),
    }
}

async fn connect(store: &Store, vault: &Vault, number: usize) -> Integration {
    let (holder, user) = (holder(), format!("user {number}"));
    let secret = vault.seal(&holder.secret_context(&user), user.as_bytes()).await.unwrap();
    store.connect_integration(&holder, &user, AuthType::OAuth2, details(secret)).await.unwrap()
}

async fn open_secret(vault: &Vault, integration: &Integration) -> Result<SecretSlice<u8>, VaultError> {
    let sealed = integration.details.secret.as_ref().unwrap();
    vault.unseal(&integration.holder.secret_context(&integration.user_identifier), sealed).await
}

async fn the_first_start_makes_a_master_key_that_only_its_owner_can_read(site: Site) {
    let machine = Machine::on(&site).await;
    machine.vault().await;
    assert_eq!(fs::metadata(machine.key_file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(machine.lines(), 1);
    let before = fs::read(machine.key_file()).unwrap();
    machine.vault().await;
    assert_eq!(fs::read(machine.key_file()).unwrap(), before);
    assert_eq!(machine.store.data_keys().await.unwrap().len(), 1);
}

async fn a_secret_opens_after_a_restart_and_only_in_its_own_row(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    let first = connect(&machine.store, &vault, 1).await;
    let second = connect(&machine.store, &vault, 2).await;
    let vault = machine.vault().await;
    assert_eq!(open_secret(&vault, &first).await.unwrap().expose_secret(), b"user 1");
    let swapped = Integration { details: second.details, ..first };
    assert!(matches!(open_secret(&vault, &swapped).await, Err(VaultError::Altered)));
}

async fn a_start_with_a_wrong_or_missing_master_key_says_so_and_touches_nothing(site: Site) {
    let machine = Machine::on(&site).await;
    machine.vault().await;
    let data_keys = machine.store.data_keys().await.unwrap();
    let right = fs::read(machine.key_file()).unwrap();

    let other = Machine::alone().await;
    other.vault().await;
    machine.copy_file_from(&other);
    let wrong = fs::read(machine.key_file()).unwrap();
    let message = machine.refusal().await;
    assert!(message.starts_with("the master key in master.key is the wrong one: it is mk_"), "{message}");
    assert!(message.contains(&format!("and the stored secrets need {}", data_keys[0].wraps[0].master_id)), "{message}");
    assert_eq!(fs::read(machine.key_file()).unwrap(), wrong);

    fs::remove_file(machine.key_file()).unwrap();
    assert_eq!(
        machine.refusal().await,
        "the master key master.key is missing, and secrets are stored that nothing else opens; \
         put a copy of it there, or set `master_key_file`"
    );
    assert!(!machine.key_file().exists());

    assert_eq!(machine.store.data_keys().await.unwrap(), data_keys);
    fs::write(machine.key_file(), right).unwrap();
    machine.vault().await;
}

async fn a_damaged_master_key_is_told_without_showing_it(site: Site) {
    let machine = Machine::on(&site).await;
    for (content, expected) in [
        ("", "the master key master.key is empty; put a copy of it there"),
        (
            "c2hvcnQ=\n",
            "the master key master.key is damaged: line 1 is not 32 bytes in base64; put a copy of it there",
        ),
        (
            "\u{1F511}\n",
            "the master key master.key is damaged: line 1 is not 32 bytes in base64; put a copy of it there",
        ),
    ] {
        fs::write(machine.key_file(), content).unwrap();
        assert_eq!(machine.refusal().await, expected);
    }
    assert!(machine.store.data_keys().await.unwrap().is_empty());
}

async fn a_master_key_that_others_can_read_is_made_private(site: Site) {
    let machine = Machine::on(&site).await;
    machine.vault().await;
    fs::set_permissions(machine.key_file(), fs::Permissions::from_mode(0o644)).unwrap();
    machine.vault().await;
    assert_eq!(fs::metadata(machine.key_file()).unwrap().permissions().mode() & 0o777, 0o600);
}

async fn gateways_that_start_at_once_share_one_master_key_and_one_data_key(site: Site) {
    let machine = Machine::on(&site).await;
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let (file, store) = (machine.key_file(), machine.store.clone());
            tokio::spawn(async move { Vault::open(&file, &store).await })
        })
        .collect();
    let mut vaults = Vec::new();
    for vault in opened {
        vaults.push(vault.await.unwrap().unwrap());
    }
    assert_eq!((machine.lines(), machine.store.data_keys().await.unwrap().len()), (1, 1));
    let sealed = vaults[0].seal(&["here"], b"secret").await.unwrap();
    for vault in vaults {
        assert_eq!(vault.unseal(&["here"], &sealed).await.unwrap().expose_secret(), b"secret");
    }
}

async fn of_gateways_with_files_of_their_own_one_makes_the_data_key_and_the_others_say_what_to_copy(site: Site) {
    let first = Machine::on(&site).await;
    let second = Machine::on(&site).await;
    // Both have made a file, and one was faster with the data key.
    MasterFile::new(second.key_file()).read_or_create(true).unwrap();
    first.vault().await;
    assert!(second.refusal().await.contains("is the wrong one"));
    second.copy_file_from(&first);
    second.vault().await;
}

async fn a_rotation_exchanges_all_keys_and_seals_every_secret_anew(site: Site) {
    let machine = Machine::on(&site).await;
    let running = machine.vault().await;
    machine.fill(&running).await;
    let old_file = fs::read(machine.key_file()).unwrap();
    let old_key = machine.store.data_keys().await.unwrap().remove(0).id;

    let outcome = machine.rotate(true).await;
    let secrets = SECRETS as u64 + 1;
    assert_eq!(outcome, Outcome { resumed: false, resealed: secrets, unreadable: 0, finished: true });
    assert_eq!(machine.lines(), 1);
    let keys = machine.store.data_keys().await.unwrap();
    assert_ne!(keys[0].id, old_key);
    assert!(keys.iter().all(|key| key.wraps.len() == 1));
    assert_eq!(machine.store.count_sealed_otherwise(&keys[0].id).await.unwrap(), 0);
    // The gateway that runs, and one that starts.
    machine.assert_all_open(&running).await;
    machine.assert_all_open(&machine.vault().await).await;
    // The former key is dropped once nothing can come under it any more.
    assert_eq!(machine.store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 1);

    fs::write(machine.key_file(), old_file).unwrap();
    assert!(machine.refusal().await.contains("is the wrong one"));
}

async fn a_rotation_that_is_interrupted_after_any_step_leaves_every_secret_readable_and_is_finished_by_the_next(
    site: Site,
) {
    for steps in 0..=5 {
        for table in ["DELETE FROM integrations", "DELETE FROM authorizations", "DELETE FROM data_keys"] {
            site.execute(table).await;
        }
        let machine = Machine::on(&site).await;
        let running = machine.vault().await;
        machine.fill(&running).await;
        let mut rotation = Rotation::new(machine.vault().await, Duration::ZERO).unwrap();
        if steps >= 1 {
            rotation.add_master().await.unwrap();
        }
        if steps >= 2 {
            rotation.replace_data_key().await.unwrap();
        }
        if steps >= 3 {
            // Half of the secrets.
            let keys = rotation.vault.keys(|_| false).await.unwrap();
            let batch = machine.store.sealed_otherwise(&keys.current.0, None, 100).await.unwrap();
            for row in batch {
                let context = row.holder.secret_context(row.user_identifier.as_deref().unwrap());
                let secret = running.unseal(&context, &row.sealed).await.unwrap();
                let sealed = keys.seal(&context, secret.expose_secret()).unwrap();
                assert_eq!(machine.store.write_resealed(vec![(row, sealed)]).await.unwrap(), 1);
            }
        }
        if steps >= 4 {
            rotation.reseal(&mut |_| {}).await.unwrap();
            rotation.wrap_former_data_keys().await.unwrap();
        }
        if steps >= 5 {
            // Killed before the file is written.
            assert!(machine.store.keep_one_master(&rotation.newest.id).await.unwrap());
        }
        drop(rotation);
        machine.assert_all_open(&running).await;
        machine.assert_all_open(&machine.vault().await).await;

        let outcome = machine.rotate(true).await;
        assert_eq!((outcome.resumed, outcome.finished), (steps >= 1, true), "after {steps} steps");
        assert_eq!(machine.lines(), 1);
        machine.assert_all_open(&running).await;
        machine.assert_all_open(&machine.vault().await).await;
    }
}

async fn what_gateways_seal_and_write_during_rotations_is_never_lost(site: Site) {
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
        assert_eq!(machine.rotate(true).await.unreadable, 0);
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(writing.await.unwrap() > 0);
    machine.assert_all_open(&vault).await;
    machine.assert_all_open(&machine.vault().await).await;
}

async fn gateways_on_other_machines_serve_through_a_rotation_until_it_is_finished(site: Site) {
    let first = Machine::on(&site).await;
    let running = first.vault().await;
    first.fill(&running).await;
    let other = Machine::on(&site).await;
    other.copy_file_from(&first);

    assert!(!first.rotate(false).await.finished);
    // With the former file: one that runs, and one that starts.
    other.assert_all_open(&other.vault().await).await;
    assert!(matches!(
        Rotation::new(other.vault().await, Duration::ZERO).unwrap().add_master().await,
        Err(VaultError::Elsewhere { .. })
    ));
    other.copy_file_from(&first);
    let outcome = first.rotate(true).await;
    assert_eq!((outcome.resumed, outcome.resealed, outcome.finished), (true, 0, true));
    other.assert_all_open(&other.vault().await).await;
}

async fn a_secret_that_does_not_open_is_left_as_it_is_and_told(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    connect(&machine.store, &vault, 1).await;
    let elsewhere = vault.seal(&["another place"], b"secret").await.unwrap();
    let holder = holder();
    let swapped = machine.store.connect_integration(&holder, "user 2", AuthType::OAuth2, details(elsewhere));
    let swapped = swapped.await.unwrap();
    let outcome = machine.rotate(true).await;
    assert_eq!((outcome.resealed, outcome.unreadable, outcome.finished), (1, 1, true));
    assert_eq!(machine.store.integration_by_id(&swapped.id).await.unwrap(), Some(swapped));
    // Its key is kept with it.
    assert_eq!(machine.store.drop_retired_data_keys(Duration::ZERO).await.unwrap(), 0);
}

async fn a_second_rotation_at_the_same_time_is_refused(site: Site) {
    let machine = Machine::on(&site).await;
    let _claim = machine.store.try_claim("rotation").await.unwrap().unwrap();
    let result = rotate(&machine.key_file(), &machine.store, true, &mut |_| {}).await;
    assert!(matches!(result, Err(VaultError::Busy)));
}
