# Tests of masquerading through a gateway in a VLAN (bash, sourced by test): they need NAT in the guest's kernel.

# Beside the host there is an outside that knows no way back to the pods.
outside() {
  ip netns add out
  ip link add up0 type veth peer name eth0 netns out
  ip addr add 192.0.2.1/24 dev up0
  ip -6 addr add 2001:db8::1/64 dev up0 nodad
  ip link set up0 up
  inside out ip addr add 192.0.2.2/24 dev eth0
  inside out ip -6 addr add 2001:db8::2/64 dev eth0 nodad
  inside out ip link set eth0 up
}

DUAL='.ipMasq = true | .isDefaultGateway = true
  | .ipam = {ranges: [[{subnet: "10.9.1.0/24"}], [{subnet: "fd00:9::/64"}]]}'

# gets_out EXTRA BRIDGE_NF: a pod of this configuration, where bridged packets pass through the packet filter or not.
gets_out() {
  outside
  for name in iptables ip6tables arptables; do echo "$2" >"/proc/sys/net/bridge/bridge-nf-call-$name"; done
  local network=$(conf "$DUAL | $1")
  add a "$network"
  local result=$out
  reaches a 192.0.2.2
  reaches a 2001:db8::2
  check a "$network" "$result"
  is CHECK "$status$out" 0
}

test_without_a_VLAN_a_pod_gets_out() { gets_out . 1; }
test_a_pod_of_a_VLAN_gets_out() { gets_out '.vlan = 100' 0; }
test_a_pod_of_a_VLAN_gets_out_where_bridged_packets_pass_through_the_packet_filter() { gets_out '.vlan = 100' 1; }
test_with_iptables_too() { gets_out '.vlan = 100 | .ipMasqBackend = "iptables"' 1; }

test_through_the_gateway_that_the_reference_made() {
  ip link add br-t type bridge vlan_filtering 1
  ip link set br-t up
  ip link add name br-t.100 type veth peer name vethabcdef01
  ip link set vethabcdef01 master br-t up
  bridge vlan add dev vethabcdef01 vid 100 pvid untagged
  ip link set br-t.100 up
  gets_out '.vlan = 100' 1
  is links "$(ip -j link show type veth | jq length)" 4
}

test_CHECK_tells_that_the_rule_for_bridged_packets_is_gone() {
  local network=$(conf "$DUAL | .vlan = 100") result
  add a "$network"
  result=$out
  nft flush chain inet pontoon bridged
  check a "$network" "$result"
  has CHECK "$out" 'masquerading through br-t.100'
}

test_GC_with_an_empty_list_leaves_nothing_of_the_gateway() {
  local network=$(conf "$DUAL | .vlan = 100")
  add a "$network"
  has 'the set' "$(nft list set inet pontoon vlan_gateways)" 'elements.*br-t'
  call GC x "$(jq -c '."cni.dev/valid-attachments" = []' <<<"$network")"
  is GC "$status$out" 0
  is links "$(links)" lo
  is 'the set' "$(nft list set inet pontoon vlan_gateways | grep elements)" ''
  outside
  add b "$network"
  reaches b 192.0.2.2
}
