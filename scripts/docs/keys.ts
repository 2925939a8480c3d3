/**
 * Every key of the configuration: the source of conf/pontoon.schema.json and docs/configuration.md.
 *
 * A unit test holds it against the schema that the plugin reads with, and against its defaults.
 */
import { anything, flag, type Keys, oneOf, pattern, type Shape, text, texts, whole } from './key.ts'

const since = '0.1.0'
const bridge = { reference: 'bridge' } as const
const hostLocal = { reference: 'host-local' } as const
const own = { own: true } as const
const IGNORED = 'The reference ignores it.'

const identifier = pattern(
  '^[A-Za-z0-9][A-Za-z0-9_.-]*$',
  'string: a letter or digit, then letters, digits, `_`, `.`, `-`',
)
const pluginName = pattern(String.raw`^[^/\\\0]*$`, "string: a plugin's name, without a path")
const linkName = pattern(
  String.raw`^(?!-|\.$|\.\.$)[!$&(-.0-9;-[\]-~]{1,15}$`,
  'string: 1 to 15 printable ASCII characters, none of `/ : # " \' \\ %`, no `-` in front, not `.` or `..`',
)
const SAFE_PATH = String.raw`^\/(?!(.*\/)?\.\.(\/|$))[^\u0000-\u001f]*$`
const safePath = pattern(SAFE_PATH, 'string: an absolute path without `..`')
const logPlace = pattern(`${SAFE_PATH}|^journal$`, 'string: an absolute path without `..`, or `journal`')
const vlanId = whole(1, 4094)
const unsigned = whole(0, 4294967295)

const range: Shape = {
  name: 'range',
  keys: {
    subnet: {
      shape: text,
      isRequired: true,
      example: '10.22.0.0/24',
      origin: hostLocal,
      since,
      text: 'The subnet of the addresses, with its prefix length and without host bits. A /31 or /127 gives both of its addresses, a /32 or /128 its only one.',
    },
    rangeStart: {
      shape: text,
      whenAbsent: 'the first address of the subnet after the network address',
      example: '10.22.0.16',
      origin: hostLocal,
      since,
      text: 'The first address that may be given.',
    },
    rangeEnd: {
      shape: text,
      whenAbsent: 'the last address of the subnet (IPv4: the one before the broadcast address)',
      example: '10.22.0.200',
      origin: hostLocal,
      since,
      text: 'The last address that may be given.',
    },
    gateway: {
      shape: text,
      whenAbsent: 'the first address of the subnet; none for a /32 or /128',
      example: '10.22.0.1',
      origin: hostLocal,
      since,
      text: 'The gateway of the subnet. It is never given to a container. It may be outside of the subnet; the route to it is then "on link".',
    },
    exclude: {
      shape: texts,
      example: ['10.22.0.240/28', '10.22.0.5'],
      origin: own,
      since,
      text: 'Addresses and prefixes that are given only to those who ask for them, with `ips` or `IP=`.',
      differs: IGNORED,
    },
  },
}

const route: Shape = {
  name: 'route',
  keys: {
    dst: {
      shape: text,
      isRequired: true,
      example: '0.0.0.0/0',
      origin: { specification: '0.1.0' },
      since,
      text: 'The destination, with its prefix length.',
    },
    gw: {
      shape: text,
      whenAbsent: "the first gateway of the destination's family",
      example: '10.22.0.1',
      origin: { specification: '0.1.0' },
      since,
      text: 'The next hop.',
    },
    mtu: {
      shape: unsigned,
      whenAbsent: "the interface's",
      example: 1400,
      origin: { specification: '1.1.0' },
      since,
      text: 'The MTU of the route. 0: not set.',
    },
    advmss: {
      shape: unsigned,
      whenAbsent: "the kernel's choice",
      example: 1360,
      origin: { specification: '1.1.0' },
      since,
      text: 'The largest TCP segment that is advertised to the destination. 0: not set.',
    },
    priority: {
      shape: unsigned,
      whenAbsent: "the kernel's choice",
      example: 100,
      origin: { specification: '1.1.0' },
      since,
      text: 'The metric: of several routes the one with the lowest is used. 0: not set.',
    },
    table: {
      shape: unsigned,
      whenAbsent: 'the main table, 254',
      example: 100,
      origin: { specification: '1.1.0' },
      since,
      text: 'The routing table that the route is put into.',
    },
    scope: {
      shape: whole(0, 255),
      whenAbsent: "the kernel's choice",
      example: 253,
      origin: { specification: '1.1.0' },
      since,
      text: '0 global, 253 link, 254 host; IPv6 has none. A route of scope 253 or more gets no gateway.',
    },
  },
}

