/** The machine: rights, tools, kernel. */
import { needsVlanFiltering } from '../../core/vlans.ts'
import { type Check, ofEach } from './facts.ts'

/** Without rights the rest can't be seen, let alone mended. */
export const rights: Check = ({ isPrivileged, command }) =>
  isPrivileged
    ? []
    : [
        {
          check: 'rights',
          level: 'error',
          network: '',
          what: 'this process may not change the network',
          why: 'CAP_NET_ADMIN and CAP_SYS_ADMIN are needed to look at namespaces and rules; what follows may be incomplete',
          fix: `sudo ${command} doctor`,
          isSafe: false,
        },
      ]

export const tools: Check = ({ tools: all, installer }) =>
  all
    .filter(({ path, neededBy }) => path === undefined && neededBy.length > 0)
    .map(({ tool, neededBy, package: name }) => ({
      check: 'tool-missing',
      level: 'error',
      network: '',
      what: `the tool ${tool} is missing`,
      why: `every ADD of ${neededBy.join(', ')} fails with code 104`,
      fix: `${installer} ${name}`,
      isSafe: false,
    }))

/** Who has no rights is refused by the kernel, too. */
export const nftables: Check = ({ nftProblem, isPrivileged }) =>
  nftProblem === '' || !isPrivileged
    ? []
    : [
        {
          check: 'kernel-nftables',
          level: 'error',
          network: '',
          what: `nft can't talk to the kernel: ${nftProblem}`,
          why: 'pods are not masqueraded, and their hardware addresses not checked',
          fix: 'modprobe -a nf_tables nft_chain_nat nft_masq',
          isSafe: false,
        },
      ]

export const vlanFiltering = ofEach(({ network: { netconf } }, { links }) => {
  const bridge = links.get(netconf.bridge)
  if (!needsVlanFiltering(netconf) || bridge?.type !== 'bridge') return []
  if (bridge.vlanFiltering === 'unknown to the kernel') {
    return [
      {
        check: 'kernel-vlans',
        level: 'error',
        what: 'the kernel has no VLAN filtering for bridges',
        why: 'vlan and vlanTrunk need CONFIG_BRIDGE_VLAN_FILTERING: every ADD fails with code 102',
        fix: 'grep BRIDGE_VLAN_FILTERING /boot/config-*  # then boot a kernel that says y',
        isSafe: false,
      },
    ]
  }
  if (bridge.vlanFiltering !== 'off') return []
  return [
    {
      check: 'bridge-vlans',
      level: 'error',
      what: `the bridge ${netconf.bridge} does not tell VLANs apart`,
      why: 'its pods would be in one network, whatever their VLAN; every ADD is refused',
      fix: `ip link set dev ${netconf.bridge} type bridge vlan_filtering 1`,
      isSafe: false,
    },
  ]
})

/** kube-proxy translates by the packet filter: what is bridged from pod to pod must pass it. */
export const bridgeFilter: Check = ({ bridgeFilter: isOn, hasKubeProxy }) =>
  isOn || !hasKubeProxy
    ? []
    : [
        {
          check: 'br-netfilter',
          level: 'warning',
          network: '',
          what: isOn === undefined ? 'br_netfilter is not loaded' : 'net.bridge.bridge-nf-call-iptables is 0',
          why: 'kube-proxy is here: a pod can’t reach a Service whose backend is on the same node',
          fix: 'modprobe br_netfilter && sysctl -w net.bridge.bridge-nf-call-iptables=1',
          isSafe: false,
        },
      ]

/** Share of the table from which on it is worth a word. */
const NEARLY = 0.9

export const conntrack: Check = ({ conntrack: table }) => {
  if (!table || table.count < table.max * NEARLY) return []
  return [
    {
      check: 'conntrack-full',
      level: table.count >= table.max ? 'error' : 'warning',
      network: '',
      what: `the kernel tracks ${table.count} connections, of ${table.max} that it can`,
      why: 'beyond that it drops the packets of new connections, and masquerading needs every one tracked',
      fix: `sysctl -w net.netfilter.nf_conntrack_max=${table.max * 2}`,
      isSafe: false,
    },
  ]
}

export const xtablesLock: Check = ({ xtables }) => {
  if (!xtables) return []
  const { pid, command, path } = xtables
  const who = pid > 0 ? `process ${pid} (${command || 'unknown'})` : 'a process of another PID namespace'
  return [
    {
      check: 'xtables-lock',
      level: 'error',
      network: '',
      what: `the lock of iptables, ${path}, is held for more than 2 s, by ${who}`,
      why: 'whatever uses iptables waits for it: ADDs that do, plugins such as portmap, kube-proxy',
      fix: pid > 0 ? `kill ${pid}` : `lsof ${path}`,
      isSafe: false,
    },
  ]
}
