# lib.sh - shared parts of the real-client checks (sourced, not run).
#
# Inputs (environment, all optional):
#   EXECUTABLE   the built plugin. Default: dist/pontoon of this checkout. It is installed as pontoon,
#                bridge and host-local.
#   PLUGIN_DIR   a folder of plugins to check in its place; "reference": those of Debian sid
#                (containernetworking-plugins).
#   TYPE         name of the interface plugin. Default: pontoon (with PLUGIN_DIR: bridge)
#   IPAM_TYPE    ipam.type put in the default configuration. Default: host-local
#   CONFLIST     a .conflist to use as it is. Default: one made here from TYPE and IPAM_TYPE.
#   SPEC_VERSION  cniVersion of the default configuration. Default: 1.0.0
#   TRACE        folder: every plugin call (env, stdin, stdout, rc, ms) is kept there as JSON.
#   CACHE_DIR    where extracted packages and built tools are kept. Default: /var/cache/cni-clients
#   DEBIAN_MIRROR  Debian mirror. Default: the one this machine's apt uses.
#   NO_INSTALL=1 do not touch apt/npm (everything is already in CACHE_DIR).
#   STORE_CMD    command that prints the addresses in use, one a line, instead of reading the host-local
#                store (for a plugin with another layout). It sees NET and STORE.
#   VERBOSE=1    show what each step prints.   KEEP=DIR  keep the daemons' logs there.
#   STRICT=      (empty) forgives what the reference plugins 1.9.1 are known to leave behind
#                (it is printed as "note - ..."). Default: 1.
#
# Life of a script:  setup (needs the package mirrors)  ->  isolate (re-exec in a
# private mount+net+pid namespace: no route out, own /run, /var/lib/cni,
# /etc/cni/net.d, /opt/cni/bin)  ->  checks  ->  "N passed, M failed".

set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${EXECUTABLE:=$HERE/../../dist/pontoon}" "${PLUGIN_DIR:=}"
: "${TYPE:=${PLUGIN_DIR:+bridge}}" "${TYPE:=pontoon}" "${IPAM_TYPE:=host-local}" "${SPEC_VERSION:=1.0.0}"
: "${CACHE_DIR:=/var/cache/cni-clients}"
: "${DEBIAN_MIRROR:=}" "${NO_INSTALL:=}" "${CONFLIST:=}" "${TRACE:=}" "${VERBOSE:=}" "${STRICT=1}"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

PASS=0 FAIL=0
PATIENCE=120 # seconds, for what is to come: more than it takes on a machine that has much else to do
say()  { printf '%s\n' "$*"; }
ok()   { PASS=$((PASS+1)); say "ok   - $*"; }
bad()  { FAIL=$((FAIL+1)); say "FAIL - $*"; }
die()  { say "FAIL - $*"; FAIL=$((FAIL+1)); finish; }
# check "text" command...   : passes when the command exits 0
check() { local t=$1; shift; local o; if o=$("$@" 2>&1); then ok "$t"; [ -z "$VERBOSE" ] || say "$o"; else bad "$t"; say "$o" | sed 's/^/       /' | tail -${ERRLINES:-15}; fi; }
# refuse "text" command...  : passes when the command exits non-zero
refuse() { local t=$1; shift; local o; if o=$("$@" 2>&1); then bad "$t (it succeeded)"; else ok "$t"; fi; }
# is "text" got want
is()   { if [ "$2" = "$3" ]; then ok "$1 ($2)"; else bad "$1: got '$2', want '$3'"; fi; }
now_ms() { echo $(( $(date +%s%N) / 1000000 )); }
finish() {
  trap - EXIT INT TERM
  declare -F cleanup >/dev/null && cleanup
  say "$PASS passed, $FAIL failed"
  [ "$FAIL" -eq 0 ] && [ "$PASS" -gt 0 ]; exit $?
}