const rangeSets: Shape = { items: { items: range } }
const routes: Shape = { items: route }

const attachments: Shape = {
  items: {
    name: 'attachment',
    keys: {
      containerID: {
        shape: text,
        isRequired: true,
        example: 'c1',
        origin: { specification: '1.1.0' },
        since,
        text: 'The container.',
      },
      ifname: {
        shape: text,
        isRequired: true,
        example: 'eth0',
        origin: { specification: '1.1.0' },
        since,
        text: 'The name of its interface.',
      },
    },
  },
}

/** Keys of a `.conflist` outside of `plugins`. libcni reads them, and hands each plugin its object, the name and a version. */
export const LIST_KEYS: Keys = {
  cniVersion: {
    shape: oneOf('0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'),
    default: '0.1.0',
    example: '1.0.0',
    origin: { specification: '0.1.0' },
    since,
    text: 'The version of the CNI specification. CHECK needs 0.4.0 or newer, STATUS and GC need 1.1.0.',
  },
  cniVersions: {
    shape: texts,
    whenAbsent: '`cniVersion` alone',
    example: ['0.4.0', '1.0.0', '1.1.0'],
    origin: { specification: '1.1.0' },
    since,
    text: 'Versions to choose from: a libcni that knows the key takes the newest that it speaks, an older one takes `cniVersion`. Read by libcni, never sent to the plugin.',
  },
  name: {
    shape: identifier,
    isRequired: true,
    example: 'pods',
    origin: { specification: '0.1.0' },
    since,
    text: "The network's name. The store, the index, the labels and the nft sets bear it: to change it makes another network.",
  },
  disableCheck: {
    shape: flag,
    default: false,
    example: true,
    origin: { specification: '0.4.0' },
    since,
    text: 'No CHECK of this network. Read by libcni, never sent to the plugin.',
  },
  disableGC: {
    shape: flag,
    default: false,
    example: true,
    origin: { specification: '1.1.0' },
    since,
    text: 'No GC of this network, for names that several runtimes share. Read by libcni; Pontoon obeys it, too, when it is sent.',
  },
}

const ipam: Keys = {
  type: {
    shape: pluginName,
    whenAbsent: '`host-local` when there are ranges or a `dataDir`; else the network is one of layer 2 alone',
    example: 'host-local',
    origin: { specification: '0.1.0' },
    since,
    text: '`host-local` and `pontoon` are served by Pontoon itself, in the same process. Any other name is an IPAM plugin that is looked up in CNI_PATH and run; the other keys of `ipam` are then its own.',
    differs:
      "`host-local` is not started as a second program, and needs not be installed. On ADD's failure the other plugin gets its DEL, on GC it gets GC, and it ends with its caller.",
  },
  ranges: {
    shape: rangeSets,
    whenAbsent: 'none; one range is needed, here, as `subnet`, or in `runtimeConfig.ipRanges`',
    example: [[{ subnet: '10.22.0.0/24' }], [{ subnet: 'fd00:22::/64' }]],
    origin: hostLocal,
    since,
    text: 'A list of range sets, each a list of ranges. The container gets one address of each set: two sets make dual stack. The ranges of a set are of one family, and no two ranges overlap.',
  },
  ...Object.fromEntries(
    Object.entries(range.keys).map(([name, key]) => {
      const { isRequired: _, ...optional } = key
      const absent = name === 'subnet' ? { whenAbsent: '`ranges` alone' } : {}
      const words =
        name === 'subnet'
          ? 'The old form of a single range, which becomes the first set.'
          : `Of that range: ${key.text}`
      return [name, { ...optional, ...absent, text: words }]
    }),
  ),
  routes: {
    shape: routes,
    example: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
    origin: hostLocal,
    since,
    text: 'Routes in the container. They are in the result, too.',
  },
  resolvConf: {
    shape: text,
    example: '/etc/resolv.conf',
    origin: hostLocal,
    since,
    text: 'A file in the form of resolv.conf(5). Its settings are returned as `dns`, unless the network has `dns` itself.',
  },
  dataDir: {
    shape: safePath,
    default: '/var/lib/cni/networks',
    example: '/var/lib/cni/networks',
    origin: hostLocal,
    since,
    text: 'Where the store is: the folder of the network, `<dataDir>/<name>`, is made in it.',
    differs: 'A relative path, or one with `..`, is refused.',
  },
}

