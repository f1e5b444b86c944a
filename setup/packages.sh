#!/usr/bin/env bash
# packages.sh PART: installs the Python packages of a part (report, query, dbms, passport, fleet) into the checkout's
# environment, where they are missing or their lock file changed. Called when a command first imports one of them.
set -uo pipefail
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
part=$1
source "$root/setup/ready.sh"
python_ready "python-$part" "requirements-$part.lock" && exit
source "$root/setup/setup.sh"
require_own
take_turn
log=$state/setup-$part.log
: >"$log"
python_ready "python-$part" "requirements-$part.lock" && exit
set_up_part "$part"
