//! Turns errors of SQLite into [`StoreError`].

use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY;

use crate::StoreError;

pub(crate) fn of_sqlite(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let reason = || error.to_string();
    if error.sqlite_extended_error_code() == Some(SQLITE_CONSTRAINT_FOREIGNKEY) {
        return StoreError::DataKeyInUse;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { reason: reason(), path },
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::NotWritable { reason: reason(), path }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        _ => StoreError::Database(error),
    }
}