const dns: Keys = {
  nameservers: {
    shape: texts,
    example: ['10.96.0.10'],
    origin: { specification: '0.1.0' },
    since,
    text: 'Addresses of name servers.',
  },
  domain: {
    shape: text,
    example: 'cluster.local',
    origin: { specification: '0.1.0' },
    since,
    text: 'The local domain.',
  },
  search: {
    shape: texts,
    example: ['default.svc.cluster.local'],
    origin: { specification: '0.1.0' },
    since,
    text: 'The search list.',
  },
  options: {
    shape: texts,
    example: ['ndots:5'],
    origin: { specification: '0.1.0' },
    since,
    text: 'Options of the resolver.',
  },
}

const wishes = (of: 'runtimeConfig' | 'args.cni'): Keys => ({
  mac: {
    shape: text,
    whenAbsent: 'a hardware address that is derived from the first IP address',
    example: '02:00:00:00:00:01',
    origin: { convention: of === 'runtimeConfig' ? 'capability `mac`' : '`args.cni`' },
    since,
    text: "The hardware address of the container's interface. `runtimeConfig` comes before `args.cni`, and that before `MAC=` in CNI_ARGS.",
  },
  ips: {
    shape: texts,
    whenAbsent: 'the next free addresses',
    example: ['10.22.0.99'],
    origin: { convention: of === 'runtimeConfig' ? 'capability `ips`' : '`args.cni`' },
    since,
    text: 'Addresses that are wanted, at most one of each range set. A prefix length may follow; it is ignored.',
  },
})

