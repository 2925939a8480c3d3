/** The reference plugins, for what both have to agree on: REFERENCE_DIR, or where the client tests keep them. */
import { existsSync } from 'node:fs'

const places = [
  process.env.REFERENCE_DIR,
  '/var/cache/cni-clients/root/sid/usr/lib/cni',
  '/var/cache/cni-clients/root/bookworm/usr/lib/cni',
]

export const REFERENCE = places.find((place) => place !== undefined && existsSync(`${place}/host-local`))
