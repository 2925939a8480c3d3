#!/bin/bash
# Client 1: cnitool and libcni (the library containerd, CRI-O and podman are built on),
# built from Debian's source of the CNI library, against the plugin in PLUGIN_DIR.
#   [CONFLIST=...] bash cnitool.sh
#   VERSIONS="0.3.1 0.4.0 1.0.0 1.1.0"  cniVersion values put into the configuration in turn
. "$(dirname "$0")/lib.sh"
: "${VERSIONS:=0.3.1 0.4.0 1.0.0 1.1.0}"

build_tools() { # $CACHE_DIR/tools/{cnitool,cnigc}
  local out=$CACHE_DIR/tools b goroot src
  [ -x "$out/cnitool" ] && [ -x "$out/cnigc" ] && return 0
  apt_install xz-utils || return 1
  # the library needs Go >= 1.21; bookworm has 1.19, bookworm-backports 1.23 (static enough to run extracted)
  fetch_debs bookworm-backports golang-1.23-go golang-1.23-src || return 1
  goroot=$CACHE_DIR/root/bookworm-backports/usr/lib/go-1.23
  b=$(mktemp -d); mkdir -p "$b/src/github.com/containernetworking" "$out"
  # cnitool itself is only in the source package; its .dsc is not needed, the original tarball is
  ( cd "$b" && suite_apt sid apt-get source --download-only golang-github-appc-cni ) >"$b/log" 2>&1
  if src=$(ls "$b"/golang-github-appc-cni_*.orig.tar.* 2>/dev/null); then
    mkdir "$b/src/github.com/containernetworking/cni"; tar -C "$b/src/github.com/containernetworking/cni" --strip-components=1 -xf "$src"
  else # the library alone: then cnitool is a stand-in of our own with the same commands
    fetch_debs sid golang-github-appc-cni-dev || return 1
    cp -r "$CACHE_DIR/root/sid/usr/share/gocode/src/github.com/containernetworking/cni" "$b/src/github.com/containernetworking/"
  fi
  mkdir -p "$b/src/cnigc"; gc_source >"$b/src/cnigc/main.go"
  [ -d "$b/src/github.com/containernetworking/cni/cnitool" ] || { say "# no cnitool in the source: cnigc stands in"; ln -s ../../../../cnigc "$b/src/github.com/containernetworking/cni/cnitool"; }
  ( cd "$b" && env -i PATH="$PATH" HOME="$b" GOROOT="$goroot" GOTOOLCHAIN=local GO111MODULE=off GOPROXY=off GOPATH="$b" CGO_ENABLED=0 GOCACHE="$b/cache" GOFLAGS= \
      "$goroot/bin/go" build -o "$out/" github.com/containernetworking/cni/cnitool cnigc ) || { rm -rf "$b"; return 1; }
  chmod -R u+w "$b"; rm -rf "$b"
}
gc_source() { cat <<'GO'
// cnigc: cnitool's commands with a chosen container id, and a GC that, unlike
// cnitool's, names the attachments that are still valid.
//   cnigc add|check|del  NET NETNS [CONTAINERID]
//   cnigc gc             NET [CONTAINERID/IFNAME ...]
//   cnigc status         NET
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
)

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func main() {
	a := os.Args
	if len(a) < 3 {
		exit(fmt.Errorf("usage: cnigc add|check|del|gc|status NET ..."))
	}
	list, err := libcni.LoadConfList(os.Getenv("NETCONFPATH"), a[2])
	if err != nil {
		exit(err)
	}
	cni := libcni.NewCNIConfig(filepath.SplitList(os.Getenv("CNI_PATH")), nil)
	ctx := context.Background()
	rt := &libcni.RuntimeConf{ContainerID: "cnigc-1", IfName: "eth0"}
	if len(a) > 3 {
		rt.NetNS = a[3]
	}
	if len(a) > 4 {
		rt.ContainerID = a[4]
	}
	switch a[1] {
	case "add":
		r, err := cni.AddNetworkList(ctx, list, rt)
		if r != nil {
			_ = r.Print()
		}
		exit(err)
	case "check":
		exit(cni.CheckNetworkList(ctx, list, rt))
	case "del":
		exit(cni.DelNetworkList(ctx, list, rt))
	case "gc":
		args := &libcni.GCArgs{ValidAttachments: []types.GCAttachment{}}
		for _, s := range a[3:] {
			id, ifn, _ := strings.Cut(s, "/")
			args.ValidAttachments = append(args.ValidAttachments, types.GCAttachment{ContainerID: id, IfName: ifn})
		}
		exit(cni.GCNetworkList(ctx, list, args))
	case "status":
		exit(cni.GetStatusNetworkList(ctx, list))
	}
	exit(fmt.Errorf("unknown command %s", a[1]))
}
GO
}

