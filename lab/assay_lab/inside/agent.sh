#!/bin/sh
# Carries out commands of the host. A line on the port names one; the command itself, its input and its outputs are
# files of the shared folder, so that they survive this machine.
#   run ID   /share/.lab/ID.sh with input ID.in; outputs ID.out and ID.err; answers "done ID CODE"
#   kill ID  ends it and its children
#   off      ends this machine
# The kernel names ports in its own time, and comes to it late where the host is busy.
port=
tries=600
while [ -z "$port" ] && [ $((tries -= 1)) -gt 0 ]; do
    for each in /sys/class/virtio-ports/*; do
        [ "$(cat "$each/name" 2>/dev/null)" = agent ] && [ -c "/dev/${each##*/}" ] && port=/dev/${each##*/}
    done
    [ -n "$port" ] || sleep 0.1
done
[ -n "$port" ] || { echo "lab: the agent found no port"; exit 1; }
exec 3<>"$port"

run() {
    at=/share/.lab/$1
    setsid /sbin/dash "$at.sh" <"$at.in" >"$at.out" 2>"$at.err" 3>&- &
    pid=$!
    echo "$pid" >"/run/lab/$1"
    wait "$pid"
    echo "done $1 $?" >&3
}

echo "ready $(uname -r)" >&3
while read -r word id <&3; do
    case $word in
    run) run "$id" & ;;
    kill) kill -9 -- "-$(cat "/run/lab/$id")" ;;
    off) break ;;
    esac
done
