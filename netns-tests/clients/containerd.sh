#!/bin/bash
# Client 2: containerd. Two paths: `ctr run --cni`, and the CRI API - the path
# kubelet -> containerd -> CNI plugin - spoken by cri.cjs (Node, no packages).
#   [CONFLIST=...] [CONTAINERD=bookworm|trixie|sid] bash containerd.sh
#   CONTAINERD   bookworm = 1.6 (installed), trixie = 1.7, sid = 2.1 (both extracted, not installed). Default: bookworm
#   PODS=50      sandboxes run in parallel
#   BENCH=5      sandboxes of the timing
#   SPEC_VERSION cniVersion of the default configuration. Default here: 1.0.0 (1.6, 1.7), 1.1.0 (2.1, which
#                then calls STATUS); containerd before 2.0 cannot read a result of 1.1.0
#   ONLY=...     of the parts: ctr cri parallel faults caps template (default: all)
[ "${CONTAINERD:-}" != sid ] || : "${SPEC_VERSION:=1.1.0}"
. "$(dirname "$0")/lib.sh"
: "${CONTAINERD:=bookworm}" "${PODS:=50}" "${BENCH:=5}" "${ONLY:=ctr cri parallel faults caps template}"
export CONTAINERD PODS BENCH ONLY
PROTO=$CACHE_DIR/cri-client/api.proto

setup() {
  apt_install iproute2 iptables nftables jq iputils-ping busybox-static runc || return 1
  command -v node >/dev/null || apt_install nodejs || return 1
  case $CONTAINERD in
    bookworm) apt_install containerd || return 1;;
    *) fetch_debs "$CONTAINERD" containerd || return 1;;
  esac
  fetch_debs trixie golang-github-kubernetes-cri-api-dev || return 1
  mkdir -p "$CACHE_DIR/cri-client" # the gogoproto lines only concern Go's generated code
  sed '/gogoproto/d' "$CACHE_DIR/root/trixie/usr/share/gocode/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto" >"$PROTO" || { say "no api.proto in the package"; return 1; }
  plugins_under_test && fallback_plugins
}
if [ -z "${CLIENTS_INNER:-}" ]; then setup || { say "0 passed, 1 failed"; exit 1; }; fi
isolate "$@"

[ "$CONTAINERD" = bookworm ] || PATH=$CACHE_DIR/root/$CONTAINERD/usr/bin:$PATH
hash -r
SOCK=/run/clients/containerd.sock; mkdir -p /run/clients
export CONTAINERD_ADDRESS=$SOCK CRI_SOCK=$SOCK CRI_PROTO=$PROTO CRI_CGROUP=/$CG/pods CRI_IMAGE=localhost/busybox:1
VER=$(containerd --version | grep -oE ' v?[0-9]+\.[0-9]+\.[0-9]+' | head -1 | tr -d ' v')
say "# containerd $VER ($(command -v containerd)), $(runc --version | head -1), plugin $TYPE"
cri() { node "$HERE/cri.cjs" "$@"; }
field() { jq -r "$1"; }
has() { case " $ONLY " in *" $1 "*) return 0;; esac; return 1; }

