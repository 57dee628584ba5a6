#!/bin/sh
# Runs a command with a private PostgreSQL server, and ends the server afterwards.
#
#   tests/postgres.sh COMMAND [ARGUMENT]...
#
# The server has its own folder under target/, its own password, and a port of loopback. The command gets its URL in
# TEST_POSTGRES_URL, its data directory in TEST_POSTGRES_DATA, and its programs in PATH. With `pg_ctl` the command may stop the
# server and start it again, under the same URL. The server comes from Debian's package, which is installed if this user
# may install packages. Without a server the command runs too: tests that need a server fail by name, and all others run.
# If POSTGRES_OF_OPERATORS is set, the server vacuums and compiles queries as one of operators does.
set -eu

[ $# -gt 0 ] || { echo "usage: tests/postgres.sh COMMAND [ARGUMENT]..." >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
programs=/usr/lib/postgresql

# Finds the programs of the newest server.
find_server() {
    # Names of versions contain no blanks.
    # shellcheck disable=SC2012
    bin=$(ls -d "$programs"/*/bin 2>/dev/null | sort -V | tail -n 1)
    [ -n "$bin" ] && [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ]
}

install_server() {
    command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || return 1
    echo "postgres.sh: installing Debian's package postgresql" >&2
    # A second apt-get waits for the first one.
    flock /etc/apt sh -c 'apt-get update && apt-get install -y --no-install-recommends postgresql' >/dev/null 2>&1
}

if ! find_server && ! { install_server && find_server; }; then
    echo "postgres.sh: no PostgreSQL server is installed, so the tests that need one will fail. This installs it:" >&2
    echo "    apt-get install -y --no-install-recommends postgresql    # as root, Debian 12 or later" >&2
    exec "$@"
fi

# PostgreSQL refuses to run as root.
as_owner() { "$@"; }
owner=
if [ "$(id -u)" = 0 ]; then
    for owner in postgres nobody; do id "$owner" >/dev/null 2>&1 && break; done
    group=$(id -g "$owner")
    as_owner() { setpriv --reuid="$owner" --regid="$group" --clear-groups -- "$@"; }
fi

# The folder is under target/, unless the server's user cannot reach it.
mkdir -p "$root/target"
folder=$(mktemp -d "$root/target/postgres.XXXXXX")
[ -z "$owner" ] || chown "$owner" "$folder"
if ! as_owner test -w "$folder"; then
    rmdir "$folder"
    folder=$(mktemp -d)
    chown "$owner" "$folder"
fi

random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
password=$(random 16)
(umask 077 && echo "$password" > "$folder/password")
[ -z "$owner" ] || chown "$owner" "$folder/password"
(cd "$folder" && as_owner "$bin/initdb" --pgdata=data --username=gateway --pwfile=password --auth=scram-sha-256 \
    --encoding=UTF8 --no-locale --no-sync > setup.log) || { cat "$folder/setup.log" >&2; exit 1; }

# The settings are in a file, so that they stay the same if the command starts the server again. The data need not survive a
# crash of this machine.
cat >> "$folder/data/postgresql.conf" <<SETTINGS
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
synchronous_commit = off
max_connections = 300
SETTINGS
# Databases of tests live for seconds, so that vacuuming, compiling their queries and checkpoints would only take time from the tests.
[ -n "${POSTGRES_OF_OPERATORS:-}" ] || cat >> "$folder/data/postgresql.conf" <<SETTINGS
autovacuum = off
jit = off
checkpoint_timeout = 1h
max_wal_size = 2GB
SETTINGS

# If the port is taken, the server ends immediately, and another port is tried.
start_server() {
    port=$((20000 + 0x$(random 2) % 12000))
    echo "port = $port" >> "$folder/data/postgresql.conf"
    (
        cd "$folder"
        # The guard below ends the server. An interrupt from the terminal must not, so that the command can finish first.
        trap '' INT
        as_owner "$bin/postgres" -D data > server.log 2>&1
    ) &
    starter=$!
    while kill -0 "$starter" 2>/dev/null; do
        if grep -q "ready to accept connections" "$folder/server.log" 2>/dev/null; then
            return 0
        fi
        sleep 0.1
    done
    return 1
}
started=no
for _ in 1 2 3 4 5; do start_server && { started=yes; break; }; done
[ $started = yes ] || { cat "$folder/server.log" >&2; exit 1; }

# Ends the server by its id when this script has ended in any way, because then the last writer of the pipe has closed
# it.
mkfifo "$folder/alive"
(
    trap '' HUP INT TERM
    read -r _ < "$folder/alive" || true
    # Immediate shutdown, because the data is not kept. The command may have left the server stopped.
    server=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null) || server=
    [ -z "$server" ] || kill -QUIT "$server" 2>/dev/null || true
    while [ -n "$server" ] && kill -0 "$server" 2>/dev/null; do sleep 0.1; done
    rm -rf "$folder"
) &
guard=$!
exec 9> "$folder/alive"

status=0
PATH="$bin:$PATH" TEST_POSTGRES_DATA="$folder/data" TEST_POSTGRES_URL="postgres://gateway:$password@127.0.0.1:$port/postgres" \
    "$@" 9>&- || status=$?
exec 9>&-
wait $guard
exit $status
