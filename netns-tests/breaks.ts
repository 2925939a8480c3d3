/** What people and programs do to a node, and what doctor is to say of it. */
import { end, putConf } from './commands.ts'
import type { Json, Lab } from './lab.ts'
import { add, BRIDGE, conf } from './plugin.ts'

export interface Break {
  readonly name: string
  readonly check: string
  readonly fix: RegExp
  readonly keys?: Json
  damage(lab: Lab): void
  /** What is needed beside the command, which only makes room for it. */
  follow?(lab: Lab): void
}

/** Two addresses. */
const TWO = { ipam: { ranges: [[{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.2', rangeEnd: '10.9.0.3' }]] } }

export const BREAKS: readonly Break[] = [
  {
    name: 'flushed rules',
    check: 'masquerade-missing',
    fix: /^\/opt\/cni\/bin\/pontoon repair t$/,
    damage: (lab) => lab.must('nft', 'flush', 'ruleset'),
  },
  {
    name: 'a flushed chain of nat',
    check: 'masquerade-missing',
    fix: /^\/opt\/cni\/bin\/pontoon repair t$/,
    damage: (lab) => lab.must('nft', 'flush', 'chain', 'inet', 'cni_plugins_masquerade', 'postrouting'),
  },
  {
    name: 'a gateway address that was dropped',
    check: 'gateway-missing',
    fix: /^ip addr add 10\.9\.0\.1\/24 dev br-t brd \+$/,
    damage: (lab) => lab.must('ip', 'addr', 'del', '10.9.0.1/24', 'dev', BRIDGE),
  },
  {
    name: 'forwarding that is off',
    check: 'forwarding-off',
    fix: /^sysctl -w net\.ipv4\.ip_forward=1$/,
    damage: (lab) => lab.must('sh', '-c', 'echo 0 >/proc/sys/net/ipv4/ip_forward'),
  },
  {
    name: 'a policy of iptables that drops',
    check: 'forward-drop',
    fix: /^iptables -I FORWARD -i br-t -j ACCEPT && iptables -I FORWARD -o br-t -j ACCEPT$/,
    damage: (lab) => lab.must('iptables', '-P', 'FORWARD', 'DROP'),
  },
  {
    name: 'a chain of nft that drops',
    check: 'forward-drop',
    fix: /^nft 'insert rule inet fw forward iifname "br-t" accept' && nft '.*oifname/,
    damage: (lab) =>
      lab.must(
        'nft',
        'add table inet fw; add chain inet fw forward { type filter hook forward priority 0; policy drop; }; ' +
          'add rule inet fw forward ct state established accept',
      ),
  },
  {
    name: 'an exhausted range that the dead hold',
    check: 'range-full',
    keys: TWO,
    fix: /pontoon gc t --apply$/,
    damage: (lab) => {
      add(lab, 'b', conf(TWO))
      end(lab, 'a')
    },
  },
  {
    name: 'a dead lease',
    check: 'lease-dead',
    fix: /pontoon gc t --apply$/,
    damage: (lab) => end(lab, 'a'),
  },
  {
    name: 'a reservation that was lost',
    check: 'lease-lost',
    fix: /10\.9\.0\.2/,
    damage: (lab) => lab.must('rm', '/var/lib/cni/networks/t/10.9.0.2'),
  },
  {
    name: 'a reservation that nobody owns',
    check: 'lease-ownerless',
    fix: /^rm \/var\/lib\/cni\/networks\/t\/10\.9\.0\.99$/,
    damage: (lab) => {
      const path = '/var/lib/cni/networks/t/10.9.0.99'
      lab.must('sh', '-c', `printf 'ghost\\r\\neth0' >${path}; touch -d '-1 hour' ${path}`)
    },
  },
  {
    name: 'a rule of an address that nobody has',
    check: 'rule-orphan',
    fix: /delete element inet cni_plugins_masquerade/,
    damage: (lab) => lab.must('nft', 'add element inet cni_plugins_masquerade pods-t-10.9.0.0/24 { 10.9.0.200 }'),
  },
  {
    name: 'a pod whose address was removed',
    check: 'pod-drift',
    // The kernel has taken the route with the address.
    fix: /^nsenter --net=\/run\/netns\/a ip addr add 10\.9\.0\.2\/24 dev eth0 brd \+ && nsenter .* ip route replace /,
    damage: (lab) => lab.must('ip', '-n', 'a', 'addr', 'del', '10.9.0.2/24', 'dev', 'eth0'),
  },
  {
    name: 'a pod whose default route was removed',
    check: 'pod-drift',
    fix: /^nsenter --net=\/run\/netns\/a ip route replace 0\.0\.0\.0\/0 via 10\.9\.0\.1 dev eth0$/,
    damage: (lab) => lab.must('ip', '-n', 'a', 'route', 'del', 'default'),
  },
  {
    name: 'a bridge that is down',
    check: 'bridge-down',
    fix: /^ip link set dev br-t up$/,
    damage: (lab) => lab.must('ip', 'link', 'set', BRIDGE, 'down'),
  },
  {
    name: 'a host end that was taken off the bridge',
    check: 'port-wrong',
    fix: /pontoon repair t$/,
    damage: (lab) => lab.must('sh', '-c', 'ip link set $(basename /sys/class/net/veth*) nomaster'),
  },
  {
    name: 'a bridge that is gone',
    check: 'bridge-gone',
    fix: /pontoon repair t$/,
    damage: (lab) => lab.must('ip', 'link', 'del', BRIDGE),
  },
  {
    name: 'a device with the name of the bridge',
    check: 'bridge-foreign',
    fix: /^ip link del dev br-t$/,
    damage: (lab) => {
      lab.must('ip', 'link', 'del', BRIDGE)
      lab.must('ip', 'link', 'add', BRIDGE, 'type', 'veth', 'peer', 'name', 'other')
    },
    follow: (lab) => lab.must('/opt/cni/bin/pontoon', 'repair', 't'),
  },
  {
    name: 'another gateway that is in the way',
    check: 'gateway-conflict',
    fix: /^ip addr del 10\.9\.0\.5\/24 dev br-t && .*pontoon repair t$/,
    damage: (lab) => {
      lab.must('ip', 'addr', 'del', '10.9.0.1/24', 'dev', BRIDGE)
      lab.must('ip', 'addr', 'add', '10.9.0.5/24', 'dev', BRIDGE)
    },
  },
  {
    name: 'a store on a full disk',
    check: 'store-unusable',
    fix: /^df -h \/var\/lib\/cni\/networks\/t; df -i /,
    damage: (lab) => {
      const store = '/var/lib/cni/networks/t'
      lab.must(
        'sh',
        '-c',
        `cp -a ${store} /run/kept; mount -t tmpfs -o nr_inodes=8 none ${store}; cp -a /run/kept/. ${store}`,
      )
      lab.must('sh', '-c', `i=0; while touch ${store}/x$i 2>/run/why; do i=$((i + 1)); done; grep -q space /run/why`)
    },
    follow: (lab) => lab.must('umount', '/var/lib/cni/networks/t'),
  },
  {
    name: 'a store on a file system that is mounted read-only',
    check: 'store-unusable',
    fix: /^findmnt -T \/var\/lib\/cni\/networks\/t; lsattr/,
    damage: (lab) => {
      const store = '/var/lib/cni/networks/t'
      lab.must('sh', '-c', `mount --bind ${store} ${store}; mount -o remount,bind,ro ${store}`)
    },
    follow: (lab) => lab.must('umount', '/var/lib/cni/networks/t'),
  },
  {
    name: 'a lock that a killed process left',
    check: 'lock-held',
    fix: /^rmdir \/var\/lib\/cni\/networks\/t\/lock\.lock$/,
    damage: (lab) => {
      const path = '/var/lib/cni/networks/t/lock.lock'
      lab.must('sh', '-c', `mkdir ${path}; touch -d '-1 minute' ${path}`)
    },
  },
  {
    name: 'a lock that a living process holds',
    check: 'lock-held',
    fix: /^kill \d+$/,
    damage: (lab) => {
      const store = '/var/lib/cni/networks/t'
      const script =
        `mkdir ${store}/lock.lock; echo $$ >/run/pontoon/holder%var%lib%cni%networks%t; ` +
        "touch -d '-1 minute' /run/pontoon/holder*; " +
        `trap 'rmdir ${store}/lock.lock; exit' TERM; : >/run/held; while :; do touch -d '+1 hour' ${store}/lock.lock; sleep 0.2; done`
      lab.background('sh', '-c', script)
      lab.must('sh', '-c', 'until [ -e /run/held ]; do sleep 0.05; done')
    },
    follow: (lab) => lab.must('sh', '-c', 'while [ -e /var/lib/cni/networks/t/lock.lock ]; do sleep 0.05; done'),
  },
  {
    name: 'two files that want the first place',
    check: 'conf-first',
    fix: /^mv \/etc\/cni\/net\.d\/10-u\.conflist /,
    damage: (lab) =>
      putConf(
        lab,
        conf({ name: 'u', bridge: 'br-u', ipam: { ranges: [[{ subnet: '10.8.0.0/24' }]] } }),
        '10-u.conflist',
      ),
  },
  {
    name: 'a file of another plugin that comes first',
    check: 'conf-first',
    fix: /^mv \/etc\/cni\/net\.d\/05-x\.conflist /,
    damage: (lab) => putConf(lab, { cniVersion: '1.0.0', name: 'x', type: 'calico' }, '05-x.conflist'),
  },
  {
    name: 'two files with one name',
    check: 'conf-duplicate',
    fix: /^mv \/etc\/cni\/net\.d\/20-t\.conflist /,
    damage: (lab) => putConf(lab, conf(), '20-t.conflist'),
  },
]
