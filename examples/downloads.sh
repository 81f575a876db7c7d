#!/bin/sh
# Download many files, eight at once. Stop it at any time and start it again: it goes on where it was.
# usage: downloads.sh URLS.txt FOLDER
set -eu

rowlock add downloads < "$1"
rowlock settings downloads attempts=3 backoff=1s..1m
mkdir -p "$2"
rowlock work downloads -j 8 -- curl --fail --silent --show-error --location --output-dir "$2" --remote-name {}
rowlock status downloads
