# Tests of VLANs with packets (bash, sourced by test inside the guest).

test_pods_of_one_VLAN_reach_each_other_and_no_other_VLAN() {
  local hundred two_hundred result
  hundred=$(conf ".vlan = 100 | $(ipam 1 10)")
  two_hundred=$(conf ".name = \"u\" | .vlan = 200 | $(ipam 1 20)")
  add a "$hundred"
  result=$out
  add b "$hundred"
  add c "$two_hundred"
  add d "$(conf ".name = \"v\" | $(ipam 1 30)")"
  is 'VLANs of a' "$(vlans "$(host_end "$result")")" '100*u'
  reaches a 10.9.1.11
  does_not_reach a 10.9.1.20
  does_not_reach c 10.9.1.10
  does_not_reach d 10.9.1.10
  check a "$hundred" "$result"
  is CHECK "$status$out" 0
  for pod in a b; do del $pod "$hundred"; done
  del c "$two_hundred"
}

test_a_port_has_its_own_VLAN_alone() {
  local alone=$(conf ".vlan = 100 | .isGateway = true | $(ipam 1 10)") result port
  add a "$alone"
  result=$out port=$(host_end "$out")
  is 'VLANs of the pod' "$(vlans "$port")" '100*u'
  is "VLANs of the gateway's port" "$(vlans "$(jq -r '.[0].link' <<<"$(ip -j link show br-t.100)")")" '100*u'
  reaches a 10.9.1.1
  bridge vlan add dev "$port" vid 7
  check a "$alone" "$result"
  is 'CHECK with another VLAN' "$(jq .code <<<"$out")" 103
  has 'CHECK with another VLAN' "$out" 'VLANs of veth.*want 100.*have 7, 100'
}

test_a_bridge_with_another_default_VLAN() {
  ip link add br-t type bridge vlan_filtering 1 vlan_default_pvid 42
  add a "$(conf ".vlan = 100 | .preserveDefaultVlan = true | $(ipam 1 10)")"
  is kept "$(vlans "$(host_end "$out")")" '42u 100*u'
  add b "$(conf ".vlan = 100 | $(ipam 1 10)")"
  is alone "$(vlans "$(host_end "$out")")" '100*u'
  reaches a 10.9.1.11
}

test_a_trunk_carries_its_ranges_and_nothing_else() {
  local trunk=$(conf '.name = "trunk" | .vlanTrunk = [{minID: 100, maxID: 199}, {id: 200}, {minID: 150, maxID: 199}, {id: 300}]')
  add t "$trunk"
  local result=$out port=$(host_end "$out")
  is 'VLANs of the trunk' "$(vlans "$port")" '1*u 100-200 300'
  for vlan in 100 300 301; do
    add "p$vlan" "$(conf ".name = \"n$vlan\" | .vlan = $vlan | .ipam = {ranges: [[{subnet: \"10.8.$((vlan - 200 + 100)).0/24\"}]]}")"
    inside t ip link add link eth0 name "eth0.$vlan" type vlan id "$vlan"
    inside t ip addr add "10.8.$((vlan - 200 + 100)).99/24" dev "eth0.$vlan"
    inside t ip link set "eth0.$vlan" up
  done
  reaches t 10.8.0.2
  reaches t 10.8.200.2
  does_not_reach t 10.8.201.2
  check t "$trunk" "$result"
  is CHECK "$status$out" 0
  bridge vlan del dev "$port" vid 150
  check t "$trunk" "$result"
  has 'CHECK of a trunk with a hole' "$out" 'want 100-200, 300, have 1\* \(untagged\), 100-149, 151-200, 300'
  del t "$trunk"
}

test_what_is_untagged_on_trunks_is_in_their_own_VLAN_or_in_the_default_one() {
  local kept='.vlanTrunk = [{minID: 10, maxID: 20}]'
  for pod in a b; do
    add $pod "$(conf "$kept")"
    inside $pod ip addr add "10.7.0.$([ $pod = a ] && echo 1 || echo 2)/24" dev eth0
  done
  reaches a 10.7.0.2
  add c "$(conf "$kept | .vlan = 15")"
  is VLANs "$(vlans "$(host_end "$out")")" '10-14 15*u 16-20'
  inside c ip addr add 10.7.0.3/24 dev eth0
  does_not_reach c 10.7.0.1
  add d "$(conf '.vlanTrunk = [{minID: 1, maxID: 4094}] | .preserveDefaultVlan = false')"
  is 'all VLANs' "$(vlans "$(host_end "$out")")" '1-4094'
}

test_only_what_asks_for_VLANs_makes_a_bridge_with_filtering() {
  add a "$(conf ".isGateway = true | $(ipam 1 10)")"
  is plain "$(filtering br-t)" 0
  add b "$(conf '.bridge = "br-u" | .vlanTrunk = []')"
  is 'an empty trunk' "$(filtering br-u)" 1
  is 'VLANs of an empty trunk' "$(vlans "$(host_end "$out")")" '1*u'
  add c "$(conf '.bridge = "br-v" | .vlan = 5')"
  is vlan "$(filtering br-v)" 1
}

