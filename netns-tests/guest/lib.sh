# What the tests in the guest are made of (bash, sourced). Each test is a function test_NAME, run in a network and mount
# namespace of its own, with a "host" there and containers beside it.

PLUGIN=/opt/cni/bin/pontoon
OWN='{"cniVersion":"1.1.0","name":"t","type":"pontoon","bridge":"br-t"}'

# conf JQ: the usual configuration, changed by a program of jq.
conf() { jq -c "$1" <<<"$OWN"; }
# ipam THIRD FIRST, for conf: addresses of 10.9.THIRD.0/24, from 10.9.THIRD.FIRST on.
ipam() { echo ".ipam = {ranges: [[{subnet: \"10.9.$1.0/24\", rangeStart: \"10.9.$1.$2\"}]]}"; }

# call VERB NAME CONF: calls the plugin for the container NAME, whose namespace has that name. `out` has what it said.
call() {
  status=0
  out=$(CNI_COMMAND=$1 CNI_CONTAINERID=pod-$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=eth0 CNI_PATH=${PATH_OF_PLUGINS:-/opt/cni/bin} \
    $PLUGIN <<<"$3") || status=$?
}
# add NAME CONF: ADD that must succeed; `out` has the result. The namespace is made.
add() {
  [ -e "/run/netns/$1" ] || ip netns add "$1"
  call ADD "$1" "$2"
  [ "$status" = 0 ] || die "ADD $1: $out"
}
# check NAME CONF RESULT, del NAME CONF
check() { call CHECK "$1" "$(jq -c --argjson r "$3" '.prevResult = $r' <<<"$2")"; }
del() { call DEL "$1" "$2" && [ "$status$out" = 0 ] || die "DEL $1: $out"; }

die() { echo "  ${FUNCNAME[1]}, line ${BASH_LINENO[0]}: $*"; exit 1; }
# is WHAT HAVE WANT
is() { [ "$2" = "$3" ] || { echo "  line ${BASH_LINENO[0]}: $1: want $3, have $2"; exit 1; }; }
# has WHAT TEXT PATTERN (an extended regular expression)
has() { grep -qE -- "$3" <<<"$2" || { echo "  line ${BASH_LINENO[0]}: $1: want /$3/, have $2"; exit 1; }; }

inside() { ip netns exec "$@"; }
# reaches NAME ADDRESS; does_not_reach NAME ADDRESS. The first packet may wait for a port or for ARP.
reaches() { inside "$1" ping -c 1 -w 20 "$2" >/dev/null || die "$1 does not reach $2"; }
does_not_reach() { ! inside "$1" ping -c 2 -i 0.2 -W 1 "$2" >/dev/null || die "$1 reaches $2"; }

addresses() { ip -j -4 addr show dev "$1" | jq -r '[.[].addr_info[] | "\(.local)/\(.prefixlen)"] | join(" ")'; }
# vlans PORT: `1u 100*u 200-299`: * for the VLAN of what comes untagged, u for what leaves untagged.
vlans() {
  bridge -j -compressvlans vlan show dev "$1" | jq -r '[.[].vlans[] | "\(.vlan)" + (if .vlanEnd then "-\(.vlanEnd)" else "" end)
    + (if (.flags // [] | index("PVID")) then "*" else "" end)
    + (if (.flags // [] | index("Egress Untagged")) then "u" else "" end)] | join(" ")'
}
host_end() { jq -r '.interfaces[1].name' <<<"$1"; }
links() { ip -j link show | jq -r '[.[].ifname] | sort | join(" ")'; }
filtering() { ip -d -j link show dev "$1" | jq '.[0].linkinfo.info_data.vlan_filtering'; }

# Debian's guest kernel has no NAT in nftables.
can_masquerade() {
  nft 'add table inet x; add chain inet x y { type nat hook postrouting priority 100; }; delete table inet x' 2>/dev/null
}

# run_tests FILE EXECUTABLE TEST...: each in namespaces of its own; counts in `passed` and `failed`.
passed=0 failed=0
run_tests() {
  local file=$1 executable=$2 name
  shift 2
  for name; do
    if output=$(unshare -n -m --propagation private bash -c \
      'set -e; . "$0/../private.sh"; set +e; . "$0/lib.sh"; . "$2"; set -e; "test_$3"' \
      "$here" "$executable" "$file" "$name" 2>&1); then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "FAILED ${executable##*/}: ${name//_/ }"$'\n'"$output"
    fi
  done
}
