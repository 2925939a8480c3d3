#!/bin/bash
# Client 3: podman 4.3 (Debian 12) with network_backend = "cni", rootful.
#   [CONFLIST=...] bash podman.sh
#   RUNTIME=runc|crun   the OCI runtime. Default: runc (crun 1.8 refuses a machine with hybrid cgroups)
# Two networks: the given one, and one that podman itself makes (`podman network
# create`: bridge + portmap + firewall + tuning), which needs the plugin to be there
# under the names bridge and host-local.
. "$(dirname "$0")/lib.sh"
: "${RUNTIME:=runc}"; export RUNTIME
if [ -z "${CLIENTS_INNER:-}" ]; then
  apt_install iproute2 iptables nftables jq iputils-ping busybox-static podman conmon "$RUNTIME" && plugins_under_test && fallback_plugins || { say "0 passed, 1 failed"; exit 1; }
fi
isolate "$@"

mkdir -p /run/clients "$WORK/storage"
cat >"$WORK/containers.conf" <<T
[containers]
default_ulimits = []
cgroups = "enabled"
init = false
log_driver = "k8s-file"
seccomp_profile = "unconfined"
default_sysctls = []
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "shm"
runtime = "$RUNTIME"
tmp_dir = "/run/clients/libpod"
[network]
network_backend = "cni"
cni_plugin_dirs = ["$BIN"]
network_config_dir = "$NETD"
default_network = "$NET"
T
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "/run/clients/run"\n' "$WORK/storage" >"$WORK/storage.conf"
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$WORK/policy.json"
export CONTAINERS_CONF=$WORK/containers.conf CONTAINERS_STORAGE_CONF=$WORK/storage.conf
export HOME=$WORK XDG_RUNTIME_DIR=/run/clients
pod() { timeout 300 podman --root "$WORK/storage" --runroot /run/clients/run --storage-driver vfs "$@"; }
# an image without CAP_SYS_RESOURCE cannot raise limits: --ulimit host keeps those it has
run() { pod run -d --ulimit host --cgroup-parent "/$CG" "$@"; }
cleanup() { pod rm -f -t 0 --all >/dev/null 2>&1; }
ip_of() { pod inspect -f "{{(index .NetworkSettings.Networks \"$2\").IPAddress}}" "$1"; }
ip6_of() { pod inspect -f "{{(index .NetworkSettings.Networks \"$2\").GlobalIPv6Address}}" "$1"; }

cp "$CONFLIST" $NETD/10-net.conflist
busybox_rootfs "$WORK/rootfs"; tar -C "$WORK/rootfs" -cf "$WORK/busybox.tar" .
say "# $(podman --version), $($RUNTIME --version | head -1), plugin $TYPE"
is "podman uses the CNI backend" "$(pod info -f '{{.Host.NetworkBackend}}' 2>&1)" cni
check "image from a tar of busybox" pod import -c 'CMD ["/bin/sleep","1000000"]' -c 'ENV PATH=/bin' -c 'STOPSIGNAL SIGKILL' "$WORK/busybox.tar" localhost/busybox:1
check "podman lists the network $NET" pod network exists "$NET"

