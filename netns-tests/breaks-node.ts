/** What the node's other programs, and people, do to it: firewalls, routes, locks, executables, kernel settings. */
import type { Break } from './breaks.ts'
import { BRIDGE } from './plugin.ts'

/** As firewalld has it: it accepts by policy, and rejects in its last rule. */
const FIREWALLD = `add table inet firewalld
add chain inet firewalld filter_FWD_trusted
add rule inet firewalld filter_FWD_trusted accept
add chain inet firewalld filter_FORWARD { type filter hook forward priority filter + 10; policy accept; }
add chain inet firewalld filter_FORWARD_ZONES
add rule inet firewalld filter_FORWARD ct state { established, related } accept
add rule inet firewalld filter_FORWARD iifname "lo" accept
add rule inet firewalld filter_FORWARD jump filter_FORWARD_ZONES
add rule inet firewalld filter_FORWARD reject with icmpx type admin-prohibited`

/** Only firewalld itself runs its command: a stand-in does to the rules what it would. */
const FIREWALL_CMD = `#!/bin/sh
case "$*" in
  *--add-interface=*) nft "insert rule inet firewalld filter_FORWARD_ZONES iifname \\"\${3#--add-interface=}\\" goto filter_FWD_trusted" ;;
esac`

export const BREAKS_OF_THE_NODE: readonly Break[] = [
  {
    name: 'a firewalld that has never heard of the bridge',
    check: 'forward-drop',
    fix: /^firewall-cmd --permanent --zone=trusted --add-interface=br-t && firewall-cmd --reload$/,
    damage: (lab) => {
      lab.must('sh', '-c', `printf '%s' '${FIREWALLD}' | nft -f -`)
      const layers = 'lowerdir=/usr/sbin,upperdir=/run/o/u,workdir=/run/o/w'
      lab.must('sh', '-c', `mkdir -p /run/o/u /run/o/w; mount -t overlay -o ${layers} overlay /usr/sbin`)
      lab.must('sh', '-c', `printf '%s' '${FIREWALL_CMD}' >/usr/sbin/firewall-cmd; chmod +x /usr/sbin/firewall-cmd`)
    },
  },
  {
    name: 'an iptables that rejects in its last rule',
    check: 'forward-drop',
    fix: /^iptables -I FORWARD -i br-t -j ACCEPT && iptables -I FORWARD -o br-t -j ACCEPT$/,
    damage: (lab) => lab.must('iptables', '-A', 'FORWARD', '-j', 'REJECT', '--reject-with', 'icmp-host-prohibited'),
  },
  {
    name: 'a lock of iptables that hangs',
    check: 'xtables-lock',
    fix: /^kill \d+$/,
    damage: (lab) => {
      lab.background('flock', '--no-fork', '/run/xtables.lock', 'sleep', '60')
      lab.must('sh', '-c', 'until ! flock -n /run/xtables.lock true; do sleep 0.05; done')
    },
  },
  {
    name: 'a bridge that alone does not forward',
    check: 'forwarding-off',
    fix: /^sysctl -w net\.ipv4\.conf\.br-t\.forwarding=1$/,
    damage: (lab) => lab.must('sh', '-c', 'echo 0 >/proc/sys/net/ipv4/conf/br-t/forwarding'),
  },
  {
    name: 'a tunnel whose route takes the pods’ addresses',
    check: 'route-elsewhere',
    fix: /^ip route del 10\.9\.0\.0\/25 dev wg0$/,
    damage: (lab) =>
      lab.must(
        'sh',
        '-c',
        'ip link add wg0 type veth peer name wgx; ip addr add 10.99.0.2/32 dev wg0; ip link set wg0 up; ip link set wgx up; ' +
          'ip route add 10.0.0.0/8 dev wg0; ip route add 10.9.0.0/25 dev wg0',
      ),
  },
  {
    name: 'a full /run',
    check: 'store-unusable',
    fix: /^df -h \/run\/pontoon\/t; df -i /,
    damage: (lab) => {
      lab.must('sh', '-c', 'mount -o remount,size=1M /run; cat /dev/zero >/run/big 2>/dev/null; [ -s /run/big ]')
    },
    follow: (lab) => lab.must('rm', '/run/big'),
  },
  {
    name: 'a plugin of the list that is not installed',
    check: 'plugin-missing',
    fix: / containernetworking-plugins$/,
    damage: (lab) => {
      const list = '{"cniVersion":"1.0.0","name":"u","plugins":[{"type":"pontoon","bridge":"br-u"},{"type":"nowhere"}]}'
      lab.must('sh', '-c', `echo '${list}' >/etc/cni/net.d/20-u.conflist`)
    },
    follow: (lab) => lab.must('rm', '/etc/cni/net.d/20-u.conflist'),
  },
]

/** What is amiss before the first pod comes. */
export const BREAKS_WITHOUT_PODS: readonly Break[] = [
  {
    name: 'no network at all',
    check: 'conf-none',
    fix: /^\/opt\/cni\/bin\/pontoon install --conflist 10-pods\.conflist$/,
    damage: (lab) => lab.must('rm', '/etc/cni/net.d/10-t.conflist'),
  },
  {
    name: 'a bridge that another installation has left, with its gateway',
    check: 'gateway-conflict',
    fix: /^ip addr del 10\.9\.0\.254\/24 dev br-t && .*pontoon repair t$/,
    damage: (lab) => {
      lab.must('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
      lab.must('ip', 'addr', 'add', '10.9.0.254/24', 'dev', BRIDGE)
    },
  },
]