config() { # config [TEMPLATE] : containerd's own configuration, all folders private
  # restrict_oom_score_adj: without CAP_SYS_RESOURCE (some VMs) the pause container's -998 cannot be set
  local tmpl=${1:-}
  mkdir -p "$WORK/root" /run/clients/state
  if [ "${VER%%.*}" -ge 2 ]; then cat <<T
version = 3
root = "$WORK/root"
state = "/run/clients/state"
[grpc]
  address = "$SOCK"
[ttrpc]
  address = "$SOCK.ttrpc"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "${SNAPSHOTTER:-overlayfs}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "localhost/busybox:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["$BIN"]
  conf_dir = "$NETD"
  conf_template = "$tmpl"
T
  else cat <<T
version = 2
root = "$WORK/root"
state = "/run/clients/state"
[grpc]
  address = "$SOCK"
[ttrpc]
  address = "$SOCK.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/busybox:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "${SNAPSHOTTER:-overlayfs}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$BIN"
    conf_dir = "$NETD"
    conf_template = "$tmpl"
T
  fi
}
start() { # start [TEMPLATE]
  config "${1:-}" >"$WORK/config.toml"
  containerd -c "$WORK/config.toml" >>"$LOG/containerd.log" 2>&1 & CD=$!
  wait_for $PATIENCE cri version || { tail -20 "$LOG/containerd.log"; cri version 2>&1 | tail -5; die "containerd does not answer"; }
}
stop() { stop_pid "$CD" 15; CD=; }
cleanup() {
  [ -n "${KEEP:-}" ] && cp -r "$LOG" "$KEEP"
  [ -n "${CD:-}" ] || return 0
  local ids; ids=$(cri list 2>/dev/null | jq -r '.[].id'); [ -z "$ids" ] || { cri stop $ids; cri remove $ids; } >/dev/null 2>&1
  stop
}
ready() { [ "$(cri status | field .conditions.NetworkReady)" = true ]; }
notready() { [ "$(cri status | field .conditions.NetworkReady)" = false ]; }
use_conf() { rm -f $NETD/*; cp "$1" $NETD/10-net.conflist; wait_for $PATIENCE ready; sleep 0.3; }

busybox_rootfs "$WORK/rootfs"; oci_tar "$WORK/rootfs" localhost/busybox:1 '["/bin/sleep","2147483647"]' "$WORK/busybox.tar"
start
check "containerd answers the CRI version call" sh -c "node '$HERE/cri.cjs' version | jq -e '.runtime_name==\"containerd\"'"
check "network not ready without a configuration" notready
check "image imported (k8s.io)" ctr -n k8s.io images import "$WORK/busybox.tar"
check "image imported ($CG)" ctr -n "$CG" images import "$WORK/busybox.tar"
check "network ready once $TYPE's configuration is there" use_conf "$CONFLIST"

if has ctr; then
  say "# ctr run --cni"
  out=$(timeout 300 ctr -n "$CG" run --rm --cni --snapshotter "${SNAPSHOTTER:-overlayfs}" localhost/busybox:1 c1 sh -c 'ip -o addr show dev eth0; ip route; gw=$(ip route | sed -n "s/^default via \([^ ]*\).*/\1/p"); ping -c1 -W20 $gw' 2>&1 </dev/null); rc=$?
  is "ctr run --cni: exit status" $rc 0; [ $rc = 0 ] || say "$out"
  is "ctr run --cni: addresses on eth0 (global)" "$(grep -c 'scope global' <<<"$out")" "$FAMILIES"
  is "ctr run --cni: default route" "$(grep -c '^default via' <<<"$out")" 1
  grep -q ' 0% packet loss' <<<"$out" && ok "ctr run --cni: the container reaches its gateway" || bad "ctr run --cni: gateway: $out"
  grep -oE '(inet|inet6) [^ /]+' <<<"$(grep 'scope global' <<<"$out")" | cut -d' ' -f2 >>"$WORK/seen"
  no_leak "ctr run --cni, after the container" fw
fi

if has cri; then
  say "# CRI"
  A=$(cri run pod-a | field .id); B=$(cri run pod-b | field .id); seen
  pa=$(cri pod "$A"); pb=$(cri pod "$B"); say "# pod-a $(jq -c .ips <<<"$pa")  pod-b $(jq -c .ips <<<"$pb")"
  is "PodSandboxStatus: state" "$(field .state <<<"$pa")" SANDBOX_READY
  is "PodSandboxStatus: pod IPs" "$(field '.ips|length' <<<"$pa")" "$FAMILIES"
  is "pod IPs in the store" "$(field '.ips[]' <<<"$pa$pb" | sort | tr '\n' ' ')" "$(store_entries | tr _ : | sort | tr '\n' ' ')"
  is "pod IP = the configuration's first range first" "$(field '.ips[0]|test(":")' <<<"$pa")" "$(jq -r --arg t "$TYPE" '[.plugins[]|select(.type==$t)][0].ipam|(.ranges[0][0].subnet // .subnet)|test(":")' "$CONFLIST")"
  is "netns of pod-a is under /run/netns" "$(dirname "$(field .netns <<<"$pa")" | sed 's|^/var/run|/run|')" /run/netns
  is "ports on the bridge" "$(ports_of "$BRIDGE")" 2
  CA=$(cri ctr "$A" main /bin/sleep 3600 | field .id); [ -n "$CA" ] && ok "container started in pod-a" || bad "container in pod-a"
  for ip in $(field '.ips[]' <<<"$pb"); do check "container in pod-a reaches pod-b by $ip" cri exec "$CA" /bin/ping -c1 -W20 "$ip"; done
  is "two sandboxes do not share an address" "$(field '.ips[]' <<<"$pa$pb" | sort | uniq -d | wc -l)" 0
  H=$(cri run --host pod-host | field .id); is "host-network pod takes no address" "$(store_count)" $((2*FAMILIES))
  # what the kubelet does to a pod at its end, and more than once
  check "StopPodSandbox pod-a" cri stop "$A"; is "addresses after the stop of one" "$(store_count)" "$FAMILIES"
  check "StopPodSandbox pod-a again" cri stop "$A"; is "PodSandboxStatus: state after stop" "$(cri pod "$A" | field .state)" SANDBOX_NOTREADY
  A2=$(cri run --attempt 1 pod-a | field .id); is "pod-a's second attempt runs" "$(cri pod "$A2" | field .state)" SANDBOX_READY; seen
  check "RemovePodSandbox pod-a (first attempt)" cri remove "$A"
  check "stop the rest" cri stop "$A2" "$B" "$H"; check "remove the rest" cri remove "$A2" "$B" "$H"
  sleep 0.3; no_leak "CRI" fw
  if [ "${VER%%.*}" -ge 2 ] && [ "$CONF_VERSION" = 1.1.0 ]; then # 2.x asks STATUS; its answer is the node's readiness
    jq --arg t "$TYPE" '(.plugins[]|select(.type==$t)).ipam.type="no-such-ipam"' "$CONFLIST" >$NETD/10-net.conflist
    check "NetworkReady goes away when STATUS fails" wait_for $PATIENCE notready
    check "and comes back with the right configuration" use_conf "$CONFLIST"
  fi
  if [ -n "$TRACE" ]; then # what the runtime asks of the plugin by itself
    t() { grep -l "\"CNI_COMMAND\":\"$1\"" "$TRACE"/*.json 2>/dev/null | wc -l; }
    n=$(t STATUS); for _ in 1 2 3; do cri status >/dev/null; done; say "# plugin calls of STATUS (all plugins) for 3 CRI Status calls: $(( $(t STATUS)-n ))"
    say "# plugin calls of CHECK so far: $(t CHECK), of GC: $(t GC), of VERSION: $(t VERSION)"
  fi
  say "# time of one sandbox, ms"
  say "# with CNI:     $(cri bench "$BENCH")"
  say "# host network: $(cri bench --host "$BENCH")"
  no_leak "after the timing" fw
fi

if has parallel; then
  say "# $PODS sandboxes at once"
  r=$(cri many "$PODS" par); say "# $(jq -c '{ms,each}' <<<"$r")"
  is "RunPodSandbox in parallel: errors" "$(field '.errors|length' <<<"$r")" 0; jq -r '.errors[:3][]' <<<"$r"
  is "sandboxes ready" "$(field '[.pods[]|select(.state=="SANDBOX_READY")]|length' <<<"$r")" "$PODS"
  is "distinct pod IPs" "$(field '[.pods[].ips[]]|unique|length' <<<"$r")" $((PODS*FAMILIES))
  is "addresses in the store" "$(store_count)" $((PODS*FAMILIES)); seen
  is "ports on the bridge" "$(ports_of "$BRIDGE")" "$PODS"
  ids=$(field '.pods[].id' <<<"$r")
  r=$(cri stop $ids); is "StopPodSandbox in parallel: errors" "$(field '.errors|length' <<<"$r")" 0; say "# stop: $(field .ms <<<"$r") ms"; jq -r '.errors[:3][]' <<<"$r"
  r=$(cri remove $ids); is "RemovePodSandbox in parallel: errors" "$(field '.errors|length' <<<"$r")" 0; say "# remove: $(field .ms <<<"$r") ms"
  sleep 0.5; no_leak "$PODS sandboxes" fw
  # waves: each address is given back while others are taken
  for w in 1 2 3; do r=$(cri many 10 "w$w"); is "wave $w: ready" "$(field '.pods|length' <<<"$r")" 10; prev=${cur:-}; cur=$(field '.pods[].id' <<<"$r"); seen; [ -z "$prev" ] || { cri stop $prev; cri remove $prev; } >/dev/null; done
  cri stop $cur >/dev/null; cri remove $cur >/dev/null; sleep 0.3; no_leak "waves" fw
fi

if has faults; then
  say "# faults"
  A=$(cri run f-restart | field .id); seen; stop; start
  is "sandbox still ready after containerd's restart" "$(cri pod "$A" | field .state)" SANDBOX_READY
  is "pod IPs still known after containerd's restart" "$(cri pod "$A" | field '.ips|length')" "$FAMILIES"
  check "stop after containerd's restart" cri stop "$A"; cri remove "$A" >/dev/null
  no_leak "containerd restarted" fw
  A=$(cri run f-pause | field .id); seen; kill9 "$(cri pod "$A" | field .pid)"; wait_for $PATIENCE sh -c "node '$HERE/cri.cjs' pod $A | grep -q NOTREADY"
  is "addresses while the dead sandbox is not stopped" "$(store_count)" "$FAMILIES"
  check "stop after the pause process was killed" cri stop "$A"; cri remove "$A" >/dev/null
  no_leak "pause killed" fw
  A=$(cri run f-netns | field .id); seen; p=$(cri pod "$A"); kill9 "$(field .pid <<<"$p")"; n=$(field .netns <<<"$p"); [ -z "$n" ] || { umount "$n"; rm -f "$n"; }
  check "stop after the netns went away" cri stop "$A"; cri remove "$A" >/dev/null; sleep 0.3
  no_leak "netns gone" fw
  # no address left: ADD fails, and containerd must be able to clean up
  jq --arg t "$TYPE" '.name="full" | (.plugins[]|select(.type==$t)) |= (.bridge="cbr1" | .ipam=(.ipam|del(.subnet)|.ranges=[[{subnet:"10.90.0.0/30"}]]))' "$CONFLIST" >"$WORK/full"; use_conf "$WORK/full"
  A=$(cri run full-1 | field .id); out=$(cri run full-2 2>&1); rc=$?
  is "RunPodSandbox fails when the subnet is full" $rc 1; say "# $(cut -c1-400 <<<"$out")"
  is "only one port on the bridge" "$(ports_of cbr1)" 1
  is "one address in its store" "$(store_count "$(dirname "$STORE")/full")" 1
  cri stop "$A" >/dev/null; cri remove "$A" >/dev/null
  A=$(cri run full-3 | field .id); is "the address is free again for the next pod" "$(cri pod "$A" | field .state)" SANDBOX_READY
  ids=$(cri list | field '.[].id'); cri stop $ids >/dev/null; cri remove $ids >/dev/null; sleep 0.3
  is "store empty" "$(store_count "$(dirname "$STORE")/full")" 0; wait_for $PATIENCE no_veth; is "veth left" "$(veth_count)" 0
  use_conf "$CONFLIST"
fi

if has caps; then
  say "# capability arguments"
  jq --arg t "$TYPE" '(.plugins[]|select(.type==$t)) |= (.capabilities={portMappings:true,bandwidth:true,dns:true,cgroupPath:true,ipRanges:true,ips:true,mac:true,"io.kubernetes.cri.pod-annotations":true})' "$CONFLIST" >"$WORK/caps"; use_conf "$WORK/caps"
  A=$(cri run --port 18080:80 --dns 10.96.0.10 --ann kubernetes.io/ingress-bandwidth=10M --ann kubernetes.io/egress-bandwidth=20M --ann example.com/team=blue --ns web --uid 0f1e2d3c-0000-4000-8000-000000000001 caps | field .id); seen
  is "a pod with host port, DNS, bandwidth and annotations runs" "$(cri pod "$A" | field .state)" SANDBOX_READY
  check "and stops" cri stop "$A"; cri remove "$A" >/dev/null; no_leak "capabilities" fw
fi

if has template; then
  say "# conf_template: the runtime makes the node's configuration from the pod CIDRs"
  stop; rm -f $NETD/*
  cat >"$WORK/template" <<T
{ "cniVersion": "$CONF_VERSION", "name": "node", "plugins": [ { "type": "$TYPE", "bridge": "cbr2", "isGateway": true, "ipMasq": true,
  "ipam": { "type": "$IPAM_TYPE",
    "ranges": [{{range \$i, \$r := .PodCIDRRanges}}{{if \$i}}, {{end}}[{"subnet": "{{\$r}}"}]{{end}}],
    "routes": [{{range \$i, \$r := .Routes}}{{if \$i}}, {{end}}{"dst": "{{\$r}}"}{{end}}] } } ] }
T
  start "$WORK/template"; check "network not ready before the CIDRs are known" notready
  check "UpdateRuntimeConfig" cri cidr 10.91.5.0/24,fd00:91:5::/64
  check "network ready" wait_for $PATIENCE ready
  f=$(ls $NETD/*.conflist); say "# $(basename "$f"): $(jq -c .plugins[0].ipam "$f")"
  is "rendered ranges" "$(jq -c '[.plugins[0].ipam.ranges[][0].subnet]' "$f")" '["10.91.5.0/24","fd00:91:5::/64"]'
  is "rendered routes" "$(jq -c '[.plugins[0].ipam.routes[].dst]' "$f")" '["0.0.0.0/0","::/0"]'
  A=$(cri run tmpl | field .id); p=$(cri pod "$A"); say "# pod IPs $(jq -c .ips <<<"$p")"
  is "two pod IPs" "$(field '.ips|length' <<<"$p")" 2
  is "from the node's CIDRs" "$(field '.ips|(.[0]|startswith("10.91.5."))and(.[1]|startswith("fd00:91:5:"))' <<<"$p")" true
  check "stop" cri stop "$A"; check "remove" cri remove "$A"; sleep 0.3
  is "store empty" "$(store_count "$(dirname "$STORE")/node")" 0; wait_for $PATIENCE no_veth; is "veth left" "$(veth_count)" 0
fi
is "containerd still alive" "$(pid_alive "$CD" && echo yes)" yes
finish