/** Keys of the plugin's own object. */
export const PLUGIN_KEYS: Keys = {
  type: {
    shape: pluginName,
    isRequired: true,
    example: 'pontoon',
    origin: { specification: '0.1.0' },
    since,
    text: 'The name of the executable in CNI_PATH: `pontoon`, or a link to it such as `bridge`.',
  },
  bridge: {
    shape: linkName,
    default: 'cni0',
    example: 'cni0',
    origin: bridge,
    since,
    text: 'The bridge. It is made when there is none, and is left when the last container goes. It takes no router advertisements then. One that is there keeps its settings; it is only brought up.',
    differs:
      'A bridge that Pontoon makes has a hardware address that is derived from the machine ID and its name, the same after each boot; that of the reference is random. Names with `# " \' \\ %` are refused, and `lo`.',
  },
  isGateway: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: "Puts the ranges' gateways on the bridge (with `vlan`: on a device `<bridge>.<vlan>`), and switches forwarding on. A pod whose subnet is its address alone (/32, /128) gets a route on the node, which the reference leaves out: there neither reaches the other.",
  },
  isDefaultGateway: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: 'As `isGateway`, and a default route through the gateway for each family that `ipam.routes` has none for.',
    differs: 'With a default route in `ipam.routes` the reference adds it twice and fails; Pontoon adds it once.',
  },
  forceAddress: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: "Removes addresses of the bridge whose subnet overlaps the gateway's. Without it they are a conflict (code 101).",
  },
  ipMasq: {
    shape: flag,
    default: false,
    example: true,
    origin: { specification: '0.1.0' },
    since,
    text: "What a container sends beyond its own subnet leaves with the node's address. Multicast is left alone.",
    differs:
      'One nft rule per subnet and one set element per address, where the reference has rules for each container.',
  },
  ipMasq4: {
    shape: flag,
    whenAbsent: 'as `ipMasq`',
    example: true,
    origin: own,
    since,
    text: 'The same for IPv4 alone.',
    differs: IGNORED,
  },
  ipMasq6: {
    shape: flag,
    whenAbsent: 'as `ipMasq`',
    example: false,
    origin: own,
    since,
    text: 'The same for IPv6 alone: set it to false where IPv6 addresses of containers are routed.',
    differs: IGNORED,
  },
  ipMasqExclude: {
    shape: texts,
    example: ['10.244.0.0/16', 'fd00:244::/48'],
    origin: own,
    since,
    text: "Destinations, with prefix lengths, that see the container's own address: the range of the whole cluster, for instance.",
    differs: IGNORED,
  },
  snatTo: {
    shape: texts,
    whenAbsent: 'the address of the interface that the packet leaves by',
    example: ['192.0.2.10'],
    origin: own,
    since,
    text: 'The addresses that masqueraded packets leave with, one of each family. The node must own them. Works where `ipMasq` is on.',
    differs: IGNORED,
  },
  ipMasqBackend: {
    shape: oneOf('iptables', 'nftables'),
    whenAbsent: '`nftables`; `iptables` on a node that has iptables but no nft',
    example: 'nftables',
    origin: bridge,
    since,
    text: 'Who masquerades.',
    differs: "The reference's default is iptables.",
  },
  mtu: {
    shape: whole(68, 65535, 0),
    default: 0,
    whenAbsent: "the kernel's, 1500",
    example: 1400,
    origin: bridge,
    since,
    text: 'The MTU of both ends of the pair, and of a bridge that is made.',
  },
  hairpinMode: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: 'Lets a container reach itself through a service address. Not together with `promiscMode`.',
  },
  promiscMode: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: 'Makes the bridge promiscuous. Not together with `hairpinMode`.',
  },
  vlan: {
    shape: whole(1, 4094, 0),
    default: 0,
    example: 100,
    origin: bridge,
    since,
    text: 'The VLAN of the container, untagged at its port. Needs a kernel with bridge VLAN filtering.',
    differs:
      'A bridge without VLAN filtering that is there already is a conflict (code 101): to switch it on would cut off what else is on the bridge.',
  },
  vlanTrunk: {
    shape: {
      items: {
        keys: {
          minID: {
            shape: vlanId,
            example: 200,
            origin: bridge,
            since,
            text: 'The first VLAN of a range. Needs `maxID`.',
          },
          maxID: {
            shape: vlanId,
            example: 299,
            origin: bridge,
            since,
            text: 'The last VLAN of a range. Needs `minID`.',
          },
          id: {
            shape: vlanId,
            example: 101,
            origin: bridge,
            since,
            text: 'A single VLAN. May stand beside a range.',
          },
        },
      },
    },
    example: [{ id: 101 }, { minID: 200, maxID: 299 }],
    origin: bridge,
    since,
    text: "VLANs that the container sees tagged. What it sends untagged is in the VLAN that `vlan` says, else in the bridge's default VLAN.",
  },
  preserveDefaultVlan: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: "With `vlan`: the port keeps the bridge's default VLAN as well, so that the container still hears what is sent there.",
  },
  macspoofchk: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: 'Drops what the container sends from another hardware address than its own.',
    differs:
      'Also drops ARP that claims another hardware address. Two set elements for each container in the table `bridge pontoon`, where the reference makes chains and rules in `bridge nat`.',
  },
  enabledad: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: 'Duplicate address detection for IPv6: ADD waits for it, and fails with code 101 when another host has the address.',
  },
  disableContainerInterface: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: "Leaves the container's interface down. Not together with `ipam`.",
  },
  log: {
    shape: logPlace,
    whenAbsent: 'no log, unless PONTOON_LOG in the environment asks for one',
    example: '/var/log/pontoon.jsonl',
    origin: own,
    since: '0.1.0',
    text: 'Each call leaves one line of JSON: verb, network, container, pod, duration, outcome. A path names the file it is appended to; `"journal"` sends it to systemd’s journal, by `logger` of util-linux. docs/commands.md tells its shape. A call never fails for what becomes of it.',
    differs: IGNORED,
  },
  portIsolation: {
    shape: flag,
    default: false,
    example: true,
    origin: bridge,
    since,
    text: 'Containers with it reach the gateway, but not each other.',
  },
  dns: {
    shape: { keys: dns },
    example: { nameservers: ['10.96.0.10'] },
    origin: { specification: '0.1.0' },
    since,
    text: 'Name service, which is passed on in the result. Pontoon configures nothing with it.',
  },
  ipam: {
    shape: { keys: ipam },
    whenAbsent: 'a network of layer 2 alone: interfaces without addresses',
    example: { type: 'host-local', subnet: '10.22.0.0/24' },
    origin: { specification: '0.1.0' },
    since,
    text: 'Where addresses come from.',
  },
  runtimeConfig: {
    shape: {
      keys: {
        ...wishes('runtimeConfig'),
        ipRanges: {
          shape: rangeSets,
          example: [[{ subnet: '10.22.0.0/24' }]],
          origin: { convention: 'capability `ipRanges`' },
          since,
          text: 'Range sets that are put before those of `ipam`.',
        },
      },
    },
    example: { ips: ['10.22.0.99'] },
    origin: { convention: 'capabilities' },
    since,
    text: 'What the runtime wants for this container. It sends only what `capabilities` asks for.',
  },
  args: {
    shape: {
      keys: {
        cni: {
          shape: { keys: wishes('args.cni') },
          example: { ips: ['10.22.0.99'] },
          origin: { convention: '`args.cni`' },
          since,
          text: 'The older way to ask for an address.',
        },
      },
    },
    example: { cni: { ips: ['10.22.0.99'] } },
    origin: { convention: '`args`' },
    since,
    text: 'Arguments of the runtime. Others than `cni` are ignored.',
  },
  prevResult: {
    shape: anything,
    example: { cniVersion: '1.0.0', ips: [{ address: '10.22.0.2/24' }] },
    origin: { specification: '0.3.0' },
    since,
    text: 'The result of ADD, which the runtime sends with CHECK and DEL. CHECK needs it; DEL works without.',
  },
  'cni.dev/valid-attachments': {
    shape: attachments,
    whenAbsent: 'GC removes only what is provably dead',
    example: [{ containerID: 'c1', ifname: 'eth0' }],
    origin: { specification: '1.1.0' },
    since,
    text: 'With GC: what is to stay. All else of the network goes. An empty list means that nothing is to stay.',
    differs: "The reference's GC removes nothing.",
  },
  'cni.dev/attachments': {
    shape: attachments,
    whenAbsent: '`cni.dev/valid-attachments` counts',
    example: [{ containerID: 'c1', ifname: 'eth0' }],
    origin: { libcni: 'the name before the specification had the other' },
    since,
    text: 'The same, by the name that libcni sends as well.',
  },
  disableGC: LIST_KEYS.disableGC as Keys[string],
}

/** Keys that libcni takes from the plugin's object: the plugin never sees them. */
export const LIBCNI_KEYS: Keys = {
  capabilities: {
    shape: anything,
    example: { ips: true, mac: true, ipRanges: true },
    origin: { specification: '0.3.0' },
    since,
    text: 'Which parts of `runtimeConfig` the plugin is to get. Pontoon understands `ips`, `mac` and `ipRanges`.',
  },
}
