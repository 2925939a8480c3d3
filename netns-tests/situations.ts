/** In which situation the commands of the documents are run, and which are not run, and why. */
import { REFERENCE } from './reference.ts'

export interface Situation {
  /** Done first, by the same shell. */
  readonly prepare?: string
  /** Done right before a command, which is named by its first line. */
  readonly before?: Readonly<Record<string, string>>
  /** The exit status, where it is not 0. */
  readonly status?: Readonly<Record<string, number>>
}

const call = (verb: string, id: string, pod: string) =>
  `CNI_COMMAND=${verb} CNI_CONTAINERID=${id} CNI_NETNS=/run/netns/${id} CNI_IFNAME=eth0 CNI_PATH=/opt/cni/bin \\
    CNI_ARGS='IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=${pod}' pontoon <<<"$(plugin)" >/run/${id}.result`
const addPod = (id: string, pod: string) => `ip netns add ${id}; ${call('ADD', id, pod)}`
const network = (file: string) => `cp ${file} /etc/cni/net.d/10-pods.conflist
  plugin() { jq '{cniVersion, name} + .plugins[0]' /etc/cni/net.d/10-pods.conflist; }`

/** The pods of docs/commands.md: two that live, one that is gone without a word. */
const SHOP = `${network('conf/minimal.conflist')}
  ip link add ens3 type veth peer name out; ip addr add 192.0.2.2/24 dev ens3
  ip link set ens3 up; ip link set out up; ip route add default via 192.0.2.1
  ${addPod('3fa1', 'web')}; ${addPod('77c0', 'db-0')}`

const DEAD = `${addPod('91be', 'cart')}; ip netns del 91be
  while ls /sys/class/net/veth99ce42bb96c; do sleep 0.1; done >/dev/null 2>&1`

const COMPLETIONS =
  'mkdir -p /usr/share/bash-completion/completions /usr/share/zsh/site-functions ~/.config/fish/completions'

/** A node that has no plugins: what was built is called by its path. */
const NO_PLUGINS = 'umount /opt/cni/bin/pontoon; rm -f /opt/cni/bin/*'
const BARE = `${NO_PLUGINS}; PATH=/run/tree:$PATH`

export const SITUATIONS: Readonly<Record<string, Situation>> = {
  'README.md': {
    prepare: `${SHOP}; plugin >net.conf; ip netns add other; export CNI_NETNS=/run/netns/other`,
  },
  'docs/operations.md': {
    prepare: `${network('conf/dual-stack.conflist')}; for pod in blue green; do ip netns add $pod
      CNI_COMMAND=ADD CNI_CONTAINERID=$pod CNI_NETNS=/run/netns/$pod CNI_IFNAME=eth0 pontoon <<<"$(plugin)"; done >/dev/null`,
    before: { 'pontoon repair': 'nft flush ruleset' },
  },
  'docs/many-nodes.md': {
    prepare: 'ip link add lan type veth peer name out; ip addr add 192.168.9.1/24 dev lan; ip link set lan up',
  },
  'docs/install.md': {
    prepare: `${BARE}; cp conf/minimal.conflist my.conflist`,
  },
  'docs/getting-started.md': { prepare: NO_PLUGINS },
  'docs/migration.md': { prepare: `${BARE}; cp ${REFERENCE}/bridge ${REFERENCE}/host-local /opt/cni/bin/` },
  'docs/commands.md': {
    prepare: SHOP,
    before: {
      'pontoon doctor (2)': 'nft flush ruleset; sysctl -qw net.ipv4.ip_forward=0; iptables -P FORWARD DROP',
      'pontoon leases': `iptables -P FORWARD ACCEPT; ${DEAD}`,
      'pontoon plan ADD --container 4d2e </etc/cni/net.d/10-pods.conflist': 'ip netns add 4d2e',
      'pontoon repair': 'pontoon gc --apply >/dev/null; nft flush ruleset',
      'pontoon completion bash >/usr/share/bash-completion/completions/pontoon': COMPLETIONS,
      'cat /var/log/pontoon.jsonl': `PONTOON_LOG=/var/log/pontoon.jsonl ${call('DEL', '77c0', 'db-0')}`,
    },
    status: {
      'pontoon doctor (2)': 1,
      'pontoon doctor --fix': 1,
      'pontoon plan ADD --container 77c0 --netns /run/netns/77c0 </etc/cni/net.d/10-pods.conflist': 1,
    },
  },
}

/** Lines of sh blocks, and first lines of console blocks. */
export const NOT_RUN: Readonly<Record<string, readonly string[]>> = {
  'there is no journal in a namespace; netns-tests/journal.test.ts reads what is sent to it': [
    'journalctl -t pontoon -o cat | jq .',
    'journalctl -t pontoon -p err --since -1h',
    'journalctl -t pontoon PONTOON_POD=shop/web',
  ],
  'what builds and tests the project runs this test': [
    './scripts/test',
    './scripts/setup',
    'npm run --silent build -- quickjs',
    'npm run build',
    './scripts/test lint types unit',
    'npx vitest run --project unit test/core/plan.test.ts',
    "npx vitest run --project unit test/core/plan.test.ts -t 'refused'",
    'PONTOON_EXE=dist/pontoon npx vitest run --project netns netns-tests/processes.test.ts',
    'scripts/setup release',
    'npm run release',
  ],
  'netns-tests/quickstart.test.ts runs it': ['./scripts/quickstart', 'A pod called blue'],
  'needs a cluster; netns-tests/install.test.ts runs what the image and the DaemonSet run': [
    'podman build -f conf/kubernetes/Containerfile -t REGISTRY/pontoon:0.1.0 .',
    'kubectl apply -f conf/kubernetes/pontoon.yaml',
  ],
  'messages; netns-tests/stale.test.ts, gc-status.test.ts and hostile.test.ts have them': [
    'pontoon: reclaimed 10.9.0.2 of container p5, which is gone',
    'cni0 has lost its gateway address 10.22.0.1/24; run "ip addr add 10.22.0.1/24 dev cni0"',
    'CNI_IFNAME "a\\nlink del cni0" contains /, : or white space',
  ],
  'no two runs take the same time; netns-tests/trace.test.ts reads its lines': [
    '$ PONTOON_TRACE=1 CNI_COMMAND=ADD … pontoon < net.json',
  ],
}
