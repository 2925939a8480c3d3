# Tests of doctor and repair with VLANs (bash, sourced by test): what somebody breaks is found, mended, and carries packets.

# network NAME CONF: the configuration of a network, where runtimes and the commands look for it.
network() { jq '{cniVersion, name, plugins: [del(.cniVersion, .name)]}' <<<"$2" >"/etc/cni/net.d/$1.conflist"; }
# found: the findings of doctor, each once, in order of names.
found() { $PLUGIN doctor --json | jq -r '[.findings[].check] | unique | join(" ")'; }
# is_mended NAME CONF RESULT GATEWAY: repair says that it has mended all, CHECK passes, and packets flow.
is_mended() {
  local said
  said=$($PLUGIN repair) || die "repair: $said"
  has repair "$said" '^  made '
  is 'doctor after repair' "$(found)" ''
  has 'repair done again' "$($PLUGIN repair)" 'nothing to repair'
  check "$1" "$2" "$3"
  is 'CHECK after repair' "$status$out" 0
  reaches "$1" "$4"
}

# Two pods of VLAN 100 with a gateway: `one` has a's configuration, `result` its result, `port` and `gate` are ports.
two_pods() {
  one=$(conf ".vlan = 100 | .isDefaultGateway = true | $(ipam 1 10)")
  network 10-t "$one"
  add a "$one"
  result=$out port=$(host_end "$out")
  add b "$one"
  gate=$(ip -j link show br-t.100 | jq -r '.[0].link')
  is doctor "$(found)" ''
  reaches a 10.9.1.1
}

test_a_port_in_the_wrong_VLAN() {
  two_pods
  bridge vlan del dev "$port" vid 100
  bridge vlan add dev "$port" vid 7 pvid untagged
  is doctor "$(found)" port-wrong
  does_not_reach a 10.9.1.1
  is_mended a "$one" "$result" 10.9.1.1
  is VLANs "$(vlans "$port")" '100*u'
  reaches a 10.9.1.11
}

test_pods_of_a_VLAN_that_the_configuration_had_before() {
  two_pods
  local changed=$(jq -c '.vlan = 200' <<<"$one")
  network 10-t "$changed"
  is doctor "$(found)" vlan-changed
  has repair "$($PLUGIN repair)" 'nothing to repair'
  ! $PLUGIN doctor --fix >/dev/null || die "doctor --fix takes the change for mended"
  is VLANs "$(vlans "$port")" '100*u'
  reaches a 10.9.1.1
  call STATUS '' "$changed"
  is STATUS "$status$out" 0
  bridge vlan del dev "$port" vid 100
  is 'doctor with a port in no VLAN' "$(found)" 'port-wrong vlan-changed'
  has repair "$($PLUGIN repair)" '^  made VLANs of'
  is VLANs "$(vlans "$port")" '100*u'
  add c "$changed"
  is 'doctor with pods of both' "$(found)" vlan-changed
  has repair "$($PLUGIN repair)" 'nothing to repair'
}

test_the_gateway_in_no_VLAN() {
  two_pods
  bridge vlan del dev "$gate" vid 100
  is doctor "$(found)" port-wrong
  does_not_reach a 10.9.1.1
  is_mended a "$one" "$result" 10.9.1.1
}

test_a_VLAN_gateway_without_its_address() {
  two_pods
  ip addr del 10.9.1.1/24 dev br-t.100
  is doctor "$(found)" gateway-missing
  has 'its remedy' "$($PLUGIN doctor --json | jq -r '.findings[0].fix')" '^ip addr add 10.9.1.1/24 dev br-t.100'
  does_not_reach a 10.9.1.1
  is_mended a "$one" "$result" 10.9.1.1
}

test_a_VLAN_gateway_that_is_down_or_on_no_bridge() {
  two_pods
  ip link set br-t.100 down
  is 'doctor, down' "$(found)" port-wrong
  is_mended a "$one" "$result" 10.9.1.1
  ip link set "$gate" nomaster
  has 'doctor, on no bridge' "$(found)" port-wrong
  is_mended a "$one" "$result" 10.9.1.1
}

test_a_VLAN_gateway_that_is_gone() {
  two_pods
  ip link del br-t.100
  has doctor "$(found)" 'gateway-missing port-wrong'
  does_not_reach a 10.9.1.1
  is_mended a "$one" "$result" 10.9.1.1
  is 'its VLANs' "$(vlans "$(ip -j link show br-t.100 | jq -r '.[0].link')")" '100*u'
}

test_doctor_mends_it_by_itself_when_asked() {
  two_pods
  ip link del br-t.100
  bridge vlan del dev "$port" vid 100
  $PLUGIN doctor --fix >/dev/null || die "$($PLUGIN doctor)"
  is 'doctor afterwards' "$(found)" ''
  check a "$one" "$result"
  is CHECK "$status$out" 0
  reaches a 10.9.1.1
}

test_a_bridge_that_tells_VLANs_apart_no_more() {
  two_pods
  ip link set br-t type bridge vlan_filtering 0
  has doctor "$(found)" bridge-vlans
  bash -c "$($PLUGIN doctor --json | jq -r '.findings[] | select(.check == "bridge-vlans").fix')"
  is 'doctor afterwards' "$(found)" ''
  check a "$one" "$result"
  is CHECK "$status$out" 0
  reaches a 10.9.1.1
}

test_a_bridge_of_VLANs_that_is_gone() {
  two_pods
  ip link del br-t
  has doctor "$(found)" bridge-gone
  is_mended a "$one" "$result" 10.9.1.1
  is filtering "$(filtering br-t)" 1
  is VLANs "$(vlans "$port")" '100*u'
  reaches a 10.9.1.11
}

test_a_trunk_with_a_hole() {
  local trunk=$(conf '.vlanTrunk = [{minID: 100, maxID: 199}]')
  network 10-t "$trunk"
  add t "$trunk"
  local result=$out port=$(host_end "$out")
  bridge vlan del dev "$port" vid 150
  is doctor "$(found)" port-wrong
  $PLUGIN repair >/dev/null || die "$($PLUGIN repair)"
  is VLANs "$(vlans "$port")" '1*u 100-199'
  check t "$trunk" "$result"
  is CHECK "$status$out" 0
  is 'doctor afterwards' "$(found)" ''
}
