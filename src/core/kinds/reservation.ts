import { ABSENT, different, type Kind, type Of, PRESENT } from '../resource.ts'

export const reservation: Kind<Of<'reservation'>> = {
  scope: 'attachment',
  whenPresent: 'keep',
  name: (want) => `reservation ${want.address}`,
  inspect(want, seen) {
    const owner = seen.reservations.get(want.address)
    if (owner === undefined) return ABSENT
    const mine = `${want.attachment.containerID} ${want.attachment.ifname}`
    // A file of the oldest format names the container alone.
    return owner === mine || owner === want.attachment.containerID ? PRESENT : different(mine, owner || 'nobody')
  },
  create: (want) => [{ tool: 'store', action: 'reserve', address: want.address }],
  remove: (want) => [{ tool: 'store', action: 'release', address: want.address }],
}
