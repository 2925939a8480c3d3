# An ADD or DEL with VLANs that is killed (bash, sourced by test inside the guest): the next DEL leaves nothing.

# The calls that change something, or start a program: where a kill may hurt.
CALLS=openat,rename,unlink,mkdir,rmdir,write,clone,clone3,vfork,fork

# points COUNT VERB NAME CONF: so many of these calls, spread over what the plugin makes by itself, each as `openat:7`: the
# seventh of its name (strace counts each name apart). The plugin does what it is told.
points() {
  local count=$1
  shift
  PLUGIN="strace -qq -o /run/trace -e trace=$CALLS /opt/cni/bin/pontoon" call "$@"
  [ "$status" = 0 ] || die "$*: $out"
  awk -F '(' -v count="$count" '/^[a-z0-9]+\(/ { all[n++] = $1 ":" ++of[$1] }
    END { for (i = 0; i < count; i++) print all[int(i * n / count)] }' /run/trace
}
kills=0
# killed POINT VERB NAME CONF: kills the plugin there, and waits for what it has started.
killed() {
  PLUGIN="strace -qq -o /dev/null -e trace=$CALLS -e inject=${1%:*}:signal=KILL:when=${1#*:} /opt/cni/bin/pontoon" \
    call "${@:2}"
  # One call has a few more than another: it may have come to its end.
  [ "$status" != 137 ] || kills=$((kills + 1))
  while pgrep -x 'ip|bridge|nft' >/dev/null; do sleep 0.01; done
}
# What there is, but for hints: links, VLANs of all ports and of the bridges, the packet filter, reservations, index.
state() {
  ip -j link show | jq -c '[.[] | [.ifname, .master]] | sort'
  bridge -j vlan show | jq -c 'sort_by(.ifname)[]'
  nft list ruleset 2>/dev/null
  find /run/pontoon /var/lib/cni -type f -regextype posix-extended -regex '.*/[0-9a-f.:]+' | sort
}

# leaves_nothing CONF: with bridge and gateway there, as another pod has left them.
leaves_nothing() {
  local network=$1 base result point all
  add a "$network"
  del a "$network"
  all=$(points 5 ADD a "$network")
  del a "$network"
  base=$(state)
  for point in $all; do
    killed "$point" ADD a "$network"
    del a "$network"
    is "after an ADD that was killed at $point" "$(state)" "$base"
  done
  add a "$network"
  for point in $(points 3 DEL a "$network"); do
    add a "$network"
    killed "$point" DEL a "$network"
    del a "$network"
    is "after a DEL that was killed at $point" "$(state)" "$base"
  done
  [ "$kills" -ge 6 ] || die "only $kills kills"
  add a "$network"
  result=$out
  check a "$network" "$result"
  is CHECK "$status$out" 0
}

test_an_ADD_or_DEL_with_a_VLAN_is_killed_and_DEL_leaves_nothing() {
  leaves_nothing "$(conf ".vlan = 100 | .isGateway = true | .ipMasq = $(masquerades) | .macspoofchk = true | $(ipam 1 10)")"
  reaches a 10.9.1.1
}

test_an_ADD_or_DEL_with_a_trunk_is_killed_and_DEL_leaves_nothing() {
  leaves_nothing "$(conf '.vlan = 15 | .vlanTrunk = [{minID: 100, maxID: 199}, {id: 300}] | .macspoofchk = true')"
}

test_the_first_ADD_is_killed_and_the_bridge_and_its_gateway_are_whole_with_the_next_or_gone_with_GC() {
  local network=$(conf ".vlan = 100 | .isGateway = true | $(ipam 1 10)") point last= turn=0
  local all_gone=$(jq -c '."cni.dev/valid-attachments" = []' <<<"$network")
  add a "$network"
  del a "$network"
  call GC x "$all_gone"
  for point in $(points 6 ADD a "$network"); do
    del a "$network"
    call GC x "$all_gone"
    is GC "$status$out" 0
    is "links after an ADD that was killed at $last, DEL and GC" "$(links)" lo
    killed "$point" ADD a "$network"
    last=$point
    if ((turn++ % 2)); then
      add b "$network"
      reaches b 10.9.1.1
      del b "$network"
    fi
  done
  [ "$kills" -ge 4 ] || die "only $kills kills"
}

masquerades() { can_masquerade && echo true || echo false; }