# ---------------------------------------------------------------- packages
apt_install() { # apt_install PKG... : installs the missing ones of this machine's own release
  local p need=""
  for p in "$@"; do dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || need="$need $p"; done
  [ -z "$need" ] && return 0
  [ -n "$NO_INSTALL" ] && { say "missing packages:$need (NO_INSTALL is set)"; return 1; }
  # shellcheck disable=SC2086
  apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5 install -y -q --no-install-recommends $need >/dev/null 2>&1 ||
    { apt-get -q -o Acquire::Retries=5 update >/dev/null 2>&1; apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5 install -y -q --no-install-recommends $need 2>&1 | tail -5; }
  for p in $need; do dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || { say "could not install $p"; return 1; }; done
}
mirror() {
  [ -n "$DEBIAN_MIRROR" ] || DEBIAN_MIRROR=$(apt-get indextargets --format '$(REPO_URI) $(CREATED_BY)' 2>/dev/null | awk '$2=="Packages" && $1 ~ /\/debian\/?$/ {print $1; exit}')
  [ -n "$DEBIAN_MIRROR" ] || { apt-get -q -o Acquire::Retries=5 update >/dev/null 2>&1; DEBIAN_MIRROR=$(apt-get indextargets --format '$(REPO_URI) $(CREATED_BY)' | awk '$2=="Packages" && $1 ~ /\/debian\/?$/ {print $1; exit}'); }
  [ -n "$DEBIAN_MIRROR" ] || { say "no Debian mirror found in apt's sources: set DEBIAN_MIRROR" >&2; return 1; }
}
# apt of another Debian suite, with its own lists; nothing of it enters this machine's apt
suite_apt() { # suite_apt SUITE apt-get|apt-cache ARGS...
  local s=$1 tool=$2 d=$CACHE_DIR/apt/$1; shift 2
  if [ ! -e "$d/.updated" ] || [ -n "$(find "$d/.updated" -mmin +720)" ]; then
    mirror || return 1
    mkdir -p "$d/lists/partial" "$d/cache/archives/partial"
    local key=/usr/share/keyrings/debian-archive-keyring.gpg
    { echo "deb [signed-by=$key] $DEBIAN_MIRROR $s main"; echo "deb-src [signed-by=$key] $DEBIAN_MIRROR $s main"; } >"$d/sources.list"
    apt-get -q -o Dir::Etc::sourcelist="$d/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$d/lists" -o Dir::Cache="$d/cache" -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Acquire::Retries=5 update >"$d/update.log" 2>&1 || { tail -3 "$d/update.log" >&2; return 1; }
    touch "$d/.updated"
  fi
  "$tool" -q -o Dir::Etc::sourcelist="$d/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$d/lists" -o Dir::Cache="$d/cache" -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false -o Acquire::Retries=5 "$@"
}
# fetch_debs SUITE PKG... : downloads and extracts into $CACHE_DIR/root/SUITE (once)
fetch_debs() {
  local s=$1 p r=$CACHE_DIR/root/$1 t; shift
  for p in "$@"; do
    [ -e "$r/.have-$p" ] && continue
    [ -n "$NO_INSTALL" ] && { say "missing $p of $s in $CACHE_DIR (NO_INSTALL is set)"; return 1; }
    mkdir -p "$r"; t=$(mktemp -d)
    ( cd "$t" && { suite_apt "$s" apt-get download "$p" || { rm -f "$CACHE_DIR/apt/$s/.updated"; suite_apt "$s" apt-get download "$p"; }; } ) >"$t/log" 2>&1 &&
      dpkg -x "$t"/*.deb "$r" && basename "$t"/*.deb >"$r/.have-$p" || { say "could not fetch $p from Debian $s"; tail -3 "$t/log"; rm -rf "$t"; return 1; }
    rm -rf "$t"
  done
}
plugins_under_test() { # PLUGIN_DIR=reference becomes the folder of sid's plugins
  case $PLUGIN_DIR in
    '') [ -x "$EXECUTABLE" ] || { say "$EXECUTABLE is missing: build it first"; return 1; };;
    reference) fallback_plugins || return 1; PLUGIN_DIR=$CACHE_DIR/root/sid/usr/lib/cni;;
  esac
}
# what the clients need besides the plugin under test: loopback for containerd; portmap, firewall and
# tuning for podman's own networks and for chains
fallback_plugins() { fetch_debs sid containernetworking-plugins; }

# ---------------------------------------------------------------- isolation
# isolate "$@" : first pass makes the work folder, re-runs the script inside the
# namespaces and removes everything afterwards; second pass prepares the inside.
isolate() {
  if [ -z "${CLIENTS_INNER:-}" ]; then
    local w rc made="" d; w=$(mktemp -d "${TMPDIR:-/tmp}/cni-clients.XXXXXX")
    for d in /var/lib/cni /etc/cni/net.d /opt/cni/bin /usr/lib/cni; do [ -d $d ] || { mkdir -p $d; made="$d $made"; }; done
    if [ -n "$PLUGIN_DIR" ]; then PLUGIN_DIR=$(cd "$PLUGIN_DIR" && pwd) || exit 2
    else
      PLUGIN_DIR=$w/plugins; mkdir "$PLUGIN_DIR"; cp "$EXECUTABLE" "$PLUGIN_DIR/pontoon"
      for d in bridge host-local; do ln "$PLUGIN_DIR/pontoon" "$PLUGIN_DIR/$d"; done
    fi
    [ -z "$CONFLIST" ] || CONFLIST=$(realpath "$CONFLIST")
    [ -z "$TRACE" ] || { mkdir -p "$TRACE"; TRACE=$(realpath "$TRACE"); }
    export CLIENTS_INNER=1 WORK=$w PLUGIN_DIR TYPE IPAM_TYPE CONFLIST SPEC_VERSION TRACE CACHE_DIR NO_INSTALL=1 VERBOSE STRICT
    export CG=cni-clients-$$
    unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private bash "$0" "$@" &
    # unshare itself holds TERM and INT back; killed, it takes the whole pid namespace along (--kill-child)
    local pid=$!; trap 'kill -9 "$pid" 2>/dev/null; rc=143' INT TERM
    rc=; wait "$pid"; rc=${rc:-$?}
    [ "$rc" -le 128 ] || { wait "$pid" 2>/dev/null; sleep 1; }
    for _ in 1 2 3 4 5; do # what the containers' cgroups left
      find /sys/fs/cgroup -depth -type d -path "*/$CG*" -exec rmdir {} + 2>/dev/null
      [ -n "$(find /sys/fs/cgroup -type d -path "*/$CG*" -print -quit)" ] || break; sleep 0.2
    done
    rm -rf "$w" 2>/dev/null || { sleep 1; rm -rf "$w"; }
    for d in $made; do rmdir -p --ignore-fail-on-non-empty $d 2>/dev/null; done
    exit $rc
  fi
  mount -t tmpfs -o mode=755 tmpfs /run; mkdir -p /run/netns /run/lock
  mkdir -p "$WORK"/{varlibcni,netd,bin,real,tmp,log}
  trap 'bad "the script ended early"; finish' EXIT INT TERM
  install_plugins "$WORK/bin"
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm # podman keeps its locks there
  mount --bind "$WORK/varlibcni" /var/lib/cni
  mount --bind "$WORK/netd" /etc/cni/net.d
  mount --bind "$WORK/bin" /opt/cni/bin; mount --bind "$WORK/bin" /usr/lib/cni # Debian's containerd looks here first
  ip link set lo up
  echo 0 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv6/conf/all/forwarding
  BIN=/opt/cni/bin NETD=/etc/cni/net.d LOG=$WORK/log; export TMPDIR=$WORK/tmp
  [ -n "$CONFLIST" ] || { CONFLIST=$WORK/default.conflist; default_conflist >"$CONFLIST"; }
  NET=$(jq -r .name "$CONFLIST"); CONF_VERSION=$(jq -r .cniVersion "$CONFLIST")
  BRIDGE=$(jq -r --arg t "$TYPE" '[.plugins[]|select(.type==$t)][0].bridge // "cni0"' "$CONFLIST")
  STORE=$(jq -r --arg t "$TYPE" '[.plugins[]|select(.type==$t)][0].ipam.dataDir // "/var/lib/cni/networks"' "$CONFLIST")/$NET
  FAMILIES=$(jq -r --arg t "$TYPE" '[.plugins[]|select(.type==$t)][0].ipam|(.ranges // [[{subnet:.subnet}]])|length' "$CONFLIST")
}
install_plugins() { # install_plugins DIR: every binary of PLUGIN_DIR, and the fallback ones under names it lacks
  local f n
  for f in "$PLUGIN_DIR"/* "$CACHE_DIR"/root/sid/usr/lib/cni/*; do
    n=${f##*/}; [ -f "$f" ] && [ -x "$f" ] && [ ! -e "$1/$n" ] || continue
    if [ -n "$TRACE" ]; then cp -L "$f" "$WORK/real/$n"; sed -e "s|@REAL@|$WORK/real/$n|" -e "s|@DIR@|$TRACE|" "$HERE/trace-plugin.sh" >"$1/$n"; chmod 755 "$1/$n"
    else ln -L "$f" "$1/$n" 2>/dev/null || cp -L "$f" "$1/$n"; fi
  done
  [ -e "$1/$TYPE" ] || die "no plugin '$TYPE' in $PLUGIN_DIR"
}
default_conflist() { # dual-stack bridge, as most node setups have it
  local ver=${1:-$SPEC_VERSION} net=${2:-clients} br=${3:-cbr0}
  jq -n --arg v "$ver" --arg n "$net" --arg b "$br" --arg t "$TYPE" --arg i "$IPAM_TYPE" '{
    cniVersion:$v, name:$n, plugins:[{type:$t, bridge:$b, isGateway:true, ipMasq:true, hairpinMode:true, promiscMode:false,
      ipam:{type:$i, ranges:[[{subnet:"10.88.0.0/16"}],[{subnet:"fd00:88::/64"}]], routes:[{dst:"0.0.0.0/0"},{dst:"::/0"}]}}]}'
}
# ---------------------------------------------------------------- looking at the result
store_entries() { # addresses held in the host-local store of the network (STORE_CMD replaces this)
  if [ -n "${STORE_CMD:-}" ]; then NET=$NET STORE=${1:-$STORE} bash -c "$STORE_CMD"; return; fi
  [ -d "${1:-$STORE}" ] || return 0
  find "${1:-$STORE}" -maxdepth 1 -type f ! -name lock ! -name 'last_reserved_ip*' ! -name pontoon.boot -printf '%f\n' | sort
}
store_count() { store_entries "$@" | grep -c .; }
store_has() { [ "$(store_count)" = "$1" ]; }
veth_count() { ip -o link show type veth | grep -c .; }
no_veth() { [ "$(veth_count)" = 0 ]; } # a netns that went away takes its veth along a little later
ports_of() { ip -o link show master "$1" 2>/dev/null | grep -c .; }
seen() { store_entries "$@" | tr _ : >>"$WORK/seen"; } # remember the addresses in use now
fw_left() { # lines of the packet filter that still name an address that was seen
  [ -s "$WORK/seen" ] || { echo 0; return; }
  { iptables-save; ip6tables-save; nft list ruleset; } 2>/dev/null | grep -v '^:' | grep -cwF -f <(sort -u "$WORK/seen")
}
# no_leak "text" [fw]: store empty, no veth, no packet filter rule of a container left.
# With "fw" the last one is a known fault of the reference plugins and only fails under STRICT=1.
no_leak() {
  is "$1: addresses left in the store" "$(store_count)" 0
  wait_for $PATIENCE no_veth; is "$1: veth interfaces left" "$(veth_count)" 0
  local n; n=$(fw_left); : >"$WORK/seen"
  if [ "$n" -ne 0 ] && [ "${2:-}" = fw ] && [ -z "$STRICT" ]; then say "note - $1: $n packet filter rules of removed containers left"
  else is "$1: packet filter rules of removed containers left" "$n" 0; fi
}
kill9() { [ "${1:-0}" -gt 1 ] 2>/dev/null && kill -9 "$1"; } # never the group (0) or all (-1)
pid_alive() { kill -0 "$1" 2>/dev/null; }
stop_pid() { # stop_pid PID [seconds]
  local p=$1 n=$(( ${2:-10} * 10 )); kill "$p" 2>/dev/null || return 0
  while pid_alive "$p" && [ $n -gt 0 ]; do sleep 0.1; n=$((n-1)); done
  pid_alive "$p" && kill -9 "$p"; wait "$p" 2>/dev/null; return 0
}
wait_for() { # wait_for SECONDS command...
  local end=$((SECONDS+$1)); shift
  while ! "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || return 1; sleep 0.1; done
}
# ---------------------------------------------------------------- images made by hand
busybox_rootfs() { # busybox_rootfs DIR : a root file system of static busybox alone
  mkdir -p "$1"/{bin,etc,proc,sys,dev,tmp,run}
  cp "$(command -v busybox)" "$1/bin/busybox"
  local a; for a in sh sleep ip ping ping6 cat ls echo nc wget httpd true false; do ln -sf busybox "$1/bin/$a"; done
  echo 'root:x:0:0:root:/:/bin/sh' >"$1/etc/passwd"
}
# oci_tar ROOTFS REF CMD_JSON OUT.tar : an OCI image layout of one layer
oci_tar() {
  local rootfs=$1 ref=$2 cmd=$3 out=$4 d; d=$(mktemp -d); mkdir -p "$d/blobs/sha256"
  local arch; arch=$(dpkg --print-architecture)
  tar -C "$rootfs" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf "$d/layer.tar" .
  local lsum lsize; lsum=$(sha256sum "$d/layer.tar" | cut -d' ' -f1); lsize=$(stat -c %s "$d/layer.tar"); mv "$d/layer.tar" "$d/blobs/sha256/$lsum"
  jq -cn --arg a "$arch" --arg l "sha256:$lsum" --argjson c "$cmd" '{architecture:$a,os:"linux",config:{Cmd:$c,Env:["PATH=/bin"],StopSignal:"SIGKILL"},rootfs:{type:"layers",diff_ids:[$l]}}' >"$d/config"
  local csum csize; csum=$(sha256sum "$d/config" | cut -d' ' -f1); csize=$(stat -c %s "$d/config"); mv "$d/config" "$d/blobs/sha256/$csum"
  jq -cn --arg c "sha256:$csum" --argjson cs "$csize" --arg l "sha256:$lsum" --argjson ls "$lsize" '{schemaVersion:2,mediaType:"application/vnd.oci.image.manifest.v1+json",config:{mediaType:"application/vnd.oci.image.config.v1+json",digest:$c,size:$cs},layers:[{mediaType:"application/vnd.oci.image.layer.v1.tar",digest:$l,size:$ls}]}' >"$d/manifest"
  local msum msize; msum=$(sha256sum "$d/manifest" | cut -d' ' -f1); msize=$(stat -c %s "$d/manifest"); mv "$d/manifest" "$d/blobs/sha256/$msum"
  jq -cn --arg m "sha256:$msum" --argjson ms "$msize" --arg r "$ref" --arg a "$arch" '{schemaVersion:2,mediaType:"application/vnd.oci.image.index.v1+json",manifests:[{mediaType:"application/vnd.oci.image.manifest.v1+json",digest:$m,size:$ms,platform:{architecture:$a,os:"linux"},annotations:{"io.containerd.image.name":$r,"org.opencontainers.image.ref.name":$r}}]}' >"$d/index.json"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$d/oci-layout"
  tar -C "$d" -cf "$out" oci-layout index.json blobs; rm -rf "$d"
}