test_a_bridge_without_filtering_is_refused_and_left_as_it_is() {
  local network=$(conf ".vlan = 100 | .isGateway = true | $(ipam 1 10)") before
  ip link add br-t type bridge
  ip link set br-t up
  before=$(links)
  ip netns add a
  call ADD a "$network"
  is code "$(jq .code <<<"$out")" 101
  has remedy "$out" 'ip link set dev br-t type bridge vlan_filtering 1'
  is filtering "$(filtering br-t)" 0
  is links "$(links)" "$before"
  is 'reservations and index' "$(find /run/pontoon /var/lib/cni -type f -regextype posix-extended -regex '.*/[0-9a-f.:]+')" ''
  call STATUS a "$network"
  is STATUS "$(jq .code <<<"$out")" 50
  ip link set dev br-t type bridge vlan_filtering 1
  call STATUS a "$network"
  is 'STATUS after the remedy' "$status$out" 0
  add a "$network"
  reaches a 10.9.1.1
}

test_the_gateway_is_a_pair_with_a_port_in_the_VLAN() {
  local network=$(conf ".vlan = 100 | .isDefaultGateway = true | $(ipam 1 10)") result port
  add a "$network"
  result=$out
  is interfaces "$(jq -r '[.interfaces[].name] | join(" ")' <<<"$result")" "br-t $(host_end "$result") eth0 br-t.100"
  is 'its hardware address' "$(jq -r '.interfaces[3].mac' <<<"$result")" "$(ip -j link show br-t.100 | jq -r '.[0].address')"
  is 'index of the address' "$(jq '.ips[0].interface' <<<"$result")" 2
  is links "$(ip -j link show | jq length)" 5
  port=$(ip -j link show br-t.100 | jq -r '.[0].link')
  is "the port's index" "$(cat "/sys/class/net/$port/ifindex")" $(($(cat /sys/class/net/br-t.100/ifindex) - 1))
  is "the gateway's addresses" "$(addresses br-t.100)" 10.9.1.1/24
  is "the bridge's addresses" "$(addresses br-t)" ''
  is 'VLANs of its port' "$(vlans "$port")" '100*u'
  reaches a 10.9.1.1
  add b "$(conf ".name = \"u\" | .vlan = 200 | .isDefaultGateway = true | $(ipam 2 10)")"
  reaches a 10.9.2.10 # routed
  check a "$network" "$result"
  is CHECK "$status$out" 0
  ip addr del 10.9.1.1/24 dev br-t.100
  check a "$network" "$result"
  has 'CHECK without the address' "$out" 'gateway 10.9.1.1/24 on br-t.100'
  add c "$network" # heals it
  bridge vlan del dev "$port" vid 100
  check a "$network" "$result"
  has 'CHECK without the VLAN' "$out" "VLANs of $port: want 100"
  add d "$network"
  reaches a 10.9.1.1
  ip link del br-t.100
  check a "$network" "$result"
  has 'CHECK without the gateway' "$out" 'VLAN gateway br-t.100'
  call STATUS a "$network"
  is 'STATUS without the gateway' "$(jq .code <<<"$out")" 51
  for pod in a c d; do del $pod "$network"; done
  call GC x "$(jq -c '."cni.dev/valid-attachments" = []' <<<"$network")"
  is GC "$status$out" 0
  add a "$network"
  reaches a 10.9.1.1
}

test_an_ADD_that_fails_leaves_neither_bridge_nor_gateway() {
  ip netns add a
  inside a ip link add eth0 type dummy
  call ADD a "$(conf ".vlan = 100 | .isGateway = true | .ipMasq = true | .macspoofchk = true | $(ipam 1 10)")"
  is code "$(jq .code <<<"$out")" 101
  is links "$(links)" lo
}

test_pods_that_start_together_share_bridge_and_gateway() {
  local network=$(conf ".vlan = 100 | .isGateway = true | $(ipam 1 10)") pods='a b c d e f' jobs=()
  for pod in $pods; do ip netns add $pod; done
  for pod in $pods; do
    (call ADD $pod "$network" && [ "$status" = 0 ] || die "ADD $pod: $out") &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job"; done
  is "the gateway's addresses" "$(addresses br-t.100)" 10.9.1.1/24
  for pod in $pods; do reaches $pod 10.9.1.1; done
}

test_macspoofchk_looks_below_the_tag() {
  local trunk='.vlanTrunk = [{id: 100}] | .macspoofchk = true'
  add t "$(conf "$trunk")"
  add p "$(conf ".name = \"u\" | .vlan = 100 | .ipam = {ranges: [[{subnet: \"10.8.0.0/24\"}]]}")"
  inside t ip link add link eth0 name eth0.100 type vlan id 100
  inside t ip addr add 10.8.0.99/24 dev eth0.100
  inside t ip link set eth0.100 up
  reaches t 10.8.0.2
  inside t ip link set eth0.100 address 02:00:00:00:00:99
  inside t ip neigh flush dev eth0.100
  inside p ip neigh flush dev eth0
  does_not_reach t 10.8.0.2
}
