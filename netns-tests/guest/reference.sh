# Tests of VLANs and macspoofchk side by side with the reference plugins (bash, sourced by test): REFERENCE is
# their folder.

# by_reference VERB NAME CONF: as call, by the reference.
by_reference() { PLUGIN=$REFERENCE/bridge PATH_OF_PLUGINS=$REFERENCE call "$@"; }

NETWORK='.cniVersion = "1.0.0" | .vlan = 100 | .isGateway = true
  | .ipam = {type: "host-local", ranges: [[{subnet: "10.9.1.0/24"}]]}'

# alike PRESERVE: both make the same of it, one beside the other, each first once.
alike() {
  local network=$(conf "$NETWORK | .preserveDefaultVlan = $1") theirs ours
  ip netns add r
  by_reference ADD r "$network"
  is 'ADD by the reference' "$status" 0
  theirs=$out
  add p "$network"
  ours=$out
  is 'number of interfaces' "$(jq '.interfaces | length' <<<"$ours")" "$(jq '.interfaces | length' <<<"$theirs")"
  is 'the gateway' "$(jq -c '.interfaces[3]' <<<"$ours")" "$(jq -c '.interfaces[3]' <<<"$theirs")"
  is VLANs "$(vlans "$(host_end "$ours")")" "$(vlans "$(host_end "$theirs")")"
  reaches p 10.9.1.2
  reaches p 10.9.1.1
  check r "$network" "$theirs"
  is "CHECK of the reference's pod" "$status$out" 0
  del r "$network"
  del p "$network"
  is 'links of pods' "$(ip -j link show type veth | jq length)" 2 # the gateway's pair
}

test_a_pod_of_the_reference_beside_one_of_Pontoon() { alike true; }
test_the_same_without_the_default_VLAN() { alike false; }

test_the_reference_works_with_what_Pontoon_made() {
  local network=$(conf "$NETWORK") ours
  add p "$network"
  ours=$out
  by_reference CHECK p "$(jq -c --argjson r "$ours" '.prevResult = $r' <<<"$network")"
  is 'CHECK by the reference' "$status$out" 0
  ip netns add r
  by_reference ADD r "$network"
  is 'ADD by the reference' "$status" 0
  is 'the gateway' "$(jq -c '.interfaces[3]' <<<"$out")" "$(jq -c '.interfaces[3]' <<<"$ours")"
  reaches r 10.9.1.2
  by_reference DEL p "$(jq -c --argjson r "$ours" '.prevResult = $r' <<<"$network")"
  is 'DEL by the reference' "$status$out" 0
  is 'its address' "$(ls /var/lib/cni/networks/t/10.9.1.2 2>/dev/null)" ''
}

test_ports_have_the_same_VLANs() {
  local network theirs number=0 keys
  for keys in . '.vlan = 7' '.vlan = 1' '.vlanTrunk = [{minID: 10, maxID: 12}, {id: 20}]' '.vlanTrunk = []' \
    '.vlan = 7 | .vlanTrunk = [{minID: 10, maxID: 12}]'; do
    for preserve in . '.preserveDefaultVlan = true' '.preserveDefaultVlan = false'; do
      number=$((number + 1))
      network=$(conf ".cniVersion = \"1.0.0\" | .bridge = \"br$number\" | $keys | $preserve")
      ip netns add "r$number"
      by_reference ADD "r$number" "$network"
      is "ADD by the reference ($keys, $preserve)" "$status" 0
      theirs="$(filtering "br$number") $(vlans "$(host_end "$out")")"
      ip link del "br$number" # so that both make it
      add "p$number" "$network"
      is "VLANs ($keys, $preserve)" "$(filtering "br$number") $(vlans "$(host_end "$out")")" "$theirs"
    done
  done
}
