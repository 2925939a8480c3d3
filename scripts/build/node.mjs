export async function buildNode() {
  throw new Error('not written yet')
}
