use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use rustix::fs::{FileType, mknodat};

use super::*;

type Opening = fn(&Path, &Path) -> io::Result<File>;

/// Both ways of opening a file must refuse and accept the same.
const WAYS: [Opening; 2] = [
    |_, path| open(path),
    |folder, path| {
        let file = open_resolved(folder, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC)?;
        regular(&file.metadata()?)?;
        Ok(file)
    },
];

fn refusal(folder: &Path, path: &Path) -> Vec<String> {
    let refusals = WAYS.iter().map(|way| {
        let error = way(folder, path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        error.to_string()
    });
    let mut refusals: Vec<String> = refusals.collect();
    refusals.push(metadata(path).unwrap_err().to_string());
    refusals
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let _listener = UnixListener::bind(at("socket")).unwrap();
    symlink("pipe", at("link")).unwrap();
    for name in ["pipe", "folder", "socket", "link"] {
        for reason in refusal(folder.path(), &at(name)) {
            assert!(reason.contains("not a regular file"), "{name}: {reason}");
        }
    }
}

#[test]
fn a_link_is_followed_only_inside_of_its_folder() {
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(outside.path().join("secret"), "outside").unwrap();
    symlink(outside.path().join("secret"), at("away")).unwrap();
    symlink(outside.path(), at("far")).unwrap();
    symlink("far/secret", at("through")).unwrap();
    symlink("../../../../../../etc/passwd", at("up")).unwrap();
    symlink("/dev/null", at("device")).unwrap();
    for name in ["away", "through", "up", "device"] {
        for reason in refusal(folder.path(), &at(name)) {
            assert!(reason.contains("leads out of its folder"), "{name}: {reason}");
        }
    }
    symlink("circle", at("circle")).unwrap();
    for reason in refusal(folder.path(), &at("circle")) {
        assert!(reason.contains("circle;"), "{reason}");
    }

    // A volume of Kubernetes: the data are exchanged by one link.
    fs::create_dir(at("..2030")).unwrap();
    fs::write(at("..2030/words"), "inside").unwrap();
    symlink("..2030", at("..data")).unwrap();
    symlink("..data/words", at("words")).unwrap();
    let whole: PathBuf = outside.path().join("whole");
    symlink(folder.path(), &whole).unwrap();
    for folder in [folder.path(), whole.as_path()] {
        let path = folder.join("words");
        for way in WAYS {
            assert_eq!(io::read_to_string(way(folder, &path).unwrap()).unwrap(), "inside");
        }
        assert_eq!(metadata(&path).unwrap().len(), 6);
    }
}

#[tokio::test]
async fn a_read_has_a_limit_and_a_missing_file_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    assert_eq!(read(&path, 4).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    fs::write(&path, "content").unwrap();
    assert_eq!(read(&path, 4).await.unwrap(), b"cont");
    assert_eq!(read_now(&path, 100).unwrap(), b"content");
}
