//! Opening the vault, alone and with other gateways.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::types::Wrap;

on_every_database!(
    of_many_first_data_keys_one_is_stored,
    the_first_start_creates_a_master_key_that_only_its_owner_can_read,
    a_secret_is_unsealed_after_a_restart_but_only_in_its_own_row,
    a_secret_comes_back_as_text_json_or_content,
    a_start_with_a_wrong_or_missing_master_key_is_refused_and_changes_nothing,
    an_empty_database_is_refused_if_another_one_depended_on_the_master_key,
    a_vault_that_was_opened_before_its_database_has_the_same_keys,
    a_master_key_that_is_not_a_file_is_reported_and_blocks_no_start,
    a_damaged_master_key_is_reported_without_showing_it,
    a_master_key_that_others_can_read_is_made_private,
    gateways_that_start_at_once_share_one_master_key_and_one_data_key,
    of_gateways_with_separate_files_one_stores_the_data_key_and_the_others_are_refused,
    unknown_data_keys_that_are_asked_for_at_once_share_reads,
);

async fn of_many_first_data_keys_one_is_stored(site: Site) {
    let machines = [Machine::on(&site).await, Machine::on(&site).await];
    let wraps = vec![Wrap { master_id: "mk_1".into(), bytes: vec![1, 2, 3] }];
    let storing: Vec<_> = (0..8)
        .map(|number| {
            let (keys, wraps) = (machines[number % 2].data_keys(), wraps.clone());
            tokio::spawn(async move { keys.create_first(&format!("dk_{number}"), wraps).await })
        })
        .collect();
    let mut stored = 0;
    for answer in storing {
        stored += usize::from(answer.await.unwrap().unwrap());
    }
    let keys = machines[0].data_keys().list().await.unwrap();
    assert_eq!((stored, keys.len()), (1, 1));
    assert_eq!(keys[0].wraps, wraps);
}

async fn the_first_start_creates_a_master_key_that_only_its_owner_can_read(site: Site) {
    let machine = Machine::on(&site).await;
    machine.vault().await;
    assert_eq!(fs::metadata(machine.key_file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(machine.lines(), 1);
    let before = fs::read(machine.key_file()).unwrap();
    machine.vault().await;
    assert_eq!(fs::read(machine.key_file()).unwrap(), before);
    assert_eq!(machine.data_keys().list().await.unwrap().len(), 1);
}

async fn a_secret_is_unsealed_after_a_restart_but_only_in_its_own_row(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    let first = machine.put(&vault, 1).await;
    let second = machine.put(&vault, 2).await;
    let vault = machine.vault().await;
    assert_eq!(read(&vault, &first).await.unwrap().expose_secret(), b"row 1");
    let swapped = Row { sealed: second.sealed, ..first };
    assert!(matches!(read(&vault, &swapped).await, Err(VaultError::Altered)));
}

async fn a_secret_comes_back_as_text_json_or_content(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    let sealed = vault.seal(&["row"], &SecretString::from("[1]")).await.unwrap();
    assert_eq!(vault.unseal_text(&["row"], &sealed).await.unwrap().unwrap().expose_secret(), "[1]");
    assert_eq!(vault.unseal_json::<Vec<u8>>(&["row"], &sealed).await.unwrap().unwrap(), [1]);
    assert_eq!(vault.unseal_content(&["row"], &sealed).await.unwrap(), b"[1]");
    let sealed = vault.seal(&["row"], b"\xff").await.unwrap();
    assert!(vault.unseal_text(&["row"], &sealed).await.unwrap().is_err());
    assert!(vault.unseal_json::<Vec<u8>>(&["row"], &sealed).await.unwrap().is_err());
    assert!(matches!(vault.unseal_content(&["another row"], &sealed).await, Err(VaultError::Altered)));
}

async fn a_start_with_a_wrong_or_missing_master_key_is_refused_and_changes_nothing(site: Site) {
    let machine = Machine::on(&site).await;
    machine.vault().await;
    let data_keys = machine.data_keys().list().await.unwrap();
    let right = fs::read(machine.key_file()).unwrap();

    let other = Machine::alone().await;
    other.vault().await;
    machine.copy_file_from(&other);
    let wrong = fs::read(machine.key_file()).unwrap();
    let message = machine.refusal().await;
    assert!(message.starts_with("the master key in master.key is the wrong one: it is mk_"), "{message}");
    assert!(message.contains(&format!("but the stored secrets need {}", data_keys[0].wraps[0].master_id)), "{message}");
    assert_eq!(fs::read(machine.key_file()).unwrap(), wrong);

    fs::remove_file(machine.key_file()).unwrap();
    assert_eq!(
        machine.refusal().await,
        "the master key master.key is missing, and stored secrets can be read only with it; \
         put a copy of it there, or set `master_key_file`"
    );
    assert!(!machine.key_file().exists());

    assert_eq!(machine.data_keys().list().await.unwrap(), data_keys);
    fs::write(machine.key_file(), right).unwrap();
    machine.vault().await;
}

async fn an_empty_database_is_refused_if_another_one_depended_on_the_master_key(site: Site) {
    let (machine, lost) = (Machine::on(&site).await, Machine::alone().await);
    lost.vault().await;
    machine.copy_file_from(&lost);
    machine.vault().await;
    let empty = Machine::alone().await;
    let open = async || Vault::open(&machine.key_file(), &empty.tables).await.map(drop);
    let message = open().await.unwrap_err().to_string();
    assert!(message.starts_with("the database is empty, but another one depended on the master key "), "{message}");
    assert!(empty.data_keys().list().await.unwrap().is_empty());
    Vault::open_new(&machine.key_file(), &empty.tables).await.unwrap();
    open().await.unwrap();
    machine.vault().await;
}

async fn a_vault_that_was_opened_before_its_database_has_the_same_keys(site: Site) {
    let machine = Machine::on(&site).await;
    let missing = Vault::open_later(&machine.key_file(), &machine.tables);
    assert!(matches!(missing, Err(VaultError::Missing { .. })));
    let vault = machine.vault().await;
    let row = machine.put(&vault, 1).await;
    let later = || Vault::open_later(&machine.key_file(), &machine.tables).unwrap();
    assert_eq!(
        later().derive("a purpose").unwrap().expose_secret(),
        vault.derive("a purpose").unwrap().expose_secret()
    );
    assert_eq!(read(&later(), &row).await.unwrap().expose_secret(), b"row 1");
    let unread = later().seal_with_known_key(&["row"], b"secret").unwrap_err();
    assert!(matches!(unread, VaultError::Store(StoreError::NotReached)));
    let vault = later();
    let sealed = vault.seal(&["row"], b"secret").await.unwrap();
    assert_eq!(vault.unseal(&["row"], &sealed).await.unwrap().expose_secret(), b"secret");
    // The machine has another database than the one that depended on its key.
    let other = Machine::alone().await;
    other.copy_file_from(&machine);
    fs::write(other.folder.path().join("master.key.used"), "").unwrap();
    let lost = Vault::open_later(&other.key_file(), &other.tables).unwrap();
    assert!(matches!(lost.reach().await, Err(VaultError::NoDatabase { .. })));
}

async fn a_master_key_that_is_not_a_file_is_reported_and_blocks_no_start(site: Site) {
    let machine = Machine::on(&site).await;
    // An ordinary open would wait until someone writes to it.
    assert!(std::process::Command::new("mkfifo").arg(machine.key_file()).status().unwrap().success());
    assert!(matches!(machine.open().await, Err(VaultError::Unreadable { .. })));
    fs::remove_file(machine.key_file()).unwrap();
    // Secrets of containers are links.
    machine.vault().await;
    fs::rename(machine.key_file(), machine.folder.path().join("mounted")).unwrap();
    std::os::unix::fs::symlink("mounted", machine.key_file()).unwrap();
    machine.vault().await;
}

async fn a_damaged_master_key_is_reported_without_showing_it(site: Site) {
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
    assert!(machine.data_keys().list().await.unwrap().is_empty());
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
            let (file, store) = (machine.key_file(), machine.tables.clone());
            tokio::spawn(async move { Vault::open(&file, &store).await })
        })
        .collect();
    let mut vaults = Vec::new();
    for vault in opened {
        vaults.push(vault.await.unwrap().unwrap());
    }
    assert_eq!((machine.lines(), machine.data_keys().list().await.unwrap().len()), (1, 1));
    let sealed = vaults[0].seal(&["here"], b"secret").await.unwrap();
    for vault in vaults {
        assert_eq!(vault.unseal(&["here"], &sealed).await.unwrap().expose_secret(), b"secret");
    }
}

