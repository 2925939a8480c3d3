/** `pontoon install`. */
export type InstallFlags = {
  readonly dir: string
  readonly as?: readonly string[]
  readonly conflist?: string
  readonly from?: string
  readonly force?: boolean
  readonly undo?: boolean
}

export async function run(_flags: InstallFlags): Promise<number> {
  return 1
}
