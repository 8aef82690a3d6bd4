#!/bin/sh
# Keeps a Postgres server for as long as whoever started this holds its standard input: `keeper.sh PROGRAMS FOLDER OPTIONS`.
# PROGRAMS are initdb and pg_ctl, FOLDER holds the file `password`, or the folder `data` of another server, and goes at the end, OPTIONS
# are the server's. A line read is a mode in which the server is restarted: `fast` or `immediate`; `copy`, for a restart with a copy
# of the data in FOLDER/copy; or `promote`, for a standby. When the input ends, also because its writer was killed, the server stops.
# Every start, and what a line asks for, is answered with `ready`.
programs=$1 folder=$2 options=$3

# Ten minutes are for what hangs, and not for a machine that is busy.
control() { "$programs/pg_ctl" -s -w -t 600 -D "$folder/data" "$@"; }

ready() {
  if "$@" >>"$folder/log" 2>&1; then echo ready; else
    cat "$folder/log" >&2
    rm -rf "$folder"
    exit 1
  fi
}

start() { control -l "$folder/log" -o "$options" start; }

create() {
  "$programs/initdb" -D "$folder/data" -U waitpoint --pwfile "$folder/password" -A scram-sha-256 \
    -E UTF8 --no-locale --no-sync --no-instructions
}

create_and_start() { { [ -d "$folder/data" ] || create; } && start; }

copy() { control -m fast stop && cp -R "$folder/data" "$folder/copy" && start; }

cd /
ready create_and_start
while read -r mode; do
  case $mode in
  copy) ready copy ;;
  promote) ready control promote ;;
  *) ready control -l "$folder/log" -m "$mode" restart ;;
  esac
done
control -m immediate stop >/dev/null 2>&1
rm -rf "$folder"