async fn of_gateways_with_separate_files_one_stores_the_data_key_and_the_others_are_refused(site: Site) {
    let first = Machine::on(&site).await;
    let second = Machine::on(&site).await;
    // Both create a file, and the first one stores its data key first.
    MasterFile::new(second.key_file()).read_or_create(true).unwrap();
    first.vault().await;
    assert!(second.refusal().await.contains("is the wrong one"));
    second.copy_file_from(&first);
    second.vault().await;
}

/// Otherwise, those who send made-up values would keep others from sealing secrets.
async fn unknown_data_keys_that_are_asked_for_at_once_share_reads(site: Site) {
    let machine = Machine::on(&site).await;
    let vault = machine.vault().await;
    let ask = |number: usize| {
        let (vault, sealed) = (vault.clone(), Sealed { key_id: format!("none_{number}"), bytes: vec![0; 64] });
        tokio::spawn(async move {
            assert!(matches!(vault.unseal(&["a"], &sealed).await, Err(VaultError::UnknownKey { .. })));
            // Each read makes another list.
            vault.inner.keys.load_full()
        })
    };
    let asking: Vec<_> = (0..50).map(ask).collect();
    let mut lists = Vec::new();
    for asked in asking {
        let list = asked.await.unwrap();
        if !lists.iter().any(|known| Arc::ptr_eq(known, &list)) {
            lists.push(list);
        }
    }
    assert!(lists.len() < 10, "{} reads", lists.len());
}

#[tokio::test]
async fn a_derived_key_belongs_to_one_purpose_and_one_master_key() {
    let (machine, other) = (Machine::alone().await, Machine::alone().await);
    let derived = |vault: Vault, purpose: &str| *vault.derive(purpose).unwrap().expose_secret();
    let key = derived(machine.vault().await, "one");
    assert_eq!(derived(machine.vault().await, "one"), key);
    assert_ne!(derived(machine.vault().await, "two"), key);
    assert_ne!(derived(other.vault().await, "one"), key);
}
