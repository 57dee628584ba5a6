#!/usr/bin/env bash
# Packs a gateway and its connectors into an archive that is installed by unpacking. `make dist` calls it.
#
#   host/deploy/pack.sh BINARY CONNECTORS TARGET FOLDER
#
# It writes FOLDER/connector-gateway-VERSION-TARGET.tar.gz, and next to it the same name with .sha256 and with .cdx.json, the bill of
# materials. The same inputs give the same bytes: files are sorted, they belong to no user of this machine, and all have the time of
# SOURCE_DATE_EPOCH. If that is not set, it is the time of the present commit. COMPRESSION is the level of gzip (9).
set -euo pipefail

[ $# = 4 ] || { echo "usage: host/deploy/pack.sh BINARY CONNECTORS TARGET FOLDER" >&2; exit 2; }
binary=$(realpath "$1") connectors=$(realpath "$2") target=$3
mkdir -p "$4"
folder=$(realpath "$4")
cd "$(dirname "$0")/../.."
# Programs sort and print in the same way in every language.
export LC_ALL=C TZ=UTC
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

version=$(sed -n '/^\[workspace\.package\]/,/^\[/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=connector-gateway-$version-$target
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/$name
mkdir -p "$root/connectors" "$root/deploy" "$root/docs/operations" "$root/docs/pictures"

install -m 755 "$binary" "$root/connector-gateway"
install -m 644 "$connectors"/*.wasm "$root/connectors"
install -m 644 host/gateway.example.toml LICENSE host/CHANGELOG.md host/deploy/connector-gateway.service "$root"
# The page is in another folder than in the source.
sed -E 's#\]\(([a-z]+\.md)#](docs/\1#g' host/docs/installing.md >"$root/README.md"
cp -R host/deploy/container "$root/deploy"
cp -R host/deploy/chart "$root/deploy"
install -m 644 host/docs/*.md "$root/docs"
install -m 644 host/docs/pictures/* "$root/docs/pictures"
install -m 644 host/docs/operations/* "$root/docs/operations"
# What authors of connectors need, in the folders of the source, because the files name each other by them. Links become files.
# `make sdks` has made the files that git does not have.
mkdir "$root/sdk"
git ls-files -z Cargo.toml LICENSE wit connectors/docs connectors/sdk connectors/sdk-js connectors/sdk-python ':!wit/frozen' ':!*/test/*' \
  ':!*/tests/*' | tar --null --files-from=- --dereference -cf - connectors/sdk-js/{connector.wit,rows.wasm} \
  connectors/sdk-python/connector_sdk/rows.wasm | tar -xf - -C "$root/sdk"
python3 host/deploy/bill_of_materials.py "$target" "$root"

# The list of the archive names every other file, so that `sha256sum -c` finds a damaged one.
(cd "$root" && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum) >"$stage/sums"
mv "$stage/sums" "$root/SHA256SUMS"

tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode='u+rwX,go+rX,go-w' \
    -C "$stage" -cf - "$name" | gzip -n "-${COMPRESSION:-9}" >"$folder/.$name.new"
mv "$folder/.$name.new" "$folder/$name.tar.gz"
cp "$root/sbom.cdx.json" "$folder/$name.cdx.json"
(cd "$folder" && sha256sum "$name.tar.gz" "$name.cdx.json" >"$name.sha256")
echo "$folder/$name.tar.gz"