say "# network $NET (the given configuration)"
t0=$(now_ms); check "run a" run --name a --network "$NET" localhost/busybox:1; say "# podman run: $(( $(now_ms)-t0 )) ms"
check "run b" run --name b --network "$NET" localhost/busybox:1; seen
a4=$(ip_of a "$NET") b4=$(ip_of b "$NET") a6=$(ip6_of a "$NET") b6=$(ip6_of b "$NET"); say "# a $a4 $a6  b $b4 $b6"
is "addresses in the store" "$(store_count)" $((2*FAMILIES))
is "addresses podman inspect shows" "$(printf '%s\n' $a4 $a6 $b4 $b6 | sort | tr '\n' ' ')" "$(store_entries | tr _ : | sort | tr '\n' ' ')"
for ip in $b4 $b6; do check "a reaches b by $ip" pod exec a /bin/ping -c1 -W20 "$ip"; done
for ip in $a4 $a6; do check "b reaches a by $ip" pod exec b /bin/ping -c1 -W20 "$ip"; done
check "a is reached from the host side by $a4" ping -c1 -W20 "$a4"
check "podman network reload a" pod network reload a; seen
a4=$(ip_of a "$NET"); check "b reaches a after the reload by $a4" pod exec b /bin/ping -c1 -W20 "$a4"
is "addresses in the store after the reload" "$(store_count)" $((2*FAMILIES))
check "restart b" pod restart -t 0 b; seen; is "addresses in the store after the restart" "$(store_count)" $((2*FAMILIES))
# b may have its address again with another hardware address (the store hands out the next one after the
# last given, and the reload of a moved that back): a's neighbour entry is then stale for up to a minute
# unless the plugin announces the address (gratuitous ARP, unsolicited neighbour advertisement).
b4=$(ip_of b "$NET"); mac=$(pod exec b /bin/cat /sys/class/net/eth0/address); p=$(pod inspect -f '{{.State.Pid}}' a)
neighbour() { nsenter -t "$p" -n ip neigh show "$b4"; }
right() { ! neighbour | grep -q lladdr || neighbour | grep -qF "$mac"; } # without a packet of a's: nothing else puts it right
if [ -n "$STRICT" ]; then check "a knows where $b4 is after the restart" wait_for $PATIENCE right
else right || say "note - a does not know where $b4 is after the restart: the address was not announced"; fi
[ -z "$STRICT" ] || check "a reaches b after the restart by $b4" pod exec a /bin/ping -c1 -W20 "$b4"
p=$(pod inspect -f '{{.State.Pid}}' b); kill9 "$p"; wait_for $PATIENCE sh -c "[ \$(podman --root $WORK/storage --runroot /run/clients/run --storage-driver vfs inspect -f '{{.State.Running}}' b) = false ]"
wait_for $PATIENCE store_has "$FAMILIES"
is "the killed container's addresses are given back" "$(store_count)" "$FAMILIES"
check "rm a b" pod rm -f -t 0 a b; sleep 0.3; no_leak "$NET" fw
# many at once
pids=""; for i in 1 2 3 4 5 6 7 8; do run --name "p$i" --network "$NET" localhost/busybox:1 >/dev/null 2>"$LOG/p$i" & pids="$pids $!"; done
e=0; for p in $pids; do wait "$p" || e=$((e+1)); done; is "8 containers at once: errors" $e 0; cat "$LOG"/p? | head -3
is "8 containers at once: addresses in the store" "$(store_count)" $((8*FAMILIES)); seen
check "rm all" pod rm -f -t 0 --all; sleep 0.3; no_leak "8 containers" fw

if [ ! -e "$PLUGIN_DIR/bridge" ] || [ ! -e "$PLUGIN_DIR/host-local" ]; then
  say "note - the network that podman makes itself was left out: $PLUGIN_DIR has no bridge and host-local"
else
  say "# network that podman made"
  check "podman network create" pod network create --subnet 10.92.0.0/24 --subnet fd00:92::/64 --ipv6 made
  f=$(grep -l '"name": "made"' $NETD/*); say "# $(jq -c '[.cniVersion, (.plugins[]|.type)]' "$f")"; [ -z "${KEEP:-}" ] || cp "$f" "$KEEP/"
  S=$(dirname "$STORE")/made
  check "run c with a host port and a fixed address" run --name c --network made --ip 10.92.0.77 --mac-address 02:00:00:00:00:77 -p 18080:80 localhost/busybox:1 /bin/httpd -f -p 80 -h /etc
  check "run d" run --name d --network made localhost/busybox:1; seen "$S"
  is "the fixed address is used" "$(ip_of c made)" 10.92.0.77
  is "the fixed hardware address is used" "$(pod exec c /bin/cat /sys/class/net/eth0/address)" 02:00:00:00:00:77
  check "d reaches c" pod exec d /bin/ping -c1 -W20 10.92.0.77
  wait_for $PATIENCE pod exec d /bin/wget -qO /dev/null http://10.92.0.77/passwd
  is "d reads a file of c over HTTP" "$(pod exec d /bin/wget -qO- http://10.92.0.77/passwd | cut -d: -f1)" root
  is "the host port answers" "$(busybox wget -qO- http://127.0.0.1:18080/passwd | cut -d: -f1)" root
  check "a second network for d (eth1)" pod network connect "$NET" d; seen
  is "d has eth0 and eth1" "$(pod exec d /bin/ls /sys/class/net | grep -c eth)" 2
  is "addresses of both networks in the stores" "$(store_count "$S")+$(store_count)" "4+$FAMILIES"
  check "disconnect d from $NET" pod network disconnect "$NET" d; is "addresses left of $NET" "$(store_count)" 0
  check "rm c d" pod rm -f -t 0 c d; sleep 0.3
  is "made: addresses left in the store" "$(store_count "$S")" 0; no_leak "made" fw
  check "podman network rm" pod network rm made
fi
finish