if [ -z "${CLIENTS_INNER:-}" ]; then
  apt_install iproute2 iptables nftables jq iputils-ping && plugins_under_test && fallback_plugins && build_tools || { say "0 passed, 1 failed"; exit 1; }
fi
isolate "$@"

export CNI_PATH=$BIN NETCONFPATH=$NETD
cnitool() { timeout 300 "$CACHE_DIR/tools/cnitool" "$@"; }
cnigc()   { timeout 300 "$CACHE_DIR/tools/cnigc" "$@"; }
nsip() { ip netns exec "$@"; }
addr_of() { jq -r --argjson n "$2" '.ips[$n].address // "" | split("/")[0]' "$1"; }
ge() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -1)" = "$2" ]; } # ge A B : A >= B

for v in $VERSIONS; do
  jq --arg v "$v" '.cniVersion=$v' "$CONFLIST" >$NETD/10-net.conflist
  R=$WORK/log/$v
  # the plain life of one attachment
  ip netns add e; check "$v: add e" cnitool add "$NET" /run/netns/e; seen
  check "$v: del e" cnitool del "$NET" /run/netns/e; refuse "$v: eth0 is gone from e" ip -n e link show eth0; ip netns del e
  no_leak "$v: plain add and del"
  for n in a b; do ip netns add $n; check "$v: add $n" sh -c "'$CACHE_DIR/tools/cnitool' add $NET /run/netns/$n >$R.$n"; done
  is "$v: version of the result" "$(jq -r .cniVersion "$R.a")" "$v"
  is "$v: addresses in the result" "$(jq '.ips|length' "$R.a")" "$FAMILIES"
  is "$v: the result's sandbox interface is eth0 in the netns" "$(jq -r '[.interfaces[]|select(.name=="eth0")][0].sandbox' "$R.a")" /run/netns/a
  is "$v: hardware address reported = real" "$(jq -r '[.interfaces[]|select(.name=="eth0")][0].mac' "$R.a")" "$(nsip a cat /sys/class/net/eth0/address)"
  is "$v: addresses in the store" "$(store_count)" $((2*FAMILIES))
  is "$v: ports on the bridge" "$(ports_of "$BRIDGE")" 2; seen
  i=0; while [ $i -lt "$FAMILIES" ]; do
    ad=$(addr_of "$R.a" $i) bd=$(addr_of "$R.b" $i)
    check "$v: $ad is on eth0" sh -c "ip -n a -o addr show dev eth0 | grep -qF ' $ad/'"
    check "$v: a reaches b by $bd" nsip a ping -c1 -W20 "$bd"
    gw=$(jq -r --argjson n $i '.ips[$n].gateway' "$R.a"); check "$v: a reaches its gateway $gw" nsip a ping -c1 -W20 "$gw"
    i=$((i+1))
  done
  if ge "$v" 0.4.0; then
    check "$v: check passes on a sound attachment" cnitool check "$NET" /run/netns/a
    ip -n a addr flush dev eth0 scope global; refuse "$v: check fails after the addresses were taken away" cnitool check "$NET" /run/netns/a
  fi
  refuse "$v: a second add with the same id and interface" cnitool add "$NET" /run/netns/b
  if ge "$v" 1.1.0; then
    check "$v: status" cnitool status "$NET" /run/netns/a
    jq '.plugins[0].ipam.type="no-such-ipam"' $NETD/10-net.conflist >$WORK/broken; mv $NETD/10-net.conflist $WORK/good; mv $WORK/broken $NETD/10-net.conflist
    refuse "$v: status with an unusable IPAM" cnitool status "$NET" /run/netns/a; mv $WORK/good $NETD/10-net.conflist
    # GC through libcni: c is in libcni's cache, so libcni sends DEL for it itself
    ip netns add c; check "$v: add c (cnigc)" cnigc add "$NET" /run/netns/c gone-1
    ids=$(for n in a b; do printf 'cnitool-%s/eth0 ' "$(printf /run/netns/$n | sha512sum | cut -c1-20)"; done)
    # shellcheck disable=SC2086
    check "$v: gc with a and b valid" cnigc gc "$NET" $ids
    is "$v: addresses in the store after gc" "$(store_count)" $((2*FAMILIES))
    # the plugin's own GC: nothing in libcni's cache any more, the netns gone
    check "$v: add c again" cnigc add "$NET" /run/netns/c gone-2; ip netns del c; rm -f /var/lib/cni/results/*gone-2*
    # shellcheck disable=SC2086
    check "$v: gc after the cache entry was lost" cnigc gc "$NET" $ids
    left=$(( $(store_count) - 2*FAMILIES ))
    if [ -n "$STRICT" ]; then is "$v: the plugin's own GC freed what was lost" $left 0
    else say "note - $v: the plugin's own GC left $left addresses of the lost attachment"; fi
    [ $left -eq 0 ] || check "$v: del of the lost attachment" cnigc del "$NET" "" gone-2
    check "$v: b is untouched by gc" nsip b ping -c1 -W20 "$(jq -r '.ips[0].gateway' "$R.b")"
  fi
  check "$v: del a" cnitool del "$NET" /run/netns/a
  check "$v: del a again" cnitool del "$NET" /run/netns/a
  refuse "$v: eth0 is gone from a" ip -n a link show eth0
  ip netns del b; check "$v: del b after its netns is gone" cnitool del "$NET" /run/netns/b
  if ge "$v" 1.1.0; then
    ip netns add d; check "$v: add d" cnitool add "$NET" /run/netns/d; seen
    check "$v: cnitool gc (nothing is valid)" cnitool gc "$NET" /run/netns/d; ip netns del d
  fi
  ip netns del a; sleep 0.2
  no_leak "$v" fw
  is "$v: results left in libcni's cache" "$(ls /var/lib/cni/results | grep -c .)" 0
done
# in a chain, as most nodes have it: portmap and tuning behind the plugin
rm -f $NETD/*; jq '.cniVersion="1.1.0" | .name="chain" |
  .plugins += [{type:"tuning", sysctl:{"net.core.somaxconn":"500"}}, {type:"portmap", capabilities:{portMappings:true}}]' "$CONFLIST" >$NETD/20-chain.conflist
NET=chain STORE=$(dirname "$STORE")/chain
export CAP_ARGS='{"portMappings":[{"hostPort":18080,"containerPort":80,"protocol":"tcp"}]}'
mapped() { { iptables-save; nft list ruleset; } 2>/dev/null | grep -c 18080; }
ip netns add a; check "chain: add a" sh -c "'$CACHE_DIR/tools/cnitool' add $NET /run/netns/a >$WORK/log/chain"; seen
is "chain: the sysctl of tuning" "$(nsip a cat /proc/sys/net/core/somaxconn)" 500
refuse "chain: the host port of portmap is mapped" test "$(mapped)" = 0
check "chain: a reaches its gateway" nsip a ping -c1 -W20 "$(jq -r '.ips[0].gateway' "$WORK/log/chain")"
check "chain: check" cnitool check "$NET" /run/netns/a
check "chain: status" cnitool status "$NET" /run/netns/a
ip netns add b; check "chain: add b" env CAP_ARGS= "$CACHE_DIR/tools/cnitool" add "$NET" /run/netns/b; seen
check "chain: gc with a valid" cnigc gc "$NET" "cnitool-$(printf /run/netns/a | sha512sum | cut -c1-20)/eth0"
is "chain: addresses in the store after gc" "$(store_count)" "$FAMILIES"
check "chain: check after gc" cnitool check "$NET" /run/netns/a
check "chain: del a" cnitool del "$NET" /run/netns/a
check "chain: del a again" cnitool del "$NET" /run/netns/a
is "chain: host ports mapped" "$(mapped)" 0
ip netns del a; ip netns del b; no_leak "chain"
# forwarding is a side effect node software relies on
is "IPv4 forwarding switched on by the gateway option" "$(cat /proc/sys/net/ipv4/ip_forward)" 1
finish
