#!/bin/sh
# Carries out commands of the host. A line on the port names one; the command itself, its input and its outputs are
# files of the shared folder, so that they survive this machine.
#   run ID   /share/.lab/ID.sh with input ID.in; outputs ID.out and ID.err; answers "done ID CODE"
#   kill ID  ends it and its children
#   off      ends this machine
for port in /sys/class/virtio-ports/*; do
    [ "$(cat "$port/name")" = agent ] && exec 3<>"/dev/${port##*/}"
done

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
